"""Planes in which most paths of a QP fail at once."""

import pytest
from amaranth.sim import Simulator

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.spray.links import OperationKind, Outcome
from mrcnic.hdl.spray.plane_watch import PlaneWatch

CONFIG = NicConfig(lanes=2, evs=32, qps=4, profiles=2, peers=8)
WINDOW = 1 << 10


class Bench:
    def __init__(self, *, window=WINDOW):
        self.dut = PlaneWatch(CONFIG)
        self.window, self.now = window, 0xFFF000
        self.asked = []

    def run(self, bench):
        async def watch(ctx):
            rests = self.dut.rests
            async for _, _, valid, rest in ctx.tick().sample(rests.valid, rests.payload):
                if valid:
                    self.asked.append((rest.peer, rest.plane))

        async def whole(ctx):
            dut = self.dut
            ctx.set(dut.settings.rest_window, self.window)
            ctx.set(dut.rests.ready, 1)
            for qp in range(CONFIG.qps):
                ctx.set(dut.peer_valid, 1)
                ctx.set(dut.peer_qp, qp)
                ctx.set(dut.peer, 7 - qp // 2)
                await self.outcome(ctx, qp=qp, kind=OperationKind.START)
            ctx.set(dut.peer_valid, 0)
            await bench(ctx)

        sim = Simulator(self.dut)
        sim.add_clock(1e-6)
        sim.add_process(watch)
        sim.add_testbench(whole)
        sim.run()

    async def outcome(self, ctx, *, qp=0, plane=1, kind=OperationKind.BAD, places=8, **hits):
        outcome = Outcome(CONFIG).const({
            "valid": 1,
            "operation": {"kind": kind, "qp": qp, "plane": plane},
            "hits": hits,
            "places": places,
        })
        ctx.set(self.dut.now, self.now & 0xFFFFFF)
        ctx.set(self.dut.outcome, outcome)
        await ctx.tick()
        ctx.set(self.dut.outcome.valid, 0)
        await ctx.tick().repeat(4)

    async def fail(self, ctx, count, **values):
        for _ in range(count):
            await self.outcome(ctx, good=1, active=1, **values)


def test_three_quarters_at_once_ask_for_a_rest():
    bench = Bench()

    async def run(ctx):
        await bench.fail(ctx, 5)
        assert not bench.asked
        await bench.fail(ctx, 1)
        assert bench.asked == [(7, 1)]
        await bench.fail(ctx, 5, qp=2, plane=0)
        await bench.fail(ctx, 5, qp=3, plane=0)  # each QP counts for itself
        assert bench.asked == [(7, 1)]
        await bench.fail(ctx, 1, qp=3, plane=0)
        assert bench.asked == [(7, 1), (6, 0)]

    bench.run(run)


def test_failures_that_are_far_apart_do_not():
    bench = Bench()

    async def run(ctx):
        for _ in range(4):
            await bench.fail(ctx, 3)
            bench.now += WINDOW + 128
        assert not bench.asked
        await bench.fail(ctx, 3)
        bench.now += WINDOW - 64
        await bench.fail(ctx, 3)
        assert bench.asked == [(7, 1)]

    bench.run(run)


@pytest.mark.parametrize(
    "values",
    [
        {"good": 1, "active": 0},  # a backup
        {"bad": 1, "active": 0},  # it had failed before
        {"kind": OperationKind.DENY, "good": 1, "active": 1},
        {"kind": OperationKind.SKIP, "good": 1, "active": 1},
    ],
)
def test_what_is_no_failure_of_an_active_path_does_not_count(values):
    bench = Bench()

    async def run(ctx):
        for _ in range(12):
            await bench.outcome(ctx, **values)
        assert not bench.asked

    bench.run(run)


def test_a_new_life_starts_at_zero_and_without_a_window_nothing_rests():
    bench = Bench()

    async def run(ctx):
        await bench.fail(ctx, 5)
        await bench.outcome(ctx, kind=OperationKind.START)
        await bench.fail(ctx, 5)
        assert not bench.asked
        ctx.set(bench.dut.settings.rest_window, 0)
        await bench.fail(ctx, 12)
        assert not bench.asked

    bench.run(run)
