import pytest
from amaranth.hdl import Module, Signal

from mrcnic.hdl.packet.keep import end_to_keep, keep_to_end
from mrcnic.sim.bench.streams import simulate


@pytest.mark.parametrize("octets", [2, 8, 64, 128])
def test_there_and_back(octets):
    m = Module()
    keep = Signal(octets)
    end = Signal(range(octets))
    again = Signal(octets)
    m.d.sync += end.eq(keep_to_end(keep))
    m.d.comb += again.eq(end_to_keep(end, octets))

    async def bench(ctx):
        for count in range(1, octets + 1):
            ctx.set(keep, (1 << count) - 1)
            await ctx.tick()
            assert ctx.get(end) == count - 1
            assert ctx.get(again) == (1 << count) - 1

    simulate(m, bench)
