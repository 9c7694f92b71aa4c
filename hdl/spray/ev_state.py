"""EV states of all QPs in one plane, and every change of them."""

from itertools import pairwise

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory

from .ev_candidates import EvCandidates
from .ev_change import EvChange
from .ev_decision import Decision, EvDecision
from .ev_row import TIERS, EvCase, EvRow, Hits
from .ev_search import EvSearch
from .links import MaskedEvs, Operation, OperationKind, PlaneFlags, ProfileRow

__all__ = ["EvState"]


class EvState(wiring.Component):
    """Hold a row of bit masks for each QP, and do an operation per cycle.

    Operations on the same QP must begin 3 cycles apart, at least. The row is read in the cycle of
    ``valid`` and written in the third after it. The search looks at whole masks, so its time does
    not depend on how many EVs there are.

    PICK takes the best :class:`~.ev_row.Tier` that has an EV other than the target. It changes the
    row only if ``wins``, since all planes search and one is chosen. Within a rotation each active
    GOOD EV is taken once, in an order that comes from ``chance``. A SKIP EV that is passed on the
    way turns GOOD and its turn is over: at most one in each packet, and at the end of a rotation. A
    SKIP EV taken for lack of a GOOD one turns GOOD as well, and a backup taken becomes active.
    One that takes a masked link is taken only if no other is GOOD or SKIP, and stays as it is.
    ASSUMED_BAD ones are taken in rounds: those that failed or were tried in an earlier round
    before those of this one, and among equals chance decides.

    SKIP turns a GOOD active EV to SKIP; a backup has no turn that it could lose. BAD turns a GOOD
    or SKIP one to ASSUMED_BAD, DENY any to DENIED; if it was active, and no more than ``places``
    were, or ``least`` GOOD ones, then a backup becomes active in its stead. SKIP makes one active
    only for the sake of ``least``. ANSWERED, when there were enough of them, turns an
    ASSUMED_BAD EV to GOOD, ALLOW a DENIED one: active if there are too few, else a backup. After
    ANSWERED_MARKED it is SKIP, and so active anyhow. PLACE is for an EV whose value is new: it is
    GOOD, and as active as its row says, or is not there any more. START writes the row as
    ``profile`` has it. All else changes nothing.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    plane : :class:`int`
        Which one this is: operations with a target in another have none here.

    Members
    -------
    valid, i : ``In(1)``, ``In(Operation(config))``
        Operation.
    flags : ``Out(PlaneFlags())``
        What there is for it, a cycle later.
    masked : ``In(MaskedEvs(config))``
        Then: EVs that a PICK should not take, because of their links.
    chance : ``In(16)``
        Pseudo-random number, in the first cycle after ``valid``.
    wins, enough : ``In(1)``
        For a PICK, and for an ANSWERED operation, in the third.
    profile : ``In(ProfileRow(config))``
        For START, in the third.
    hits : ``Out(Hits())``
        What the target was, in the third; nothing if it is not here.
    places : ``Out``
        How many should be active here, in the third; 0 if the target is not here.
    none : ``Out(1)``
        There is no EV, in the third.
    restored : ``Out(1)``
        A SKIP EV has turned GOOD because it was passed over; in the fourth.
    local : ``Out``
        EV chosen, in the fourth; 0 if there is none.
    """

    def __init__(self, config: NicConfig, *, plane: int):
        self.config = config
        self.plane = plane
        super().__init__({
            "valid": In(1),
            "i": In(Operation(config)),
            "flags": Out(PlaneFlags()),
            "masked": In(MaskedEvs(config)),
            "chance": In(16),
            "wins": In(1),
            "enough": In(1),
            "profile": In(ProfileRow(config)),
            "hits": Out(Hits()),
            "places": Out(range(config.evs_per_plane + 1)),
            "none": Out(1),
            "restored": Out(1),
            "local": Out(index_bits(config.evs_per_plane)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        evs = config.evs_per_plane
        stages = self._stages(m)

        # Cycle 0: read. The row may be written in this very cycle.
        m.submodules.states = memory = DeepMemory(EvRow(config), depth=config.qps)
        written = Signal(EvRow(config))
        fresh = Signal()
        target, picks = Signal(evs), Signal()
        m.d.comb += memory.row[0].eq(self.i.qp)
        m.d.sync += written.eq(memory.write.data)
        m.d.sync += fresh.eq(memory.write.valid & (memory.write.row == self.i.qp))
        m.d.sync += picks.eq(self.i.kind == OperationKind.PICK)
        m.d.sync += target.eq(Mux(stages[0].here, Const(1, evs) << self.i.local, 0))

        # Cycle 1: what there is.
        row = Signal(EvRow(config))
        m.d.comb += row.eq(memory.data[0])
        with m.If(fresh):
            m.d.comb += row.eq(written)
        usable, all_masked = row.usable != 0, picks & self.masked.all
        m.d.comb += self.flags.some.eq(usable & ~all_masked)
        m.d.comb += self.flags.several.eq(row.usable > 1)
        m.d.comb += self.flags.bad.eq((row.failed != 0) | (usable & all_masked))
        operation = stages[1].operation
        m.submodules.candidates = candidates = EvCandidates(config)
        m.d.comb += [
            candidates.picks.eq(picks),
            candidates.masked.eq(Mux(picks, self.masked.evs, 0)),
            candidates.fixed.eq(operation.fixed & stages[1].here),
            candidates.target.eq(target),
            candidates.row.eq(row),
        ]

        # Cycle 2: the search, and what is to become of the row.
        m.submodules.search = search = EvSearch(evs, kinds=TIERS)
        m.submodules.decision = decision = EvDecision(config)
        m.d.comb += [
            search.start.eq(self.chance),
            search.kind.eq(candidates.tier),
            decision.operation.eq(stages[2].operation),
            decision.case.eq(candidates.case),
            decision.tier.eq(candidates.tier),
        ]
        for name in ("mask", "skip", "skip_groups"):
            m.d.comb += getattr(search, name).eq(getattr(candidates, name))
        for ours, theirs in zip(search.mask_groups, candidates.mask_groups, strict=True):
            m.d.comb += ours.eq(theirs)
        case, does = Signal(EvCase(config)), Signal(Decision(config))
        m.d.sync += [case.eq(candidates.case), does.eq(decision.o)]
        m.d.sync += self.none.eq(~candidates.tier.any())

        # Cycle 3: the change.
        self._write(m, stages[3], memory.write, search, case, does)

        return m

    def _stages(self, m):
        """Return the operation in each cycle from the one in which it is taken."""
        layout = data.StructLayout({"valid": 1, "operation": Operation(self.config), "here": 1})
        stages = [Signal(layout, name=f"stage_{n}") for n in range(4)]
        m.d.comb += [
            stages[0].valid.eq(self.valid),
            stages[0].operation.eq(self.i),
            stages[0].here.eq(self.i.targeted & (self.i.plane == self.plane)),
        ]
        for before, after in pairwise(stages):
            m.d.sync += after.eq(before)
        return stages

    def _write(self, m, stage, write, search, case, does):
        m.submodules.change = change = EvChange(self.config)
        m.d.comb += [
            self.hits.eq(case.hits),
            self.places.eq(Mux(stage.here, case.row.places, 0)),
            change.does.eq(does),
            change.enough.eq(self.enough),
            change.row.eq(case.row),
            change.target.eq(case.target),
            change.chosen.eq(search.chosen),
            change.passed.eq(search.passed),
            change.passes.eq(search.passes),
            change.profile.eq(self.profile),
            write.row.eq(stage.operation.qp),
            write.data.eq(change.after),
        ]
        picks = stage.operation.kind == OperationKind.PICK
        concerns = stage.here | does.starts
        m.d.comb += write.valid.eq(stage.valid & Mux(picks, self.wins, concerns))
        for bit in range(len(self.local)):  # cycle 4: which it is
            numbers = sum(1 << n for n in range(len(search.chosen)) if n >> bit & 1)
            m.d.sync += self.local[bit].eq((search.chosen & numbers).any())
        passes = does.restores_passed & (~does.if_passed | search.passes)
        m.d.sync += self.restored.eq(stage.valid & self.wins & passes)
