"""A host on AXI4-Lite, for Amaranth's own simulator. Every wait has an end."""

__all__ = ["LIMIT", "read", "read_wide", "write", "write_wide"]

#: Cycles that a transfer may take.
LIMIT = 100


async def read(ctx, axil, address):
    """Read a word; return it and the cycles from its address to its data."""
    ctx.set(axil.araddr, address)
    ctx.set(axil.arvalid, 1)
    ctx.set(axil.rready, 1)
    taken = None
    for cycle in range(LIMIT):
        _, _, arready, rvalid, rdata = await ctx.tick().sample(
            axil.arready, axil.rvalid, axil.rdata
        )
        if taken is None and arready:
            taken = cycle
            ctx.set(axil.arvalid, 0)
        if rvalid:
            ctx.set(axil.rready, 0)
            return rdata, cycle - taken
    raise TimeoutError(f"a read of {address:#x} is not answered")


async def write(ctx, axil, address, word, *, strobe=0xF, data_first=None):
    """Write a word; return the cycles to the response. ``data_first`` puts the parts apart."""
    parts = {"aw": data_first is not True, "w": data_first is not False}
    ctx.set(axil.awaddr, address)
    ctx.set(axil.wdata, word)
    ctx.set(axil.wstrb, strobe)
    ctx.set(axil.bready, 1)
    waiting = {"aw", "w"}
    for cycle in range(LIMIT):
        if cycle == 5:
            parts = {"aw": True, "w": True}
        ctx.set(axil.awvalid, parts["aw"] and "aw" in waiting)
        ctx.set(axil.wvalid, parts["w"] and "w" in waiting)
        _, _, awready, awvalid, wready, wvalid, bvalid = await ctx.tick().sample(
            axil.awready, axil.awvalid, axil.wready, axil.wvalid, axil.bvalid
        )
        if awvalid and awready:
            waiting.remove("aw")
        if wvalid and wready:
            waiting.remove("w")
        if bvalid:
            assert not waiting, "a response before the write was there"
            ctx.set(axil.bready, 0)
            return cycle
    raise TimeoutError(f"a write of {address:#x} is not answered")


async def read_wide(ctx, axil, register):
    """Read a register of any width."""
    number = 0
    for n in range(register.words):
        word, _ = await read(ctx, axil, register.address + 4 * n)
        number |= word << 32 * n
    return number


async def write_wide(ctx, axil, register, number):
    """Write a register of any width."""
    for n in range(register.words):
        await write(ctx, axil, register.address + 4 * n, number >> 32 * n & 0xFFFF_FFFF)
