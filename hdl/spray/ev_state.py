"""EV states of all QPs, and every change of them."""

from itertools import pairwise

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory

from .ev_candidates import EvCandidates
from .ev_change import EvChange
from .ev_row import EvCase, EvRow, Tier
from .ev_search import EvSearch
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
        target = Signal(evs)
        m.d.sync += target.eq(Mux(self.i.targeted, Const(1, evs) << self.i.local, 0))
        stages = self._stages(m, place)

        # Cycle 1: what there is.
        m.submodules.candidates = candidates = EvCandidates(config)
        m.d.comb += candidates.kind.eq(stages[1].operation.kind)
        m.d.comb += candidates.target.eq(target)
        m.d.comb += candidates.row.eq(memory.data[0])
        with m.If(written.valid & (written.row == stages[1].place)):
            m.d.comb += candidates.row.eq(written.data)

        # Cycle 2: the search.
        m.submodules.search = search = EvSearch(evs)
        m.d.comb += search.start.eq(self.chance)
        for name in ("mask", "mask_groups", "skip", "skip_groups"):
            m.d.comb += getattr(search, name).eq(getattr(candidates, name))
        case = Signal(EvCase(config))
        m.d.sync += case.eq(candidates.case)

        # Cycle 3: the change.
        operation = stages[3].operation
        m.submodules.change = change = EvChange(config)
        m.d.comb += [
            change.kind.eq(operation.kind),
            change.case.eq(case),
            change.chosen.eq(search.chosen),
            change.passed.eq(search.passed),
            change.passes.eq(search.passes),
            change.profile.eq(self.profile),
            memory.write.valid.eq(stages[3].valid),
            memory.write.row.eq(stages[3].place),
            memory.write.data.eq(change.after),
            self.started.eq(stages[3].valid & (operation.kind == OperationKind.START)),
            self.flags_write.valid.eq(stages[3].valid),
            self.flags_write.qp.eq(operation.qp),
            self.flags_write.plane.eq(operation.plane),
            self.flags_write.flags.some.eq(change.after.usable != 0),
            self.flags_write.flags.several.eq(change.after.usable > 1),
            self.flags_write.flags.bad.eq(change.after.failed != 0),
        ]

        # Cycle 4: what to tell.
        m.d.comb += self.failure.eq(stages[4].operation)
        fails = (operation.kind == OperationKind.BAD) & case.hit_usable
        m.d.sync += self.failed.eq(stages[3].valid & fails)
        m.d.sync += self.pick.valid.eq(stages[3].valid & (operation.kind == OperationKind.PICK))
        m.d.sync += self.pick.none.eq(case.tier == Tier.NONE)
        for bit in range(len(self.pick.local)):
            numbers = sum(1 << n for n in range(evs) if n >> bit & 1)
            m.d.sync += self.pick.local[bit].eq((search.chosen & numbers).any())

        return m

    def _stages(self, m, place):
        """Return the operation in each cycle from the one in which it is taken."""
        layout = data.StructLayout({
            "valid": 1,
            "operation": Operation(self.config),
            "place": len(place),
        })
        stages = [Signal(layout, name=f"stage_{n}") for n in range(5)]
        m.d.comb += [
            stages[0].valid.eq(self.valid),
            stages[0].operation.eq(self.i),
            stages[0].place.eq(place),
        ]
        for before, after in pairwise(stages):
            m.d.sync += after.eq(before)
        return stages
