"""What an operation is to change in a row of EV states."""

from amaranth.hdl import Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig

from .ev_row import TIERS, EvCase, Tier
from .links import Operation, OperationKind

__all__ = ["Decision", "EvDecision"]

_COUNTS = ("in_use", "ready", "usable", "failed", "places")


class Decision(data.StructLayout):
    """What may happen to a row, a bit for each; the same decisions move masks and counts.

    Members
    -------
    starts : 1
        The row is as the profile says; nothing else counts.
    moved : 1
        The target is no longer in the state that it was in, but in one of these:
    to_good, to_skip, to_bad, to_denied : 1
    if_enough : 1
        All of this holds only if there were enough answers.
    stays : 1
        It is as active as before; otherwise no longer.
    was_active, was_good, was_usable, was_bad : 1
        The target was.
    joins : 1
        It is active now.
    promotes : 1
        The chosen one is a backup that becomes active.
    takes : 1
        The chosen one has had its turn.
    restores_chosen : 1
        It turns GOOD.
    restores_passed, if_passed : 1
        So does the one that was passed, whose turn is over as well; if it was passed at all.
    rotates : 1
        All active ones get a turn again.
    ages : 1
        All ASSUMED_BAD ones are from an earlier round now.
    more, fewer : 1
        There should be one more active, one fewer.
    above, below : counts
        Counts of the row, plus and minus one.
    """

    def __init__(self, config: NicConfig):
        names = (
            "starts", "moved", "to_good", "to_skip", "to_bad", "to_denied", "if_enough", "stays",
            "was_active", "was_good", "was_usable", "was_bad", "joins", "promotes", "takes",
            "restores_chosen", "restores_passed", "if_passed", "rotates", "ages", "more", "fewer",
        )  # fmt: skip
        counts = data.StructLayout(dict.fromkeys(_COUNTS, range(config.evs_per_plane + 1)))
        super().__init__({**dict.fromkeys(names, 1), "above": counts, "below": counts})


class EvDecision(wiring.Component):
    """Decide what becomes of a row, as :class:`~.ev_state.EvState` describes. Combinational.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    operation : ``In(Operation(config))``
        Operation.
    case, tier : ``In(EvCase(config))``, ``In(TIERS)``
        Row before it, and what was found there.
    o : ``Out(Decision(config))``
        What is to be done.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "operation": In(Operation(config)),
            "case": In(EvCase(config)),
            "tier": In(TIERS),
            "o": Out(Decision(config)),
        })

    def elaborate(self, platform):
        m = Module()
        case, hits, does, operation = self.case, self.case.hits, self.o, self.operation

        usable = hits.good | hits.skip
        backup = self.tier[Tier.BACKUP.value]
        # Without the target, will there be too few active ones, or too few GOOD ones among them?
        misses = hits.active & (case.full | Mux(hits.good, case.lower, case.low))
        m.d.comb += [
            does.starts.eq(operation.kind == OperationKind.START),
            does.was_active.eq(hits.active),
            does.was_good.eq(hits.good),
            does.was_usable.eq(usable),
            does.was_bad.eq(hits.bad),
        ]
        for name in _COUNTS:
            m.d.comb += does.above[name].eq(case.row[name] + 1)
            m.d.comb += does.below[name].eq(case.row[name] - 1)
        with m.Switch(operation.kind):
            with m.Case(OperationKind.PICK):
                self._pick(m, does)
            with m.Case(OperationKind.SKIP), m.If(hits.good & hits.active):
                m.d.comb += [does.moved.eq(1), does.to_skip.eq(1), does.stays.eq(1)]
                m.d.comb += does.promotes.eq(backup & case.lower)
            with m.Case(OperationKind.BAD), m.If(usable):
                m.d.comb += [does.moved.eq(1), does.to_bad.eq(1)]
                m.d.comb += does.promotes.eq(backup & misses)
                m.d.comb += does.ages.eq(~case.old)
            with m.Case(OperationKind.ANSWERED), m.If(hits.bad):
                m.d.comb += does.if_enough.eq(1)
                self._give_back(m, does)
            with m.Case(OperationKind.ANSWERED_MARKED), m.If(hits.bad):
                m.d.comb += does.if_enough.eq(1)
                m.d.comb += [does.moved.eq(1), does.to_skip.eq(1), does.joins.eq(1)]
            with m.Case(OperationKind.DENY), m.If(usable | hits.bad):
                m.d.comb += [does.moved.eq(1), does.to_denied.eq(1)]
                m.d.comb += does.promotes.eq(backup & misses)
            with m.Case(OperationKind.ALLOW), m.If(hits.denied):
                self._give_back(m, does)
            with m.Case(OperationKind.PLACE):
                self._place(m, does, backup)

        return m

    def _give_back(self, m, does):
        """Make the target GOOD again: active if such are missing, else a backup."""
        m.d.comb += [does.moved.eq(1), does.to_good.eq(1)]
        m.d.comb += does.joins.eq(self.case.short | self.case.low)

    def _place(self, m, does, backup):
        """Give the target another value."""
        operation = self.operation
        joins = operation.there & operation.active
        too_few = Mux(operation.was_active, self.case.short, self.case.full)
        m.d.comb += [
            does.moved.eq(1),
            does.to_good.eq(operation.there),
            does.joins.eq(joins),
            does.promotes.eq(backup & self.case.hits.active & ~joins & too_few),
            does.more.eq(joins & ~operation.was_active),
            does.fewer.eq(~joins & operation.was_active),
        ]

    def _pick(self, m, does):
        left, fresh, skipped, promoted, old, floor = (
            self.tier[tier.value]
            for tier in (
                Tier.LEFT, Tier.FRESH, Tier.SKIPPED, Tier.BACKUP, Tier.OLD, Tier.FLOOR
            )
        )  # fmt: skip
        m.d.comb += [
            does.takes.eq(left | fresh | skipped | promoted | old | floor),
            # A SKIP EV that was left when the rotation ended has had its turn, too.
            does.restores_passed.eq(left | (fresh & self.case.waiting)),
            does.if_passed.eq(left),
            does.rotates.eq(fresh),
            does.restores_chosen.eq(skipped),
            does.promotes.eq(promoted),
            does.ages.eq(floor),
        ]
