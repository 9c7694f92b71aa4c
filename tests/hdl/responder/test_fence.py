# amaranth: UnusedElaboratable=no
import random

import pytest

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.responder.fence import Fence
from mrcnic.sim.bench.streams import drive, simulate

CONFIG = NicConfig(lanes=2, qps=4)


def event(number, tickets, **fields):
    return {"qp": 1, "with_immediate": 1, "immediate": number, "tickets": tickets, **fields}


def test_depth_is_checked():
    with pytest.raises(ValueError, match="depth must be at least 2, not 1"):
        Fence(CONFIG, depth=1)


def test_one_event_in_two_cycles():
    dut = Fence(CONFIG)
    seen = []

    async def producer(ctx):
        await drive(ctx, dut.i, [event(n, [0, 0], acknowledge=1, msn=n) for n in range(10)])

    async def consumer(ctx):
        ctx.set(dut.o.ready, 1)
        for cycle in range(30):
            if ctx.get(dut.acknowledge.valid):
                seen.append((cycle, ctx.get(dut.msn)))
            await ctx.tick()

    simulate(dut, producer, consumer)
    first = seen[0][0]
    assert first == 3
    assert seen == [(first + 2 * n, n) for n in range(10)]


@pytest.mark.parametrize("seed", range(3))
def test_nothing_leaves_too_early_or_out_of_order(seed):
    """Tickets wrap; the lanes retire at their own pace; the fence fills up and goes on."""
    rng = random.Random(seed)
    dut = Fence(CONFIG, depth=4)
    issued, events = [0xFF0, 0xFF8], []
    retired = list(issued)
    for _ in range(30):
        issued = [ticket + rng.randint(0, 3) for ticket in issued]
        events.append(list(issued))
    released = []

    async def producer(ctx):
        tickets = [[ticket % 4096 for ticket in event] for event in events]
        await drive(ctx, dut.i, [event(n, pair) for n, pair in enumerate(tickets)])

    async def consumer(ctx):
        while len(released) < len(events):
            for lane in range(2):
                retired[lane] = min(retired[lane] + rng.randint(0, 1), issued[lane])
                ctx.set(dut.retired[lane], retired[lane] % 4096)
            ctx.set(dut.hold, rng.random() < 0.2)
            ctx.set(dut.o.ready, rng.random() < 0.5)
            if ctx.get(dut.o.valid & dut.o.ready):
                number = ctx.get(dut.o.p.immediate)
                assert number == len(released)
                assert all(r >= t for r, t in zip(retired, events[number], strict=True))
                released.append(number)
            await ctx.tick()
        await ctx.tick()
        assert ctx.get(dut.idle)

    simulate(dut, producer, consumer, max_cycles=2000)


def test_hold_and_poison():
    dut = Fence(CONFIG)

    async def producer(ctx):
        await drive(ctx, dut.i, [event(7, [0, 0], acknowledge=1)])

    async def consumer(ctx):
        ctx.set(dut.o.ready, 1)
        ctx.set(dut.hold, 1)
        for _ in range(10):
            await ctx.tick()
        assert not ctx.get(dut.idle)
        assert ctx.get(dut.failure_qp) == 1
        ctx.set(dut.failure.poisoned, 1)
        ctx.set(dut.hold, 0)
        assert ctx.get(dut.events.rx_message_lost)
        assert not ctx.get(dut.acknowledge.valid)
        for _ in range(3):
            await ctx.tick()
            assert not ctx.get(dut.o.valid)
        assert ctx.get(dut.idle)

    simulate(dut, producer, consumer)
