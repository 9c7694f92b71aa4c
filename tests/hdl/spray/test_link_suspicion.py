"""Links that are suspected, in gateware and in the model."""

from hypothesis import given, settings
from hypothesis import strategies as st

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.spray.link_suspicion import LinkSuspicion
from mrcnic.hdl.spray.links import SUSPECTS, OperationKind
from mrcnic.sim.bench.streams import simulate
from mrcnic.sim.model.links import Links

CONFIG = NicConfig(lanes=2, evs=16, qps=4, profiles=2, slots=16, window=128, beat_octets=8)


class Bench:
    """Losses, one at a time."""

    def __init__(self, *, threshold=3, enable=1):
        self.dut = LinkSuspicion(CONFIG)
        self.threshold, self.enable = threshold, enable
        self.watched = []
        self.seen = dict.fromkeys(dict(iter(self.dut.events.shape())), 0)

    def run(self, bench):
        async def whole(ctx):
            settings = self.dut.settings
            ctx.set(settings.link_inference, self.enable)
            ctx.set(settings.link_threshold, self.threshold)
            ctx.set(settings.link_window, 50_000)
            ctx.set(self.dut.o.ready, 1)
            ctx.set(self.dut.watch.ready, 1)
            await self.step(ctx, 2)
            await bench(ctx)

        simulate(self.dut, whole, max_cycles=20_000)

    async def step(self, ctx, cycles=1):
        dut = self.dut
        for _ in range(cycles):
            _, _, valid, watch, events = await ctx.tick().sample(
                dut.watch.valid, dut.watch.payload, dut.events
            )
            if valid:
                self.watched.append(watch)
            for name in self.seen:
                self.seen[name] += events[name]

    async def tell(self, ctx, news):
        """Return whether news was passed on, and how many cycles it took."""
        dut = self.dut
        ctx.set(dut.i.payload, news)
        ctx.set(dut.i.valid, 1)
        cycles = 0
        while True:
            cycles += 1
            ready, passed = ctx.get(dut.i.ready), ctx.get(dut.o.valid)
            await self.step(ctx)
            if ready:
                break
        ctx.set(dut.i.valid, 0)
        return bool(passed), cycles

    async def lose(self, ctx, *, plane=0, uplink=1, site=5, qp=0, local=0, **values):
        operation = {"kind": OperationKind.BAD, "qp": qp, "plane": plane, "local": local}
        path = {"named": 1, "uplink": uplink, "site": site, "peer": 3} | values
        passed, _ = await self.tell(ctx, {"operation": operation, "lost": 1, "path": path})
        return not passed

    async def clear(self, ctx, link):
        ctx.set(self.dut.cleared.payload, link)
        ctx.set(self.dut.cleared.valid, 1)
        await self.step(ctx)
        ctx.set(self.dut.cleared.valid, 0)
        await self.step(ctx)

    def masked(self, ctx):
        links = [ctx.get(link) for link in self.dut.links]
        return {
            (link.plane, link.uplink, link.site if link.single else None)
            for link in links
            if link.masked
        }


def test_the_third_loss_on_a_down_link_masks_it():
    bench = Bench()

    async def run(ctx):
        assert [await bench.lose(ctx, local=n) for n in range(5)] == [0, 0, 1, 1, 1]
        await bench.step(ctx, 3)
        assert bench.masked(ctx) == {(0, 1, 5)}
        assert not await bench.lose(ctx, local=5, uplink=2)
        assert not await bench.lose(ctx, local=1, plane=1)
        (watch,) = bench.watched
        assert (watch.link, watch.peer, watch.plane) == (SUSPECTS, 3, 0)
        assert watch.ev == 0xC0020010
        await bench.clear(ctx, watch.link)
        assert not bench.masked(ctx)
        assert not await bench.lose(ctx, local=6)
        assert bench.seen["link_masked"] == bench.seen["link_cleared"] == 1
        assert bench.seen["link_loss_absorbed"] == 3
        assert bench.seen["link_suspected"] == 8

    bench.run(run)


def test_an_up_link_is_masked_only_by_losses_towards_two_last_switches():
    bench = Bench()

    async def run(ctx):
        assert not await bench.lose(ctx, local=0, site=5)
        assert not await bench.lose(ctx, local=1, site=6)
        assert await bench.lose(ctx, local=2, site=5)
        await bench.step(ctx, 3)
        assert bench.masked(ctx) == {(0, 1, None)}
        assert [watch.link for watch in bench.watched] == [0]
        # From now on it hides losses towards anyone.
        assert await bench.lose(ctx, local=3, site=9, qp=2)

    bench.run(run)


def test_losses_of_the_same_ev_count_once():
    bench = Bench()

    async def run(ctx):
        assert not any([await bench.lose(ctx, local=4) for _ in range(6)])
        assert not bench.masked(ctx)
        assert not await bench.lose(ctx, local=4, qp=1)
        assert await bench.lose(ctx, local=4, qp=0)

    bench.run(run)


def test_what_is_no_loss_or_names_no_link_passes_at_once():
    bench = Bench(threshold=1)

    async def run(ctx):
        for values in ({"lost": 0}, {"lost": 1, "path": {"named": 0}}):
            news = {"operation": {"kind": OperationKind.BAD}, "path": {"named": 1}} | values
            for _ in range(4):
                assert await bench.tell(ctx, news) == (True, 1)
        assert not bench.masked(ctx)

    bench.run(run)


def test_switched_off_it_passes_everything_and_forgets():
    bench = Bench(enable=0)

    async def run(ctx):
        assert not any([await bench.lose(ctx, local=n) for n in range(8)])
        ctx.set(bench.dut.settings.link_inference, 1)
        await bench.step(ctx, 2)
        assert [await bench.lose(ctx, local=n) for n in range(3)] == [0, 0, 1]
        await bench.step(ctx, 2)
        assert bench.masked(ctx)
        ctx.set(bench.dut.settings.link_inference, 0)
        ends = 0
        for _ in range(4):
            ends += ctx.get(bench.dut.ends)
            await bench.step(ctx)
        assert ends == 1
        assert not bench.masked(ctx)
        assert not any([await bench.lose(ctx, local=n) for n in range(8)])

    bench.run(run)


def test_a_loss_takes_three_cycles_and_waits_for_what_comes_after():
    bench = Bench(threshold=2)

    async def run(ctx):
        dut = bench.dut
        news = {"operation": {"kind": OperationKind.BAD}, "lost": 1, "path": {"named": 1}}
        assert await bench.tell(ctx, news) == (True, 3)
        ctx.set(dut.o.ready, 0)
        ctx.set(dut.i.payload, news)
        ctx.set(dut.i.valid, 1)
        for _ in range(6):
            await bench.step(ctx)
            assert not ctx.get(dut.i.ready)
        assert ctx.get(dut.o.valid)
        ctx.set(dut.o.ready, 1)
        assert ctx.get(dut.i.ready)

    bench.run(run)


def test_losses_are_forgotten_after_two_windows():
    bench = Bench()

    async def run(ctx):
        dut = bench.dut
        ctx.set(dut.settings.link_window, 40)
        now = 0

        async def wait(ticks):
            nonlocal now
            for _ in range(ticks):
                now += 1
                ctx.set(dut.now, now)
                await bench.step(ctx)

        await wait(60)
        assert not await bench.lose(ctx, local=0)
        await wait(30)
        assert not await bench.lose(ctx, local=1)
        await wait(90)
        assert not await bench.lose(ctx, local=2)
        assert not await bench.lose(ctx, local=3)
        assert await bench.lose(ctx, local=4)
        await wait(200)
        assert bench.masked(ctx)  # until it is cleared

    bench.run(run)


def test_without_room_a_loss_is_not_counted():
    bench = Bench(threshold=1)

    async def run(ctx):
        for n in range(SUSPECTS):
            assert await bench.lose(ctx, uplink=n, site=n)
        assert not await bench.lose(ctx, uplink=SUSPECTS, site=1)
        await bench.step(ctx)
        assert bench.seen["link_suspects_full"] == 1

    bench.run(run)


LOSS = st.tuples(
    st.just("lose"), st.integers(0, 1), st.integers(0, 4), st.integers(0, 2), st.integers(0, 7)
)
ACTS = st.lists(st.one_of(LOSS, LOSS, LOSS, st.tuples(st.just("clear"))), min_size=20, max_size=120)


@settings(max_examples=12)
@given(acts=ACTS, threshold=st.integers(1, 4), data=st.data())
def test_masks_are_those_of_the_model(acts, threshold, data):
    bench, model = Bench(threshold=threshold), Links(threshold=threshold)

    async def run(ctx):
        for kind, *values in acts:
            if kind == "lose":
                plane, uplink, site, local = values
                absorbed = await bench.lose(ctx, plane=plane, uplink=uplink, site=site, local=local)
                assert absorbed == model.lose(plane, uplink, site, (0, local))
            else:
                table = data.draw(st.integers(0, 1))
                place = data.draw(st.integers(0, SUSPECTS - 1))
                await bench.clear(ctx, table * SUSPECTS + place)
                (model.up, model.down)[table].clear(place)
            await bench.step(ctx)
            expected = model.up.masked | model.down.masked
            assert bench.masked(ctx) == {(link.plane, link.uplink, link.site) for link in expected}

    bench.run(run)
