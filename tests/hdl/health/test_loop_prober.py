# amaranth: UnusedElaboratable=no
"""A port is proven by probes that come back by it."""

from itertools import pairwise

import pytest

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.health.loop_prober import LoopProber
from mrcnic.sim.bench.streams import simulate

CONFIG = NicConfig(lanes=2)
HOLD_OFF, TIMEOUT = 60, 40


class Bench:
    """A prober of port 1. A tick is a cycle; an echo comes after ``delay`` cycles, if at all."""

    def __init__(self):
        self.dut = LoopProber(CONFIG, port=1)
        self.delay = lambda count: 10
        self.lane = 1
        self.sent = []  # cycle and identifier
        self.lost = 0
        self.cycle = 0
        self._echoes = {}

    def run(self, bench):
        dut = self.dut

        async def whole(ctx):
            ctx.set(dut.settings.hold_off, HOLD_OFF)
            ctx.set(dut.settings.probe_timeout, TIMEOUT)
            ctx.set(dut.settings.port[1].loop_probes, 1)
            ctx.set(dut.o.ready, 1)
            await bench(ctx)

        simulate(dut, whole)

    async def step(self, ctx, cycles=1):
        dut = self.dut
        for _ in range(cycles):
            ctx.set(dut.now, self.cycle)
            identifier = self._echoes.pop(self.cycle, None)
            ctx.set(dut.echo.valid, identifier is not None)
            ctx.set(dut.echo.lane, self.lane)
            ctx.set(dut.echo.identifier, identifier or 0)
            self.lost += ctx.get(dut.events.loop_probe_lost)
            if ctx.get(dut.o.valid):
                self.sent.append((self.cycle, ctx.get(dut.o.payload)))
                delay = self.delay(len(self.sent))
                if delay is not None:
                    self._echoes[self.cycle + delay] = self.sent[-1][1]
            await ctx.tick()
            self.cycle += 1

    def echo(self, identifier):
        self._echoes[self.cycle] = identifier


def test_three_probes_prove_a_port_and_take_the_hold_off():
    bench = Bench()

    async def run(ctx):
        await bench.step(ctx, 20)
        assert not bench.sent
        ctx.set(bench.dut.open, 1)
        began = bench.cycle
        while not ctx.get(bench.dut.proven):
            await bench.step(ctx)
        assert bench.cycle - began >= HOLD_OFF
        assert bench.cycle - began <= HOLD_OFF + 10 + 8
        for (before, _), (after, _) in pairwise(bench.sent):
            assert HOLD_OFF // 2 <= after - before <= HOLD_OFF // 2 + 2
        await bench.step(ctx, 200)
        assert len(bench.sent) == 3
        assert len({identifier for _, identifier in bench.sent}) == 3
        assert all(identifier >> 12 == 1 for _, identifier in bench.sent)
        ctx.set(bench.dut.open, 0)
        await bench.step(ctx)
        assert not ctx.get(bench.dut.proven)
        ctx.set(bench.dut.open, 1)
        await bench.step(ctx)
        assert not ctx.get(bench.dut.proven)  # proof starts anew
        while not ctx.get(bench.dut.proven):
            await bench.step(ctx)
        assert len(bench.sent) == 6
        assert bench.lost == 0

    bench.run(run)


def test_a_probe_that_is_lost_starts_the_count_again():
    bench = Bench()
    bench.delay = lambda count: None if count == 3 else 10

    async def run(ctx):
        ctx.set(bench.dut.open, 1)
        while not ctx.get(bench.dut.proven):
            await bench.step(ctx)
        assert len(bench.sent) == 6
        assert bench.lost == 1

    bench.run(run)


def test_probes_that_come_back_by_another_port_prove_nothing():
    bench = Bench()
    bench.lane = 0

    async def run(ctx):
        ctx.set(bench.dut.open, 1)
        await bench.step(ctx, 600)
        assert bench.lost >= 5
        assert not ctx.get(bench.dut.proven)

    bench.run(run)


def test_what_left_before_the_port_went_down_proves_nothing():
    """B097, of ports."""
    bench = Bench()
    bench.delay = lambda count: None

    async def run(ctx):
        ctx.set(bench.dut.open, 1)
        await bench.step(ctx, 5)
        ctx.set(bench.dut.open, 0)
        await bench.step(ctx)
        ctx.set(bench.dut.open, 1)
        await bench.step(ctx, 5)
        (_, former), (_, present) = bench.sent
        assert former != present
        for _ in range(5):
            bench.echo(former)
            await bench.step(ctx, 2)
        assert not ctx.get(bench.dut.proven)
        await bench.step(ctx, TIMEOUT)
        assert bench.lost == 1  # the present one did not come back

    bench.run(run)


def test_without_probes_a_port_counts_as_proven():
    bench = Bench()

    async def run(ctx):
        ctx.set(bench.dut.settings.port[1].loop_probes, 0)
        ctx.set(bench.dut.open, 1)
        await bench.step(ctx, 50)
        assert ctx.get(bench.dut.proven)
        assert not bench.sent

    bench.run(run)


def test_parameters_are_checked():
    with pytest.raises(ValueError, match=r"^port must be from 0 to 1, not 2$"):
        LoopProber(CONFIG, port=2)
