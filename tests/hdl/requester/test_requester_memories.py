import pytest

from mrcnic.hdl.requester.qp_memory import QpMemory
from mrcnic.hdl.requester.sleepers import Sleepers
from mrcnic.sim.bench.streams import simulate


async def ticks(ctx, count):
    for _ in range(count):
        await ctx.tick()


def test_values_are_zero_after_a_walk():
    dut = QpMemory(8, count=4, reads=2)

    async def bench(ctx):
        assert ctx.get(dut.clearing)
        await ticks(ctx, 4)
        assert not ctx.get(dut.clearing)
        ctx.set(dut.write, {"valid": 1, "index": 2, "value": 77})
        ctx.set(dut.index[0], 2)
        ctx.set(dut.index[1], 3)
        await ctx.tick()
        assert ctx.get(dut.value[0]) == 0  # read and written at once: the old one
        ctx.set(dut.write.valid, 0)
        await ctx.tick()
        assert ctx.get(dut.value[0]) == 77
        assert ctx.get(dut.value[1]) == 0

    simulate(dut, bench)


@pytest.mark.parametrize("sleep", range(4, 12))
@pytest.mark.parametrize("awake", [0, 1])
def test_who_sleeps_hears_of_all_that_came_too_late(sleep, awake):
    """News in the very cycle in which the windows are read were not seen by that reading."""
    dut = Sleepers(count=4, sources=1)
    news = 8

    async def bench(ctx):
        woken = []
        for cycle in range(20):
            ctx.set(dut.news[0], {"valid": cycle == news, "index": 3 if cycle == news else 0})
            write = cycle == sleep or (awake and cycle == sleep + 2)
            ctx.set(dut.write, {"valid": write, "index": 3, "value": cycle == sleep})
            if ctx.get(dut.wake[0].valid):
                woken.append((cycle, ctx.get(dut.wake[0].index)))
            await ctx.tick()
        if sleep <= news and not (awake and sleep + 2 < news + 1):
            assert woken == [(news + 2, 3)]
        elif sleep > news + 1 or (awake and sleep + 2 < news):
            assert woken == []

    simulate(dut, bench)
