"""EV states as host and prober see them: through the whole sprayer."""

import random
from collections import Counter

import pytest
from spray_bench import (
    SMALL,
    SprayBench,
    ev_value,
    ev_write,
    full_profile,
    qp_write,
    request,
)

from mrcnic.hdl.descriptor.outcome import EvEvent, EvEventKind, RemoteMask
from mrcnic.hdl.descriptor.paths import EvQuery, EvStateCode
from mrcnic.hdl.descriptor.settings import TableWrite
from mrcnic.hdl.rows import PROFILE_ROW, Table
from mrcnic.sim.bench.streams import collect, drive
from mrcnic.sim.model.paths import EvState, Paths

ONE_LANE = SMALL.override(lanes=1, evs=8)


async def ask(ctx, bench, qp, ev_index):
    """Return state, activity and good answers of an EV, or None if the QP has none."""
    query = EvQuery(bench.config).const({"qp": qp, "ev_index": ev_index})
    await drive(ctx, bench.dut.query, [query])
    (answer,) = await collect(ctx, bench.dut.answer, 1)
    return (answer.state, answer.active, answer.good_answers) if answer.there else None


async def order(ctx, bench, qp, ev_index, kind):
    event = EvEvent(bench.config).const({"qp": qp, "ev_index": ev_index, "kind": kind})
    await drive(ctx, bench.dut.host_events, [event])
    await ctx.tick().repeat(16)


def test_the_host_denies_and_allows():
    bench = SprayBench(ONE_LANE)

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(ONE_LANE, active=4), qp_write(0))
        await order(ctx, bench, 0, 2, EvEventKind.DENY)
        assert await ask(ctx, bench, 0, 2) == (EvStateCode.DENIED, 0, 0)
        assert 2 not in {p.ev_index for p in await bench.send(ctx, 0, 40)}
        # Nothing but the host brings it back.
        for kind in (EvEventKind.SKIP, EvEventKind.BAD, *[EvEventKind.ANSWERED] * 4):
            await bench.tell(ctx, 0, 2, kind, settle=12)
        assert (await ask(ctx, bench, 0, 2))[:2] == (EvStateCode.DENIED, 0)
        await order(ctx, bench, 0, 2, EvEventKind.ALLOW)
        # Another has its place, so it is a backup; the next that fails makes it active.
        assert (await ask(ctx, bench, 0, 2))[:2] == (EvStateCode.GOOD, 0)
        news = await collect(ctx, bench.dut.news, 2)
        assert [(n.qp, n.ev_index, n.old, n.new) for n in news] == [
            (0, 2, EvStateCode.GOOD, EvStateCode.DENIED),
            (0, 2, EvStateCode.DENIED, EvStateCode.GOOD),
        ]
        assert (bench.events["ev_denied"], bench.events["ev_allowed"]) == (1, 1)
        for ev_index in range(8):
            if ev_index != 2:
                await order(ctx, bench, 0, ev_index, EvEventKind.DENY)
        assert {p.ev_index for p in await bench.send(ctx, 0, 8)} == {2}
        await order(ctx, bench, 0, 2, EvEventKind.DENY)
        await bench.send(ctx, 0, 1)
        await ctx.tick().repeat(2)
        assert bench.events["tx_no_ev"] == 1

    bench.run(run)


def test_three_answers_in_a_row_bring_an_ev_back():
    bench = SprayBench(ONE_LANE)

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(ONE_LANE), qp_write(1))
        ctx.set(bench.dut.watch.ready, 0)  # or it would be gone before it is looked at
        await bench.tell(ctx, 1, 5)
        (watch,) = await collect(ctx, bench.dut.watch, 1)
        ctx.set(bench.dut.watch.ready, 1)
        assert (watch.qp, watch.ev_index) == (1, 5)
        answers = (
            (EvEventKind.ANSWERED, 1), (EvEventKind.ANSWERED, 2), (EvEventKind.UNANSWERED, 0),
            (EvEventKind.ANSWERED_MARKED, 1), (EvEventKind.ANSWERED, 2),
        )  # fmt: skip
        for kind, count in answers:
            await bench.tell(ctx, 1, 5, kind)
            assert await ask(ctx, bench, 1, 5) == (EvStateCode.ASSUMED_BAD, 0, count)
        await bench.tell(ctx, 1, 5, EvEventKind.ANSWERED)
        assert await ask(ctx, bench, 1, 5) == (EvStateCode.GOOD, 1, 0)
        # With a mark on the last one, it is passed over once.
        await bench.tell(ctx, 1, 5)
        for kind in (EvEventKind.ANSWERED, EvEventKind.ANSWERED, EvEventKind.ANSWERED_MARKED):
            await bench.tell(ctx, 1, 5, kind)
        assert await ask(ctx, bench, 1, 5) == (EvStateCode.SKIP, 1, 0)
        assert bench.events["ev_returned"] == 2
        # An answer that nobody asked for changes nothing.
        await bench.tell(ctx, 1, 3, EvEventKind.ANSWERED)
        assert await ask(ctx, bench, 1, 3) == (EvStateCode.GOOD, 1, 1)
        assert await ask(ctx, bench, 3, 3) is None

    bench.run(run)


def test_an_ev_is_replaced_while_packets_flow():
    """Its state is new in the QPs of its profile, and news of the old value is stale."""
    bench = SprayBench(SMALL)

    async def run(ctx):
        second = [ev_write(SMALL, 1, n) for n in range(SMALL.evs)]
        await bench.set_up(
            ctx, *full_profile(SMALL), *second, qp_write(0), qp_write(2), qp_write(3, profile=1)
        )
        for qp in (0, 2, 3):
            await bench.tell(ctx, qp, 4)
        await order(ctx, bench, 2, 5, EvEventKind.DENY)
        await drive(ctx, bench.dut.table, [ev_write(SMALL, 0, 4, ev=77)])
        await ctx.tick().repeat(8)
        for qp, state in ((0, EvStateCode.GOOD), (2, EvStateCode.GOOD)):
            assert await ask(ctx, bench, qp, 4) == (state, 1, 0)
        assert await ask(ctx, bench, 3, 4) == (EvStateCode.ASSUMED_BAD, 0, 0)
        assert await ask(ctx, bench, 2, 5) == (EvStateCode.DENIED, 0, 0)
        await bench.tell(ctx, 0, 4, echoed=1, ev=ev_value(SMALL, 4))
        assert bench.events["ev_event_stale"] == 1
        assert await ask(ctx, bench, 0, 4) == (EvStateCode.GOOD, 1, 0)
        await bench.send(ctx, 0, 32)
        await ctx.tick().repeat(6)
        assert 77 in {s.ev for _, s in bench.sent[0]}
        # One that is taken away is used no more, and a QP that is stopped gets nothing.
        await drive(ctx, bench.dut.table, [qp_write(2, active=0), ev_write(SMALL, 0, 4, valid=0)])
        await ctx.tick().repeat(8)
        assert await ask(ctx, bench, 0, 4) is None
        assert await ask(ctx, bench, 2, 4) == (EvStateCode.GOOD, 1, 0)
        assert 4 not in {p.ev_index for p in await bench.send(ctx, 0, 40)}

    bench.run(run)


def test_rows_of_a_profile_that_nobody_uses_cost_nothing():
    bench = SprayBench(SMALL)

    async def run(ctx):
        await bench.set_up(ctx, qp_write(1, profile=0))
        began = bench.cycle
        await drive(ctx, bench.dut.table, [ev_write(SMALL, 1, n) for n in range(16)])
        assert bench.cycle - began <= 16 * 17
        began = bench.cycle
        await drive(ctx, bench.dut.table, [ev_write(SMALL, 0, 1)])
        assert bench.cycle - began <= 16 + 3 * SMALL.qps

    bench.run(run)


def test_the_peer_says_which_planes_it_can_receive_in():
    bench = SprayBench(SMALL.override(lanes=4))
    config = bench.config

    async def tell(ctx, peer, mask):
        await drive(
            ctx, bench.dut.remote_mask, [RemoteMask(config).const({"peer": peer, "mask": mask})]
        )

    async def planes(ctx, qp):
        return set(Counter(p.plane for p in await bench.send(ctx, qp, 16)))

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(config), qp_write(0, peer=2), qp_write(1, peer=3))
        assert await planes(ctx, 0) == {0, 1, 2, 3}
        await tell(ctx, 2, 0b0110)
        assert await planes(ctx, 0) == {1, 2}
        assert await planes(ctx, 1) == {0, 1, 2, 3}
        ctx.set(bench.dut.port_up, 0b1011)
        assert await planes(ctx, 0) == {1}
        # Nowhere at all: what the peer said is left aside.
        ctx.set(bench.dut.port_up, 0b1001)
        assert await planes(ctx, 0) == {0, 3}
        await tell(ctx, 2, 0b1111)
        ctx.set(bench.dut.port_up, 0b1111)
        assert await planes(ctx, 0) == {0, 1, 2, 3}

    bench.run(run)


def test_a_fixed_path_is_taken_whatever_its_state():
    bench = SprayBench(SMALL)

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(SMALL), qp_write(0))
        await bench.tell(ctx, 0, 9)
        await order(ctx, bench, 0, 3, EvEventKind.DENY)
        ctx.set(bench.dut.port_up, 0b01)
        for ev_index in (9, 3, 5, 15):
            (pick,) = await bench.send(ctx, 0, fixed=1, avoid_ev=ev_index)
            assert (pick.ev_index, pick.plane) == (ev_index, ev_index // 8)
            assert pick.fixed, "it is told, or a probe of a path would count as a send of the QP"
        # It counts for no turn.
        picks = await bench.send(ctx, 0, 7)
        assert not any(pick.fixed for pick in picks)
        used = [pick.ev_index for pick in picks]
        assert sorted(used) == [0, 1, 2, 4, 5, 6, 7]
        assert bench.events["tx_fixed_dropped"] == 0

    bench.run(run)


def test_a_fixed_path_without_room_holds_nobody_up_for_ever():
    bench = SprayBench(SMALL)

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(SMALL), qp_write(0), qp_write(1), ready=0b01)
        await drive(ctx, bench.dut.i, [request(SMALL, 0, fixed=1, avoid_ev=9)])
        await bench.send(ctx, 1, 20)
        assert {p.plane for _, p in bench.picked} == {0}
        assert bench.events["tx_fixed_dropped"] == 0
        await ctx.tick().repeat(2500)
        assert bench.events["tx_fixed_dropped"] == 1

    bench.run(run)


def test_a_backup_becomes_active_when_too_few_are_good():
    """``min_active`` of the profile's row, from the next start of a QP on."""
    bench = SprayBench(ONE_LANE)

    async def run(ctx):
        row = int.from_bytes(PROFILE_ROW.pack(min_active=2))
        least = TableWrite().const({"table": Table.PROFILE, "index": 0, "row": row})
        await bench.set_up(ctx, *full_profile(ONE_LANE, active=2), qp_write(1), least, qp_write(0))
        for qp in (0, 1):
            await bench.tell(ctx, qp, 0, EvEventKind.SKIP)
        active = [[(await ask(ctx, bench, qp, n))[1] for n in range(ONE_LANE.evs)] for qp in (0, 1)]
        assert [sum(flags) for flags in active] == [3, 2]

    bench.run(run)


def test_news_that_nobody_reads_holds_nobody_up():
    bench = SprayBench(SMALL)

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(SMALL), qp_write(0), qp_write(1))
        for qp in (0, 1):
            for ev_index in range(16):
                await bench.tell(ctx, qp, ev_index, settle=8)
        await ctx.tick().repeat(60)
        assert bench.events["ev_retired"] == 32
        assert bench.events["ev_news_dropped"] == 32 - 16
        await bench.send(ctx, 0, 8)

    bench.run(run)


@pytest.mark.parametrize("planes", [1, 2])
def test_events_in_any_order_even_in_the_same_cycle(planes, seed):
    """From two sides at once and beside packets: in the end all states are the model's."""
    rng = random.Random(seed)
    config = SMALL.override(lanes=planes, evs=4 * planes)
    bench = SprayBench(config)
    kinds = {
        EvEventKind.BAD: lambda paths, ev: paths.blame(ev, [range(4)]),
        EvEventKind.ANSWERED: lambda paths, ev: paths.answer(ev),
        EvEventKind.UNANSWERED: lambda paths, ev: paths.miss(ev),
        EvEventKind.DENY: lambda paths, ev: paths.deny(ev, [range(4)]),
        EvEventKind.ALLOW: lambda paths, ev: paths.allow(ev),
    }
    codes = {state: EvStateCode(state.value) for state in EvState}

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(config), *(qp_write(n) for n in range(4)))
        models = {
            (qp, plane): Paths(range(4), range(4)) for qp in range(4) for plane in range(planes)
        }
        dut = bench.dut
        layout = EvEvent(config)
        for _ in range(60):
            # Two at once, of different QPs, so that their order does not matter.
            for stream, qp in zip(
                (dut.ev_events, dut.host_events), rng.sample(range(4), 2), strict=True
            ):
                kind, ev_index = rng.choice(list(kinds)), rng.randrange(config.evs)
                ctx.set(
                    stream.payload, layout.const({"qp": qp, "kind": kind, "ev_index": ev_index})
                )
                ctx.set(stream.valid, 1)
                plane, local = divmod(ev_index, 4)
                kinds[kind](models[qp, plane], local)
            pending = [dut.ev_events, dut.host_events]
            while pending:
                _, _, *ready = await ctx.tick().sample(*(stream.ready for stream in pending))
                for stream, taken in zip(pending.copy(), ready, strict=True):
                    if taken:
                        ctx.set(stream.valid, 0)
                        pending.remove(stream)
            if rng.random() < 0.3:
                await bench.send(ctx, rng.randrange(4), rng.randrange(1, 4))
        await ctx.tick().repeat(60)
        for (qp, plane), model in models.items():
            for local in range(4):
                state = codes[model.state[local]]
                seen = await ask(ctx, bench, qp, 4 * plane + local)
                assert seen[0] == state, (qp, plane, local)

    bench.run(run)
