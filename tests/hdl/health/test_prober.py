# amaranth: UnusedElaboratable=no
"""EVs that are out of use are probed until three answers in a row bring them back."""

import random
from collections import defaultdict
from itertools import pairwise

from prober_bench import SMALL, ProberBench, qp_row

from mrcnic.hdl.descriptor.outcome import EvEventKind
from mrcnic.hdl.rows import Table

#: A unit of the due times, and how much later than asked a probe of a quiet prober may be: two
#: units, a walk over one QP, and the pipeline.
UNIT = 64
LATE = 2 * UNIT + 2 * SMALL.evs + 8


def test_three_answers_bring_an_ev_back():
    bench = ProberBench()
    bench.answering = lambda probe: (50, 0)

    async def run(ctx):
        await bench.watch(ctx, 1, 6)
        began = bench.cycle
        await ctx.tick().repeat(6000)
        starts = [began, *(probe.cycle + 50 for probe in bench.probes)]
        assert [(p.qp, p.ev_index) for p in bench.probes] == [(1, 6)] * 3
        for before, probe in zip(starts, bench.probes, strict=False):
            assert 640 <= probe.cycle - before <= 640 + LATE
        assert [(kind, qp, ev) for _, kind, qp, ev in bench.news] == [
            (EvEventKind.ANSWERED, 1, 6)
        ] * 3
        for (cycle, *_), probe in zip(bench.news, bench.probes, strict=True):
            assert cycle - probe.cycle <= 50 + 3
        assert len({p.probe_id for p in bench.probes}) == 3
        assert bench.counts["probe_sent"] == bench.counts["probe_answered"] == 3
        assert bench.counts["path_restored"] == 1

    bench.run(run)


def test_a_marked_answer_is_told_as_such():
    bench = ProberBench()
    bench.answering = lambda probe: (50, len(bench.probes) == 3)

    async def run(ctx):
        await bench.watch(ctx, 0, 0)
        await ctx.tick().repeat(3000)
        assert bench.kinds() == [EvEventKind.ANSWERED] * 2 + [EvEventKind.ANSWERED_MARKED]

    bench.run(run)


def test_waits_double_up_to_the_longest_and_an_answer_starts_anew():
    settings = {"retire_delay": 256, "retire_delay_max": 1600, "probe_timeout": 100}
    bench = ProberBench(settings=settings)

    async def run(ctx):
        await bench.watch(ctx, 2, 3)
        while len(bench.probes) < 6:
            await ctx.tick()
        # The wait counts from the time-out.
        waits = [b.cycle - a.cycle - 100 for a, b in pairwise(bench.probes)]
        for wait, wanted in zip(waits, [512, 1024, 1600, 1600, 1600], strict=True):
            assert wanted - UNIT < wait <= wanted + LATE
        assert bench.kinds() == [EvEventKind.UNANSWERED] * 5
        bench.answering = lambda probe: (50, 0) if len(bench.probes) == 7 else None
        while len(bench.probes) < 9:
            await ctx.tick()
        waits = [b.cycle - a.cycle for a, b in pairwise(bench.probes[6:])]
        assert 256 < waits[0] - 50 <= 256 + LATE
        assert 512 - UNIT < waits[1] - 100 <= 512 + LATE
        # The count has started again: three more answers are needed.
        bench.answering = lambda probe: (50, 0)
        await ctx.tick().repeat(4000)
        assert bench.kinds()[-4:] == [EvEventKind.UNANSWERED] + [EvEventKind.ANSWERED] * 3
        assert bench.counts["path_restored"] == 1

    bench.run(run, max_cycles=60_000)


def test_an_answer_from_before_the_failure_changes_nothing():
    """B097: the probe left before the EV went out of use once more."""
    bench = ProberBench()

    async def run(ctx):
        await bench.watch(ctx, 1, 5)
        while not bench.probes:
            await ctx.tick()
        first = bench.probes[0]
        await bench.watch(ctx, 1, 5)
        await bench.answer(ctx, 1, first.probe_id)
        await ctx.tick().repeat(4)
        assert not bench.news
        assert bench.counts["probe_stale"] == 1
        while len(bench.probes) < 2:
            await ctx.tick()
        assert bench.probes[1].cycle - first.cycle >= 640
        await bench.answer(ctx, 1, first.probe_id)
        await bench.answer(ctx, 1, bench.probes[1].probe_id)
        await bench.answer(ctx, 1, bench.probes[1].probe_id)  # a duplicate
        await ctx.tick().repeat(4)
        assert bench.kinds() == [EvEventKind.ANSWERED]
        assert bench.counts["probe_stale"] == 3

    bench.run(run)


def test_answers_that_nobody_waits_for():
    bench = ProberBench()

    async def run(ctx):
        for identifier in (0, 1, 0x0502, 0x0802, 0xFFFF):
            await bench.answer(ctx, 1, identifier)
        await bench.watch(ctx, 1, 0)
        while not bench.probes:
            await ctx.tick()
        number = bench.probes[0].probe_id & 0xFF
        await bench.answer(ctx, 2, number)  # another QP
        await bench.answer(ctx, 1, 0x0800 | number)  # an EV that does not exist, and is none of 8
        await bench.answer(ctx, 1, 0x0100 | number)  # another EV
        await ctx.tick().repeat(4)
        assert not bench.news
        assert bench.counts["probe_stale"] == 8

    bench.run(run)


def test_a_new_life_of_a_qp_knows_nothing_of_the_former():
    bench = ProberBench()

    async def run(ctx):
        await bench.watch(ctx, 1, 5)
        await bench.watch(ctx, 2, 5)
        while len(bench.probes) < 2:
            await ctx.tick()
        former = next(probe for probe in bench.probes if probe.qp == 1)
        other = next(probe for probe in bench.probes if probe.qp == 2)
        began = bench.cycle
        await bench.write(ctx, qp_row(1))
        assert bench.cycle - began <= 2 * SMALL.evs + 2
        await bench.answer(ctx, 1, former.probe_id)
        await bench.answer(ctx, 2, other.probe_id)
        await ctx.tick().repeat(4)
        assert [(kind, qp) for _, kind, qp, _ in bench.news] == [(EvEventKind.ANSWERED, 2)]
        await bench.watch(ctx, 1, 5)
        await bench.answer(ctx, 1, former.probe_id)
        await ctx.tick().repeat(900)
        assert sum(probe.qp == 1 for probe in bench.probes) == 2
        # Time-outs of the former life are nothing to the new one, either.
        assert all(qp == 2 for _, _, qp, _ in bench.news)

    bench.run(run)


def test_a_watch_of_the_former_life_is_dropped_while_the_row_is_written():
    bench = ProberBench()

    async def run(ctx):
        port = bench.dut.watch
        ctx.set(bench.dut.table.payload, qp_row(3, active=0))
        ctx.set(bench.dut.table.valid, 1)
        await ctx.tick().repeat(3)
        ctx.set(port.payload, {"qp": 3, "ev_index": 1})
        ctx.set(port.valid, 1)
        await ctx.tick().until(port.ready)
        ctx.set(port.valid, 0)
        await ctx.tick().until(bench.dut.table.ready)
        ctx.set(bench.dut.table.valid, 0)
        await ctx.tick().repeat(2000)
        assert not bench.probes

    bench.run(run)


def test_rows_of_other_tables_are_taken_at_once():
    bench = ProberBench()

    async def run(ctx):
        await bench.watch(ctx, 1, 5)
        for table in (Table.EV, Table.REGION, Table.ROUTE, Table.PEER):
            began = bench.cycle
            await bench.write(ctx, qp_row(1, table=table))
            assert bench.cycle - began == 1
        await ctx.tick().repeat(1000)
        assert len(bench.probes) == 1
        assert bench.probes[0].qp == 1

    bench.run(run)


def test_a_plane_gets_a_probe_per_interval_and_none_while_it_is_down():
    bench = ProberBench(settings={"probe_timeout": 5000})

    async def run(ctx):
        ctx.set(bench.dut.port_up, 0b01)
        for qp in range(4):
            for ev_index in range(8):
                await bench.watch(ctx, qp, ev_index)
        while len(bench.probes) < 16:
            await ctx.tick()
        assert all(probe.ev_index < 4 for probe in bench.probes)
        await ctx.tick().repeat(400)
        assert len(bench.probes) == 16
        ctx.set(bench.dut.port_up, 0b11)
        await ctx.tick().repeat(1200)
        assert len({(p.qp, p.ev_index) for p in bench.probes}) == len(bench.probes) == 32
        for plane in range(2):
            cycles = [p.cycle for p in bench.probes if p.ev_index // 4 == plane]
            for before, after in pairwise(cycles):
                # A walk over four QPs may be needed to find the next.
                assert 40 <= after - before <= 40 + 4 * (2 * SMALL.evs + 4) + 4

    bench.run(run)


def test_what_is_overdue_for_long_stays_due():
    """The time when a probe is due wraps around; a port that is down for long must not hide it."""
    bench = ProberBench()

    async def run(ctx):
        ctx.set(bench.dut.port_up, 0)
        await bench.watch(ctx, 1, 2)
        await ctx.tick().repeat(1000)
        bench.cycle += 64 * 1500  # less than half of the time that is told apart, twice
        await ctx.tick().repeat(50)
        bench.cycle += 64 * 1500
        await ctx.tick().repeat(50)
        ctx.set(bench.dut.port_up, 3)
        await ctx.tick().repeat(LATE)
        assert len(bench.probes) == 1

    bench.run(run)


def test_no_more_probes_are_under_way_than_there_are_numbers():
    bench = ProberBench(settings={"probe_timeout": 1 << 20, "probe_interval": 0, "retire_delay": 0})

    async def run(ctx):
        rng = random.Random(3)
        for _ in range(10):
            for qp in range(4):
                for ev_index in rng.sample(range(8), 8):
                    await bench.watch(ctx, qp, ev_index)
                    await ctx.tick().repeat(8)
            await ctx.tick().repeat(300)
        assert 60 <= len(bench.probes) <= 66
        assert len({p.probe_id & 0xFF for p in bench.probes}) == len(bench.probes)

    bench.run(run)


def test_any_order_of_events(seed):
    """Probes, news and silence agree with what plain Python says of each EV, in any order."""
    rng = random.Random(seed)
    bench = ProberBench(settings={"probe_interval": 10, "retire_delay": 128})
    bench.answering = lambda probe: (rng.randrange(1, 500), rng.random() < 0.2)
    reference = Reference(timeout=300)

    async def run(ctx):
        for _ in range(60):
            await ctx.tick().repeat(rng.randrange(1, 300))
            qp, ev_index = rng.randrange(4), rng.randrange(8)
            choice = rng.random()
            if choice < 0.7:
                await bench.watch(ctx, qp, ev_index)
                reference.forget(qp, ev_index, bench.cycle, watched=True)
            elif choice < 0.8:
                await bench.write(ctx, qp_row(qp))
                for n in range(8):
                    reference.forget(qp, n, bench.cycle, watched=False)
        await ctx.tick().repeat(2000)
        reference.check(bench.probes, bench.news)

    bench.run(run, max_cycles=60_000)


class Reference:
    """What may be told of an EV: nothing without a probe since it was last forgotten."""

    def __init__(self, *, timeout):
        self.timeout = timeout
        self.changes = defaultdict(list)

    def forget(self, qp, ev_index, cycle, *, watched):
        self.changes[qp, ev_index].append((cycle, watched))

    def check(self, probes, news):
        history = defaultdict(list)
        for probe in probes:
            history[probe.qp, probe.ev_index].append((probe.cycle, "probe"))
        for cycle, kind, qp, ev_index in news:
            history[qp, ev_index].append((cycle, kind))
        assert history
        for key, events in history.items():
            changes = self.changes[key]
            # A change is noted when it has been made: two cycles more or less do not matter.
            events = sorted([*events, *((cycle - 1, watched) for cycle, watched in changes)],
                            key=lambda event: event[0])  # fmt: skip
            watched, out, answers = False, None, 0
            for cycle, what in events:
                if what in (True, False):
                    watched, out, answers = what, None, 0
                elif what == "probe":
                    assert watched
                    assert out is None
                    out = cycle
                else:
                    assert out is not None, (key, events)
                    if what == EvEventKind.UNANSWERED:
                        assert self.timeout < cycle - out <= self.timeout + 40
                        answers = 0
                    else:
                        assert cycle - out <= self.timeout + 40
                        answers += 1
                    out = None
                    watched = answers < 3
