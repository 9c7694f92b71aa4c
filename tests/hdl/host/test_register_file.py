# amaranth: UnusedElaboratable=no
import pytest

from mrcnic.hdl.host.register import Access, Field, Register
from mrcnic.hdl.host.register_file import RegisterFile
from mrcnic.sim.bench.streams import simulate

WIDE = Register(
    "wide", 0x10, Access.RW, (Field("low", 36, "", 0x9_1234_5678), Field("high", 12, "", 5)), ""
)
LATCH = Register("latch", 0x40, Access.RW1C, (Field("a", 1, ""), Field("b", 1, "")), "")
START = Register("start", 0x44, Access.W1S, (Field("go", 1, ""), Field("stop", 1, "")), "")
STATE = Register("state", 0x48, Access.R, (Field("value", 40, ""),), "")
ALL = (WIDE, LATCH, START, STATE)


async def read(ctx, dut, address):
    ctx.set(dut.port.read_address, address // 4)
    await ctx.tick()
    await ctx.tick()
    return ctx.get(dut.port.read_data)


async def write(ctx, dut, address, word, strobe=0xF):
    ctx.set(dut.port.write_address, address // 4)
    ctx.set(dut.port.write_data, word)
    ctx.set(dut.port.strobe, strobe)
    ctx.set(dut.port.write, 1)
    await ctx.tick()
    ctx.set(dut.port.write, 0)


def test_rw_reads_what_was_written():
    dut = RegisterFile(ALL)

    async def bench(ctx):
        assert ctx.get(dut.o.wide) == WIDE.reset == 5 << 36 | 0x9_1234_5678
        assert await read(ctx, dut, 0x10) == 0x1234_5678
        assert await read(ctx, dut, 0x14) == 0x59
        await write(ctx, dut, 0x14, 0xFFFF_A5A5)
        assert await read(ctx, dut, 0x14) == 0xA5A5  # 16 bits there are
        assert await read(ctx, dut, 0x10) == 0x1234_5678
        await write(ctx, dut, 0x10, 0xFFFF_FFFF, strobe=0b0101)
        assert await read(ctx, dut, 0x10) == 0x12FF_56FF

    simulate(dut, bench)


def test_rw1c_keeps_until_cleared():
    dut = RegisterFile(ALL)

    async def bench(ctx):
        ctx.set(dut.i.latch, 0b11)
        await ctx.tick()
        ctx.set(dut.i.latch, 0)
        assert await read(ctx, dut, 0x40) == 0b11
        await write(ctx, dut, 0x40, 0b01)
        assert await read(ctx, dut, 0x40) == 0b10
        # It happens again in the very cycle in which it is cleared.
        ctx.set(dut.i.latch, 0b10)
        await write(ctx, dut, 0x40, 0b10)
        ctx.set(dut.i.latch, 0)
        assert await read(ctx, dut, 0x40) == 0b10

    simulate(dut, bench)


def test_w1s_gives_a_pulse_and_reads_its_state():
    dut = RegisterFile(ALL)

    async def bench(ctx):
        ctx.set(dut.i.start, 0b10)
        await write(ctx, dut, 0x44, 0b01)
        assert ctx.get(dut.o.start) == 0b01
        await ctx.tick()
        assert ctx.get(dut.o.start) == 0
        assert await read(ctx, dut, 0x44) == 0b10

    simulate(dut, bench)


def test_r_reads_its_input_and_cannot_be_written():
    dut = RegisterFile(ALL)

    async def bench(ctx):
        ctx.set(dut.i.state, 0x12_3456_789A)
        await write(ctx, dut, 0x48, 0)
        assert await read(ctx, dut, 0x48) == 0x3456_789A
        assert await read(ctx, dut, 0x4C) == 0x12
        assert await read(ctx, dut, 0x50) == 0
        assert await read(ctx, dut, 0x1010) == 0

    simulate(dut, bench)


def test_registers_must_not_overlap():
    with pytest.raises(ValueError, match=r"^register other is where wide is$"):
        RegisterFile((WIDE, Register("other", 0x14, Access.RW, (Field("x", 1, ""),), "")))
