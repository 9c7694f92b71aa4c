import axil_host
import pytest

from mrcnic.hdl.host.axi_lite import AxiLiteFront
from mrcnic.sim.bench.streams import simulate


def answer(dut):
    """Registers that read as their own address, and a list of what was written."""
    writes = []

    async def port(ctx):
        late = [0, 0]
        async for _, _, read, address, write, at, data, strobe in ctx.tick().sample(
            dut.port.read,
            dut.port.read_address,
            dut.port.write,
            dut.port.write_address,
            dut.port.write_data,
            dut.port.strobe,
        ):
            late = [address + 0x100 if read else 0, late[0]]
            ctx.set(dut.port.read_data, late[1])
            if write:
                writes.append((at, data, strobe))
            if len(writes) == 99:
                return

    return writes, port


def run(dut, bench):
    writes, port = answer(dut)

    async def whole(ctx):
        await bench(ctx, writes)
        for _ in range(99):
            writes.append(None)
        raise _EndError

    with pytest.raises(_EndError):
        simulate(dut, whole, port, max_cycles=2_000)


class _EndError(Exception):
    pass


def test_reads_and_their_latency():
    dut = AxiLiteFront()

    async def bench(ctx, writes):
        for address in (0, 4, 0x3FFC, 0x2002):
            word, cycles = await axil_host.read(ctx, dut.axil, address)
            assert word == address // 4 + 0x100
            assert cycles == 4
        assert writes == []

    run(dut, bench)


@pytest.mark.parametrize("data_first", [None, True, False])
def test_writes_in_any_order_of_their_parts(data_first):
    dut = AxiLiteFront()

    async def bench(ctx, writes):
        for n in range(4):
            cycles = await axil_host.write(
                ctx, dut.axil, 4 * n, 7 * n, strobe=n, data_first=data_first
            )
            assert cycles == (2 if data_first is None else 7)
        assert writes == [(n, 7 * n, n) for n in range(4)]

    run(dut, bench)


def test_one_write_is_taken_until_its_response_is():
    """The response of the first write is not taken for a while (B136)."""
    dut = AxiLiteFront()

    async def bench(ctx, writes):
        ctx.set(dut.axil.awvalid, 1)
        ctx.set(dut.axil.wvalid, 1)
        taken = [0, 0]
        for cycle in range(60):
            ctx.set(dut.axil.wdata, taken[1])
            ctx.set(dut.axil.bready, cycle >= 40)
            _, _, awready, wready, bvalid = await ctx.tick().sample(
                dut.axil.awready, dut.axil.wready, dut.axil.bvalid
            )
            taken[0] += awready
            taken[1] += wready
            if cycle < 40:
                assert taken == [1, 1]
                assert len(writes) <= 1
                assert bvalid == (cycle >= 2)
        assert len(writes) > 3
        assert [data for _, data, _ in writes] == list(range(len(writes)))

    run(dut, bench)


def test_one_read_is_taken_until_its_data_is():
    dut = AxiLiteFront()

    async def bench(ctx, writes):
        ctx.set(dut.axil.arvalid, 1)
        ctx.set(dut.axil.araddr, 8)
        taken = 0
        for cycle in range(30):
            _, _, arready, rvalid, rdata = await ctx.tick().sample(
                dut.axil.arready, dut.axil.rvalid, dut.axil.rdata
            )
            taken += arready
            assert rvalid == (cycle >= 4)
            assert not rvalid or rdata == 0x102
        assert taken == 1

    run(dut, bench)


def test_reads_do_not_wait_for_writes():
    dut = AxiLiteFront()

    async def bench(ctx, writes):
        ctx.set(dut.axil.awvalid, 1)  # a write whose data never comes
        word, cycles = await axil_host.read(ctx, dut.axil, 0x10)
        assert (word, cycles) == (0x104, 4)

    run(dut, bench)
