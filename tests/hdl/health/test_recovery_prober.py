"""Probes of links and planes, until three answers in a row."""

from itertools import pairwise

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import LINKS
from mrcnic.hdl.health.links import RECOVERY_PROBE, RESTS, Operation
from mrcnic.hdl.health.recovery_prober import RecoveryProber
from mrcnic.sim.bench.streams import simulate

CONFIG = NicConfig(lanes=2, peers=8)
PLACES = LINKS + RESTS
WATCH = {"place": 9, "peer": 5, "plane": 1, "fixed": 1, "ev": 0xC0051030}

#: Ticks.
TIMEOUT, DELAY, DELAY_MAX, INTERVAL = 400, 160, 900, 80

#: By so many ticks a time may be longer than said.
UNITS = 17


class Bench:
    """A prober; a tick is a cycle."""

    def __init__(self):
        self.dut = RecoveryProber(CONFIG)
        self.now = 0xFFFF00
        self.sent, self.proven = [], []
        self.seen = dict.fromkeys(dict(iter(self.dut.events.shape())), 0)

    def run(self, bench):
        async def whole(ctx):
            settings = self.dut.settings
            ctx.set(settings.link_inference, 1)
            ctx.set(settings.probe_timeout, TIMEOUT)
            ctx.set(settings.probe_interval, INTERVAL)
            ctx.set(settings.retire_delay, DELAY)
            ctx.set(settings.retire_delay_max, DELAY_MAX)
            ctx.set(self.dut.port_up, 0b11)
            ctx.set(self.dut.sends.ready, 1)
            ctx.set(self.dut.proven.ready, 1)
            await self.step(ctx, PLACES + 2)
            await bench(ctx)

        simulate(self.dut, whole, max_cycles=20_000)

    async def step(self, ctx, cycles=1):
        dut = self.dut
        for _ in range(cycles):
            self.now += 1
            ctx.set(dut.now, self.now & 0xFFFFFF)
            streams = (s for o in (dut.sends, dut.proven) for s in (o.valid, o.payload))
            _, _, sends, send, proves, proven, events = await ctx.tick().sample(
                *streams, dut.events
            )
            if sends:
                self.sent.append((self.now, send))
            if proves:
                self.proven.append(proven.place)
            for name in self.seen:
                self.seen[name] += events[name]

    async def watch(self, ctx, **values):
        ctx.set(self.dut.watch.payload, WATCH | values)
        ctx.set(self.dut.watch.valid, 1)
        while not ctx.get(self.dut.watch.ready):
            await self.step(ctx)
        await self.step(ctx)
        ctx.set(self.dut.watch.valid, 0)

    async def next_probe(self, ctx, patience=3000):
        count = len(self.sent)
        for _ in range(patience):
            if len(self.sent) > count:
                return self.sent[-1]
            await self.step(ctx)
        raise TimeoutError("no probe was sent")

    async def answer(self, ctx, identifier):
        ctx.set(self.dut.echo, {"valid": 1, "peer": 5, "identifier": identifier})
        await self.step(ctx)
        ctx.set(self.dut.echo.valid, 0)


def test_three_answers_clear_a_link():
    bench = Bench()

    async def run(ctx):
        await bench.watch(ctx)
        times = []
        for _ in range(3):
            assert not bench.proven
            when, send = await bench.next_probe(ctx)
            times.append(when)
            assert (send.peer, send.plane, send.fixed, send.ev) == (5, 1, 1, 0xC0051030)
            assert (send.own, send.response, send.operation) == (0, 0, Operation.PROBE)
            assert send.identifier & RECOVERY_PROBE
            await bench.answer(ctx, send.identifier)
        await bench.step(ctx, 20)
        assert bench.proven == [9]
        for before, after in pairwise(times):
            assert INTERVAL <= after - before <= INTERVAL + UNITS + 4 * PLACES
        await bench.step(ctx, 2000)
        assert len(bench.sent) == bench.seen["recovery_probe_sent"] == 3

    bench.run(run)


def test_the_first_probe_leaves_at_once_and_others_ever_later():
    bench = Bench()

    async def run(ctx):
        await bench.watch(ctx)
        began = bench.now
        when, _ = await bench.next_probe(ctx)
        assert when - began <= 4 * PLACES
        waits = []
        for _ in range(4):
            before = when
            when, _ = await bench.next_probe(ctx)
            waits.append(when - before - TIMEOUT)
        for wait, expected in zip(waits, (DELAY, 2 * DELAY, 4 * DELAY, DELAY_MAX), strict=True):
            assert expected <= wait <= expected + 2 * UNITS + 8 * PLACES
        assert bench.seen["recovery_probe_unanswered"] == 4
        assert not bench.proven

    bench.run(run)


def test_a_late_answer_counts_for_nothing():
    bench = Bench()

    async def run(ctx):
        await bench.watch(ctx)
        _, first = await bench.next_probe(ctx)
        _, second = await bench.next_probe(ctx)
        assert first.identifier != second.identifier
        for _ in range(3):
            await bench.answer(ctx, first.identifier)
            await bench.step(ctx, 8)
        assert bench.seen["recovery_probe_stale"] == 3
        assert not bench.proven
        await bench.answer(ctx, second.identifier)
        for _ in range(2):
            _, send = await bench.next_probe(ctx)
            await bench.answer(ctx, send.identifier)
        await bench.step(ctx, 20)
        assert bench.proven == [9]

    bench.run(run)


def test_a_lost_answer_makes_the_count_start_again():
    bench = Bench()

    async def run(ctx):
        await bench.watch(ctx)
        for answered in (1, 1, 0, 1, 1):
            _, send = await bench.next_probe(ctx)
            if answered:
                await bench.answer(ctx, send.identifier)
        await bench.step(ctx, 20)
        assert not bench.proven
        _, send = await bench.next_probe(ctx)
        await bench.answer(ctx, send.identifier)
        await bench.step(ctx, 20)
        assert bench.proven == [9]

    bench.run(run)


def test_no_probe_leaves_by_a_port_that_is_down():
    bench = Bench()

    async def run(ctx):
        ctx.set(bench.dut.port_up, 0b01)
        await bench.watch(ctx)
        await bench.step(ctx, 1000)
        assert not bench.sent
        ctx.set(bench.dut.port_up, 0b11)
        await bench.next_probe(ctx, patience=5 * PLACES)

    bench.run(run)


def test_places_are_told_apart_and_links_forgotten_when_inference_is_switched_off():
    bench = Bench()

    async def run(ctx):
        for place in range(PLACES):
            await bench.watch(ctx, place=place, ev=0xC000_0000 + place)
        await bench.step(ctx, 5 * PLACES)
        assert sorted(send.ev & 0xFF for _, send in bench.sent) == list(range(PLACES))
        for _, send in list(bench.sent):
            await bench.answer(ctx, send.identifier)  # one per cycle
        await bench.step(ctx, 5 * PLACES)
        assert not bench.seen["recovery_probe_stale"]
        ctx.set(bench.dut.settings.link_inference, 0)
        await bench.step(ctx, 5 * PLACES)
        count = len(bench.sent)
        ctx.set(bench.dut.settings.link_inference, 1)
        await bench.step(ctx, 1500)
        assert {send.ev & 0xFF for _, send in bench.sent[count:]} == set(range(LINKS, PLACES))
        assert not bench.proven

    bench.run(run)


def test_answers_to_other_probes_are_left_alone():
    bench = Bench()

    async def run(ctx):
        await bench.answer(ctx, 0x1234)
        await bench.step(ctx, 20)
        assert not bench.seen["recovery_probe_stale"]

    bench.run(run)
