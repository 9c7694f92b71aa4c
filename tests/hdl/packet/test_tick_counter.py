# amaranth: UnusedElaboratable=no
import pytest
from amaranth.sim import Simulator

from mrcnic.hdl.packet.tick_counter import TickCounter


def readings(clk_hz, cycles):
    dut = TickCounter(clk_hz=clk_hz)
    values = []

    async def watch(ctx):
        for _ in range(cycles):
            values.append(ctx.get(dut.now))
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(watch)
    sim.run()
    return values


@pytest.mark.parametrize(
    "clk_hz", [250_000_000, 322_265_625, 156_250_000, 100_000_000, 12_345_679, 7_812_500, 1_000_000]
)
def test_ticks_are_never_early_and_at_most_one_cycle_late(clk_hz):
    for cycle, now in enumerate(readings(clk_hz, 2_000)):
        exact = cycle * 7_812_500 // clk_hz
        one_before = max(0, cycle - 1) * 7_812_500 // clk_hz
        assert one_before <= now <= exact, (cycle, now)


def test_no_drift():
    """322.265625 MHz is 41.25 cycles per tick: exact over each 165 cycles, for ever."""
    values = readings(322_265_625, 3_301)
    assert {b - a for a, b in zip(values, values[165:], strict=False)} == {4}
    assert values[3_300] in (79, 80)


def test_clock_is_checked():
    with pytest.raises(ValueError, match=r"^clk_hz must be at least 1, not 0$"):
        TickCounter(clk_hz=0)
