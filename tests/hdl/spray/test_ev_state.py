"""EV states: the whole row against a reference in plain Python, on random operations."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.spray.ev_state import EvState
from mrcnic.hdl.spray.links import OperationKind
from mrcnic.sim.bench.streams import simulate


class Reference:
    """States of one QP in one plane, as sets."""

    def __init__(self, evs, groups):
        self.evs = evs
        self.groups = groups
        self.start(set(), set())

    def start(self, valid, active):
        self.good, self.skip, self.bad = set(valid), set(), set()
        self.active, self.left = set(active), set(active)
        self.vacant = 0

    def order(self, chance):
        """All EVs, in the order in which the search comes to them."""
        bits = self.groups.bit_length() - 1
        size = -(-self.evs // self.groups)
        inner = chance >> bits & (1 << max(1, (size - 1).bit_length())) - 1
        return sorted(
            range(self.evs),
            key=lambda ev: (
                (ev - chance) % self.groups,
                ev // self.groups < inner,
                ev // self.groups,
            ),
        )

    def first(self, evs, chance):
        return next(ev for ev in self.order(chance) if ev in evs)

    def passed(self, waiting, chance):
        """Of the first group that has any, the lowest."""
        group = self.first(waiting, chance) % self.groups
        return min(ev for ev in waiting if ev % self.groups == group)

    def restore(self, ev):
        self.skip.remove(ev)
        self.good.add(ev)

    def pick(self, avoid, chance):
        allowed = set(range(self.evs)) - {avoid}
        usable = self.good | self.skip
        waiting = self.left & self.skip
        if candidates := self.left & self.good & allowed:
            ev = self.first(candidates, chance)
            self.left.remove(ev)
            groups = [n % self.groups for n in self.order(chance)]
            if waiting:
                passed = self.passed(waiting, chance)
                if groups.index(passed % self.groups) < groups.index(ev % self.groups):
                    self.restore(passed)
                    self.left.remove(passed)
        elif candidates := self.active & self.good & allowed:
            ev = self.first(candidates, chance)
            self.left = self.active - {ev}
            if waiting:
                self.restore(self.passed(waiting, chance))
        elif candidates := self.skip & allowed:
            ev = self.first(candidates, chance)
            self.restore(ev)
            self.left.discard(ev)
        elif candidates := (self.good - self.active) & allowed:
            ev = self.first(candidates, chance)
            self.active.add(ev)
            self.vacant = max(0, self.vacant - 1)
        elif avoid in usable:
            ev = avoid
        elif candidates := self.bad & allowed:
            ev = self.first(candidates, chance)
        elif avoid in self.bad:
            ev = avoid
        else:
            return None
        return ev

    def mark(self, ev):
        if ev in self.good & self.active:
            self.good.remove(ev)
            self.skip.add(ev)

    def blame(self, ev, chance):
        if ev not in self.good | self.skip:
            return False
        backups = self.good - self.active
        for evs in (self.good, self.skip, self.left):
            evs.discard(ev)
        self.bad.add(ev)
        if ev in self.active:
            self.active.remove(ev)
            if backups:
                backup = self.first(backups, chance)
                self.active.add(backup)
                self.left.add(backup)
            else:
                self.vacant += 1
        return True

    def give_back(self, ev):
        if ev in self.bad:
            self.bad.remove(ev)
            self.good.add(ev)
            if self.vacant:
                self.vacant -= 1
                self.active.add(ev)
                self.left.add(ev)

    def check(self):
        """What holds always."""
        assert not self.good & self.bad | self.good & self.skip | self.skip & self.bad
        assert self.left <= self.active <= self.good | self.skip
        assert self.skip <= self.active
        assert not (self.vacant and self.good - self.active)


def masks(evs):
    return sum(1 << ev for ev in evs)


def configuration(evs):
    return NicConfig(lanes=2, evs=2 * evs, qps=2, profiles=1, slots=16, window=128, beat_octets=8)


def run_operations(evs, profile, operations):
    config = configuration(evs)
    dut = EvState(config)
    bits = max(1, (evs - 1).bit_length())
    references = [Reference(evs, 1 << bits // 2) for _ in range(4)]

    async def bench(ctx):
        async def operate(where, kind, *, target=None, chance=0):
            qp, plane = divmod(where, 2)
            ctx.set(dut.i.kind, kind)
            ctx.set(dut.i.qp, qp)
            ctx.set(dut.i.plane, plane)
            ctx.set(dut.i.local, target or 0)
            ctx.set(dut.i.targeted, target is not None)
            ctx.set(dut.chance, chance)
            ctx.set(dut.valid, 1)
            await ctx.tick()
            ctx.set(dut.valid, 0)
            await ctx.tick()
            await ctx.tick()
            # The third cycle: the next operation may begin in it.
            flags = ctx.get(dut.flags_write)
            assert flags.valid
            assert (flags.qp, flags.plane) == (qp, plane)
            return flags.flags

        async def outcome():
            await ctx.tick()
            return ctx.get(dut.pick), ctx.get(dut.failed), ctx.get(dut.failure)

        valid, active = profile
        ctx.set(dut.profile.valid, masks(valid))
        ctx.set(dut.profile.active, masks(active))
        ctx.set(dut.profile.count, len(valid))
        for where in range(4):
            await operate(where, OperationKind.START)
            references[where].start(valid, active)
        await ctx.tick()
        for where, kind, target, chance, pause in operations:
            reference = references[where]
            expected = failed = None
            flags = await operate(where, kind, target=target, chance=chance)
            match kind:
                case OperationKind.PICK:
                    expected = reference.pick(target, chance)
                case OperationKind.SKIP:
                    reference.mark(target)
                case OperationKind.BAD:
                    failed = reference.blame(target, chance)
                case OperationKind.RETURN:
                    reference.give_back(target)
                case OperationKind.START:
                    reference.start(valid, active)
            reference.check()
            usable = len(reference.good | reference.skip)
            assert (flags.some, flags.several, flags.bad) == (
                usable > 0,
                usable > 1,
                len(reference.bad) > 0,
            )
            if pause:
                pick, has_failed, failure = await outcome()
                assert pick.valid == (kind == OperationKind.PICK)
                if kind == OperationKind.PICK:
                    assert pick.none == (expected is None)
                    assert pick.local == (expected or 0)
                assert has_failed == bool(failed)
                if failed:
                    assert failure.local == target

    simulate(dut, bench, max_cycles=2_000)


@st.composite
def histories(draw):
    evs = draw(st.sampled_from([1, 2, 5, 8, 16]))
    ev = st.integers(0, evs - 1)
    valid = draw(st.sets(ev))
    active = draw(st.sets(ev)) & valid
    operation = st.one_of(
        st.tuples(st.just(OperationKind.PICK), st.none() | ev),
        st.tuples(st.just(OperationKind.PICK), st.none()),
        st.tuples(
            st.sampled_from([OperationKind.SKIP, OperationKind.BAD, OperationKind.RETURN]), ev
        ),
        st.tuples(st.just(OperationKind.START), st.none()),
    )
    # Mostly one row, so that it has a history, and back to back half of the time.
    where = st.sampled_from([0, 0, 0, 0, 1, 2, 3])
    steps = draw(
        st.lists(st.tuples(where, operation, st.integers(0, 0xFFFF), st.booleans()), max_size=80)
    )
    return evs, (valid, active), [(w, *op, chance, pause) for w, op, chance, pause in steps]


@settings(max_examples=30)
@given(histories())
def test_states_are_those_of_the_reference(history):
    run_operations(*history)


def test_long_history_of_a_wide_row():
    """256 EVs, which hypothesis would take long to get into a mess."""
    seed = 11
    print(f"seed {seed}")
    rng = random.Random(seed)
    evs = 128
    kinds = [OperationKind.PICK] * 6 + [OperationKind.SKIP, OperationKind.BAD, OperationKind.RETURN]
    operations = []
    for _ in range(250):
        kind = rng.choice(kinds)
        target = rng.randrange(8) if kind != OperationKind.PICK or rng.random() < 0.3 else None
        operations.append((0, kind, target, rng.getrandbits(16), rng.random() < 0.7))
    valid = set(range(10))
    run_operations(evs, (valid, valid - {3, 4}), operations)
