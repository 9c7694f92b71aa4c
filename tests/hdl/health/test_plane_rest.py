"""Planes that rest for a remote NIC, and come back."""

from amaranth.sim import Simulator

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import LINKS
from mrcnic.hdl.health.links import RESTS
from mrcnic.hdl.health.plane_rest import PlaneRest
from mrcnic.sim.bench.streams import drive

CONFIG = NicConfig(lanes=4, peers=32)


class Bench:
    def __init__(self):
        self.dut = PlaneRest(CONFIG)
        self.masks, self.watched = {}, []
        self.seen = dict.fromkeys(dict(iter(self.dut.events.shape())), 0)

    def run(self, bench):
        async def watch(ctx):
            dut = self.dut
            streams = (s for o in (dut.o, dut.watch) for s in (o.valid, o.payload))
            async for _, _, valid, mask, watches, watch, events in ctx.tick().sample(
                *streams, dut.events
            ):
                if valid:
                    self.masks[mask.peer] = mask.mask
                if watches:
                    self.watched.append(watch)
                for name in self.seen:
                    self.seen[name] += events[name]

        async def whole(ctx):
            ctx.set(self.dut.o.ready, 1)
            ctx.set(self.dut.watch.ready, 1)
            await ctx.tick().repeat(CONFIG.peers + 2)
            await bench(ctx)

        sim = Simulator(self.dut)
        sim.add_clock(1e-6)
        sim.add_process(watch)
        sim.add_testbench(whole)
        sim.run()

    async def give(self, ctx, stream, **payload):
        await drive(ctx, stream, [stream.payload.shape().const(payload)])
        await ctx.tick().repeat(4)

    async def know(self, ctx, peer, mask=0b1111):
        await self.give(ctx, self.dut.i, peer=peer, mask=mask)

    async def rest(self, ctx, peer, plane):
        await self.give(ctx, self.dut.rests, peer=peer, plane=plane)

    async def end(self, ctx, watch):
        await self.give(ctx, self.dut.ended, place=watch.place, peer=watch.peer, plane=watch.plane)


def test_a_plane_rests_until_probes_have_come_back():
    bench = Bench()

    async def run(ctx):
        await bench.know(ctx, 3)
        assert bench.masks == {3: 0b1111}
        await bench.rest(ctx, 3, 2)
        assert bench.masks == {3: 0b1011}
        (watch,) = bench.watched
        assert (watch.place, watch.peer, watch.plane, watch.fixed) == (LINKS, 3, 2, 0)
        await bench.rest(ctx, 3, 2)  # it does so already
        assert len(bench.watched) == 1
        await bench.end(ctx, watch)
        assert bench.masks == {3: 0b1111}
        assert bench.seen == {"plane_rests": 1, "plane_returns": 1, "plane_rest_refused": 0}

    bench.run(run)


def test_what_the_remote_nic_tells_and_what_rests_go_together():
    bench = Bench()

    async def run(ctx):
        await bench.know(ctx, 5)
        await bench.rest(ctx, 5, 0)
        await bench.know(ctx, 5, 0b0111)
        assert bench.masks[5] == 0b0110
        await bench.end(ctx, bench.watched[0])
        assert bench.masks[5] == 0b0111
        await bench.know(ctx, 6, 0b0001)
        assert bench.masks == {5: 0b0111, 6: 0b0001}

    bench.run(run)


def test_a_stranger_gets_no_rest_and_neither_does_one_too_many():
    bench = Bench()

    async def run(ctx):
        await bench.rest(ctx, 7, 1)
        assert bench.seen["plane_rest_refused"] == 1
        assert not bench.masks
        for peer in range(RESTS + 1):
            await bench.know(ctx, peer)
            await bench.rest(ctx, peer, 1)
        assert bench.seen["plane_rest_refused"] == 2
        assert sorted(watch.place for watch in bench.watched) == [LINKS + n for n in range(RESTS)]
        assert bench.masks[RESTS] == 0b1111
        await bench.end(ctx, bench.watched[4])
        await bench.rest(ctx, RESTS, 1)  # there is room again
        assert bench.watched[-1].place == bench.watched[4].place

    bench.run(run)
