# amaranth: UnusedElaboratable=no
import pytest

from mrcnic.hdl.packet.delay_line import DelayLine
from mrcnic.sim.bench.streams import simulate


@pytest.mark.parametrize("delay", [1, 2, 3, 4, 5, 8, 9])
def test_value_comes_so_many_cycles_later(delay):
    dut = DelayLine(8, delay=delay)

    async def bench(ctx):
        for cycle in range(40):
            ctx.set(dut.i, cycle + 1)
            if cycle >= delay:
                assert ctx.get(dut.o) == cycle + 1 - delay
            await ctx.tick()

    simulate(dut, bench)


def test_delay_is_checked():
    with pytest.raises(ValueError, match="delay must be at least 1, not 0"):
        DelayLine(8, delay=0)
