"""EV states of all QPs, and every change of them."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory

from .ev_change import EvChange
from .ev_row import EvRow, Tier
from .ev_search import EvSearch, grouped
from .links import FlagsWrite, Operation, OperationKind, ProfileRow

__all__ = ["EvState", "Pick"]


class Pick(data.StructLayout):
    """Outcome of a PICK.

    Members
    -------
    valid : 1
    local : EV within the plane
    none : 1
        There was none, and ``local`` is 0.
    """

    def __init__(self, config: NicConfig):
        super().__init__({"valid": 1, "local": index_bits(config.evs_per_plane), "none": 1})


class EvState(wiring.Component):
    """Hold a row of bit masks for each (QP, plane), and do one operation in three cycles.

    An operation is taken in the cycle of ``valid``; the next not before the third cycle after it,
    on the same row too. In that third cycle the row and its flags are written, and one cycle
    later ``pick`` and ``failure`` tell what became of it. The search looks at whole masks, so its
    time does not depend on how many EVs there are.

    PICK takes the best tier of :class:`Tier` that has an EV other than the target. Within a
    rotation each active GOOD EV is taken once, in an order that comes from ``chance``. A SKIP EV
    that is passed on the way turns GOOD and its turn is over: at most one in each packet, and at
    the end of a rotation. A SKIP EV taken for lack of a GOOD one turns GOOD as well. Among
    ASSUMED_BAD ones, chance decides.

    SKIP turns a GOOD active EV to SKIP. BAD turns a GOOD or SKIP one to ASSUMED_BAD, and if it was
    active makes a backup of the same plane active in its stead; without backup its place is vacant.
    RETURN turns an ASSUMED_BAD one to GOOD: active if there is a vacant place, else a backup.
    START writes the row as ``profile`` has it.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    valid, i : ``In(1)``, ``In(Operation(config))``
        Operation.
    profile : ``In(ProfileRow(config))``
        For START, in the third cycle after ``valid``.
    chance : ``In(16)``
        Pseudo-random number, new for each operation.
    pick : ``Out(Pick(config))``
        Outcome.
    started : ``Out(1)``
        ``profile`` is being taken.
    failure : ``Out(Operation)`` with ``failed : Out(1)``
        A BAD operation has taken an EV out of use.
    flags_write : ``Out(FlagsWrite(config))``
        News for the choice of planes.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        self.plane_bits = index_bits(config.lanes) if config.lanes > 1 else 0
        super().__init__({
            "valid": In(1),
            "i": In(Operation(config)),
            "profile": In(ProfileRow(config)),
            "chance": In(16),
            "pick": Out(Pick(config)),
            "started": Out(1),
            "failed": Out(1),
            "failure": Out(Operation(config)),
            "flags_write": Out(FlagsWrite(config)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        evs = config.evs_per_plane

        depth = max(2, config.qps << self.plane_bits)
        m.submodules.states = memory = DeepMemory(EvRow(config), depth=depth)

        # Cycle 0: read. The row may be written in this very cycle.
        place = Signal(range(depth))
        m.d.comb += place.eq(self.i.qp << self.plane_bits | self.i.plane)
        m.d.comb += memory.row[0].eq(place)
        written = Signal.like(memory.write)
        m.d.sync += written.eq(memory.write)
        stages = [(self.valid, self.i, place)]
        for n in range(1, 5):
            valid, operation, where = stages[-1]
            later = (
                Signal(name=f"valid_{n}"),
                Signal(Operation(config), name=f"operation_{n}"),
                Signal(range(depth), name=f"place_{n}"),
            )
            m.d.sync += [
                later[0].eq(valid),
                later[1].eq(operation),
                later[2].eq(where),
            ]
            stages.append(later)
        target = Signal(evs)
        m.d.sync += target.eq(Mux(self.i.targeted, Const(1, evs) << self.i.local, 0))

        # Cycle 1: what there is.
        valid, operation, where = stages[1]
        row = Signal(EvRow(config))
        m.d.comb += row.eq(memory.data[0])
        with m.If(written.valid & (written.row == where)):
            m.d.comb += row.eq(written.data)
        tier, sets = self._tiers(m, operation, row, target)

        # Cycle 2: the search.
        m.submodules.search = search = EvSearch(evs)
        row_2 = Signal(EvRow(config))
        target_2 = Signal(evs)
        tier_2 = Signal(Tier)
        hit = Signal(data.StructLayout({"good": 1, "usable": 1, "bad": 1, "active": 1}))
        m.d.sync += [
            row_2.eq(row),
            target_2.eq(target),
            tier_2.eq(tier),
            hit.good.eq((row.good & row.active & target).any()),
            hit.usable.eq(((row.good | row.skip) & target).any()),
            hit.bad.eq((row.bad & target).any()),
            hit.active.eq((row.active & target).any()),
        ]
        found_groups = {}
        for name in Tier:
            groups = Signal(search.groups, name=f"groups_{name.name.lower()}")
            m.d.sync += groups.eq(grouped(sets[name], search.groups))
            found_groups[name] = groups
        skip_groups = Signal(search.groups)
        skip_left = Signal(evs)
        m.d.comb += skip_left.eq(row.left & row.skip)
        m.d.sync += skip_groups.eq(grouped(skip_left, search.groups))
        excluded = Mux(stages[2][1].kind == OperationKind.PICK, target_2, 0)
        for name, mask in self._sets(row_2, excluded, target_2).items():
            with m.If(tier_2 == name):
                m.d.comb += search.mask.eq(mask)
                m.d.comb += search.mask_groups.eq(found_groups[name])
        m.d.comb += search.skip.eq(row_2.left & row_2.skip)
        m.d.comb += search.skip_groups.eq(skip_groups)
        m.d.comb += search.start.eq(self.chance)

        # Cycle 3: the change.
        row_3 = Signal(EvRow(config))
        target_3 = Signal(evs)
        tier_3 = Signal(Tier)
        hit_3 = Signal.like(hit)
        m.d.sync += [row_3.eq(row_2), target_3.eq(target_2), tier_3.eq(tier_2), hit_3.eq(hit)]
        m.submodules.change = change = EvChange(config)
        m.d.comb += [
            change.kind.eq(stages[3][1].kind),
            change.row.eq(row_3),
            change.target.eq(target_3),
            change.tier.eq(tier_3),
            change.hit_good.eq(hit_3.good),
            change.hit_usable.eq(hit_3.usable),
            change.hit_bad.eq(hit_3.bad),
            change.hit_active.eq(hit_3.active),
            change.chosen.eq(search.chosen),
            change.passed.eq(search.passed),
            change.passes.eq(search.passes),
            change.profile.eq(self.profile),
        ]
        m.d.comb += [
            memory.write.valid.eq(stages[3][0]),
            memory.write.row.eq(stages[3][2]),
            memory.write.data.eq(change.after),
            self.flags_write.valid.eq(stages[3][0]),
            self.flags_write.qp.eq(stages[3][1].qp),
            self.flags_write.plane.eq(stages[3][1].plane),
            self.flags_write.flags.some.eq(change.after.usable != 0),
            self.flags_write.flags.several.eq(change.after.usable > 1),
            self.flags_write.flags.bad.eq(change.after.failed != 0),
        ]

        # Cycle 4: what to tell.
        kind = stages[3][1].kind
        m.d.comb += self.started.eq(stages[3][0] & (kind == OperationKind.START))
        m.d.sync += [
            self.pick.valid.eq(stages[3][0] & (kind == OperationKind.PICK)),
            self.pick.none.eq(tier_3 == Tier.NONE),
            self.failed.eq(stages[3][0] & (kind == OperationKind.BAD) & hit_3.usable),
        ]
        m.d.comb += self.failure.eq(stages[4][1])
        for bit in range(len(self.pick.local)):
            numbers = sum(1 << n for n in range(evs) if n >> bit & 1)
            m.d.sync += self.pick.local[bit].eq((search.chosen & numbers).any())

        return m

    @staticmethod
    def _sets(row, excluded, target):
        """Return the EVs of each tier."""
        return {
            Tier.LEFT: row.left & row.good & ~excluded,
            Tier.FRESH: row.active & row.good & ~excluded,
            Tier.SKIPPED: row.skip & ~excluded,
            Tier.BACKUP: row.good & ~row.active & ~excluded,
            Tier.SAME: target,
            Tier.FLOOR: row.bad & ~excluded,
            Tier.NONE: Const(1, len(row.good)),
        }

    def _tiers(self, m, operation, row, target):
        """Return the tier of an operation, and the EVs of each tier."""
        tier = Signal(Tier, init=Tier.NONE)
        picks = operation.kind == OperationKind.PICK
        sets = {}
        for name, evs in self._sets(row, Mux(picks, target, 0), target).items():
            sets[name] = Signal(len(target), name=f"evs_{name.name.lower()}")
            m.d.comb += sets[name].eq(evs)
        with m.If(picks):
            with m.If(sets[Tier.LEFT].any()):
                m.d.comb += tier.eq(Tier.LEFT)
            with m.Elif(sets[Tier.FRESH].any()):
                m.d.comb += tier.eq(Tier.FRESH)
            with m.Elif(sets[Tier.SKIPPED].any()):
                m.d.comb += tier.eq(Tier.SKIPPED)
            with m.Elif(sets[Tier.BACKUP].any()):
                m.d.comb += tier.eq(Tier.BACKUP)
            with m.Elif(((row.good | row.skip) & target).any()):
                m.d.comb += tier.eq(Tier.SAME)
            with m.Elif(sets[Tier.FLOOR].any()):
                m.d.comb += tier.eq(Tier.FLOOR)
            with m.Elif((row.bad & target).any()):
                m.d.comb += tier.eq(Tier.SAME)
        with m.Elif(sets[Tier.BACKUP].any()):
            m.d.comb += tier.eq(Tier.BACKUP)
        return tier, sets
