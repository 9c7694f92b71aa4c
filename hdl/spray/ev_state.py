"""EV states of all QPs in one plane, and every change of them."""

from itertools import pairwise

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory

from .ev_candidates import EvCandidates
from .ev_change import EvChange
from .ev_row import EvCase, EvRow, Hits, Tier
from .ev_search import EvSearch
from .links import MaskedEvs, Operation, OperationKind, PlaneFlags, ProfileRow

__all__ = ["EvState"]


class EvState(wiring.Component):
    """Hold a row of bit masks for each QP, and do an operation per cycle.

    Operations on the same QP must begin 3 cycles apart, at least. The row is read in the cycle of
    ``valid`` and written in the third after it. The search looks at whole masks, so its time does
    not depend on how many EVs there are.

    PICK takes the best :class:`Tier` that has an EV other than the target; it changes the row
    only if ``wins``, since all planes search and one is chosen. Within a rotation each active GOOD
    EV is taken once, in an order that comes from ``chance``. A SKIP EV that is passed on the way
    turns GOOD and its turn is over: at most one in each packet, and at the end of a rotation. A
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
        Pseudo-random number, in the second cycle after ``valid``.
    wins, enough : ``In(1)``
        For a PICK, and for an ANSWERED operation, in the third.
    profile : ``In(ProfileRow(config))``
        For START, in the third.
    hits : ``Out(Hits())``
        What the target was, in the third; nothing if it is not here.
    places : ``Out``
        How many should be active here, in the third; 0 if the target is not here.
    tier : ``Out(Tier)``
        Where the EV comes from, in the third.
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
            "tier": Out(Tier),
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

        # Cycle 2: the search.
        m.submodules.search = search = EvSearch(evs)
        m.d.comb += search.start.eq(self.chance)
        for name in ("mask", "mask_groups", "skip", "skip_groups"):
            m.d.comb += getattr(search, name).eq(getattr(candidates, name))
        case = Signal(EvCase(config))
        m.submodules.change = change = EvChange(config)
        before = candidates.case.row
        for name, holds in (
            ("short", before.in_use < before.places),
            ("full", before.in_use <= before.places),
            ("low", before.ready < before.least),
            ("lower", before.ready <= before.least),
        ):
            kept = Signal(name=name)
            m.d.sync += kept.eq(holds)
            m.d.comb += getattr(change, name).eq(kept)
        m.d.sync += [case.eq(candidates.case), self.tier.eq(candidates.tier)]

        # Cycle 3: the change.
        self._write(m, stages[3], memory.write, change, search, case)

        # Cycle 4: which it is.
        for bit in range(len(self.local)):
            numbers = sum(1 << n for n in range(evs) if n >> bit & 1)
            m.d.sync += self.local[bit].eq((search.chosen & numbers).any())

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

    def _write(self, m, stage, write, change, search, case):
        operation = stage.operation
        m.d.comb += [
            self.hits.eq(case.hits),
            self.places.eq(Mux(stage.here, case.row.places, 0)),
            change.operation.eq(operation),
            change.enough.eq(self.enough),
            change.case.eq(case),
            change.tier.eq(self.tier),
            change.chosen.eq(search.chosen),
            change.passed.eq(search.passed),
            change.passes.eq(search.passes),
            change.profile.eq(self.profile),
            write.row.eq(operation.qp),
            write.data.eq(change.after),
        ]
        picks = operation.kind == OperationKind.PICK
        concerns = stage.here | (operation.kind == OperationKind.START)
        m.d.comb += write.valid.eq(stage.valid & Mux(picks, self.wins, concerns))
        passes = Mux(self.tier == Tier.LEFT, search.passes, case.waiting)
        turns = Cat(self.tier == Tier.LEFT, self.tier == Tier.FRESH).any()
        m.d.sync += self.restored.eq(stage.valid & picks & self.wins & turns & passes)
