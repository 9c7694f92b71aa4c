"""The host's probes of paths, and their round trips."""

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.health.ev_prober import EvProber
from mrcnic.hdl.health.links import Operation
from mrcnic.sim.bench.streams import simulate

CONFIG = NicConfig(lanes=2, peers=8)
REQUEST = {"peer": 5, "plane": 1, "ev": 0xC0051030}


class Bench:
    """A prober; a tick is a cycle, from just before time stamps wrap around."""

    def __init__(self):
        self.dut = EvProber(CONFIG)
        self.cycle = 0xFFF0

    def run(self, bench):
        async def whole(ctx):
            ctx.set(self.dut.settings.probe_timeout, 100)
            await bench(ctx)

        simulate(self.dut, whole)

    async def step(self, ctx, cycles=1):
        for _ in range(cycles):
            ctx.set(self.dut.now, self.cycle)
            await ctx.tick()
            self.cycle += 1

    async def send(self, ctx):
        dut = self.dut
        assert ctx.get(dut.i.ready)
        ctx.set(dut.i.payload, REQUEST)
        ctx.set(dut.i.valid, 1)
        await self.step(ctx)
        ctx.set(dut.i.valid, 0)
        send = ctx.get(dut.sends.payload)
        assert ctx.get(dut.sends.valid)
        assert (send.peer, send.plane, send.fixed, send.ev) == (5, 1, 1, 0xC0051030)
        assert (send.response, send.operation) == (0, Operation.PROBE)
        ctx.set(dut.sends.ready, 1)
        await self.step(ctx)
        ctx.set(dut.sends.ready, 0)
        assert not ctx.get(dut.sends.valid)
        return send.identifier

    async def echo(self, ctx, identifier, *, stamp=0, peer=5, marked=0):
        """Let an answer come; return whether it was unknown."""
        echo = {"valid": 1, "peer": peer, "identifier": identifier, "marked": marked}
        ctx.set(self.dut.echo, echo | {"tx_timestamp": stamp & 0xFFFF})
        unknown = ctx.get(self.dut.events.probe_answer_unknown)
        await self.step(ctx)
        ctx.set(self.dut.echo.valid, 0)
        return unknown

    async def result(self, ctx):
        assert ctx.get(self.dut.o.valid)
        result = ctx.get(self.dut.o.payload)
        assert (result.peer, result.plane, result.ev) == (5, 1, 0xC0051030)
        ctx.set(self.dut.o.ready, 1)
        await self.step(ctx)
        ctx.set(self.dut.o.ready, 0)
        return result.answered, result.marked, result.round_trip


def test_round_trips_are_told_in_ticks():
    bench = Bench()

    async def run(ctx):
        for marked in (0, 1):
            identifier = await bench.send(ctx)
            stamp = bench.cycle
            await bench.step(ctx, 60)
            ctx.set(bench.dut.now, bench.cycle)
            assert not await bench.echo(ctx, identifier, stamp=stamp, marked=marked)
            assert await bench.result(ctx) == (1, marked, 60)

    bench.run(run)


def test_silence_ends_after_the_time_out_and_late_answers_count_no_more():
    bench = Bench()

    async def run(ctx):
        identifier = await bench.send(ctx)
        cycles = 0
        while not ctx.get(bench.dut.o.valid):
            await bench.step(ctx)
            cycles += 1
        assert 100 < cycles <= 103
        assert await bench.result(ctx) == (0, 0, 0xFFFF)
        assert await bench.echo(ctx, identifier)
        present = await bench.send(ctx)
        assert await bench.echo(ctx, identifier)
        assert await bench.echo(ctx, present, peer=4)
        assert not ctx.get(bench.dut.o.valid)
        assert not await bench.echo(ctx, present, stamp=bench.cycle)
        assert (await bench.result(ctx))[0] == 1

    bench.run(run)
