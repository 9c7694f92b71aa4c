"""What an operation makes of a row of EV states."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig

from .ev_row import EvCase, EvRow, Tier
from .links import Operation, OperationKind, ProfileRow

__all__ = ["EvChange"]

#: What may happen to a row, a bit for each; the same decisions move masks and counts.
_DECISIONS = data.StructLayout(
    dict.fromkeys(
        (
            "moved",  # the target is no longer in the state that it was in, but in one of these:
            "to_good",
            "to_skip",
            "to_bad",
            "to_denied",
            "stays",  # and as active as before
            "joins",  # or active now
            "promotes",  # the chosen one is a backup that becomes active
            "takes",  # the chosen one has had its turn
            "restores_chosen",  # it turns GOOD
            "restores_passed",  # so does the one that was passed, whose turn is over as well
            "rotates",  # all active ones get a turn again
            "ages",  # all ASSUMED_BAD ones are from an earlier round now
        ),
        1,
    )
)


class EvChange(wiring.Component):
    """Change a row as :class:`~.ev_state.EvState` describes. Combinational.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    operation : ``In(Operation(config))``
        Operation.
    enough : ``In(1)``
        With an ANSWERED operation: there have been enough of them.
    case, tier : ``In(EvCase(config))``, ``In(Tier)``
        Row before it, and what was found there.
    short, full, low, lower : ``In(1)``
        Of that row: fewer are active than should be; no more are; fewer of the active are GOOD than
        should be; no more are.
    chosen, passed : ``In(evs_per_plane)``
        EV chosen; SKIP EV whose turn comes before it if ``passes``.
    passes : ``In(1)``
        See there.
    profile : ``In(ProfileRow(config))``
        Row to start with.
    after : ``Out(EvRow(config))``
        Row after it.
    """

    def __init__(self, config: NicConfig):
        evs = config.evs_per_plane
        super().__init__({
            "operation": In(Operation(config)),
            "enough": In(1),
            "case": In(EvCase(config)),
            "tier": In(Tier),
            "short": In(1),
            "full": In(1),
            "low": In(1),
            "lower": In(1),
            "chosen": In(evs),
            "passed": In(evs),
            "passes": In(1),
            "profile": In(ProfileRow(config)),
            "after": Out(EvRow(config)),
        })

    def elaborate(self, platform):
        m = Module()
        row, after = self.case.row, self.after
        does = Signal(_DECISIONS)
        self._decide(m, does)

        def only(condition, mask):
            return Mux(condition, mask, 0)

        with m.If(self.operation.kind == OperationKind.START):
            profile = self.profile
            m.d.comb += [after.good.eq(profile.valid), after.usable.eq(profile.count)]
            m.d.comb += [after.active.eq(profile.active), after.left.eq(profile.active)]
            m.d.comb += [after.in_use.eq(profile.places), after.ready.eq(profile.places)]
            m.d.comb += [after.places.eq(profile.places), after.least.eq(profile.least)]
        with m.Else():
            target, chosen = self.case.target, self.chosen
            moved, restored = only(does.moved, target), only(does.restores_chosen, chosen)
            left_it = only(does.moved & ~does.stays, target)
            passed = only(does.restores_passed, self.passed)
            good = (row.good & ~moved) | restored | passed | only(does.to_good, target)
            skip = (row.skip & ~moved & ~restored & ~passed) | only(does.to_skip, target)
            bad = (row.bad & ~moved) | only(does.to_bad, target)
            denied = (row.denied & ~moved) | only(does.to_denied, target)
            joined = only(does.joins, target)
            promoted = only(does.promotes, chosen)
            m.d.comb += [after.good.eq(good), after.skip.eq(skip)]
            m.d.comb += [after.bad.eq(bad), after.denied.eq(denied)]
            m.d.comb += after.active.eq((row.active & ~left_it) | joined | promoted)
            turns = only(does.rotates, row.active) | only(does.ages, row.bad) | row.left
            spent = only(does.takes, chosen) | only(~does.rotates, passed) | left_it
            m.d.comb += after.left.eq((turns & ~spent) | joined | only(~does.takes, promoted))
            self._count(m, does)

        return m

    def _decide(self, m, does):
        hits, operation = self.case.hits, self.operation
        usable = hits.good | hits.skip
        backup = self.tier == Tier.BACKUP
        # Without the target, will there be too few active ones, or too few GOOD ones among them?
        misses = hits.active & (self.full | Mux(hits.good, self.lower, self.low))
        returns = hits.bad & self.enough
        with m.Switch(operation.kind):
            with m.Case(OperationKind.PICK):
                self._pick(m, does)
            with m.Case(OperationKind.SKIP), m.If(hits.good & hits.active):
                m.d.comb += [does.moved.eq(1), does.to_skip.eq(1), does.stays.eq(1)]
                m.d.comb += does.promotes.eq(backup & self.lower)
            with m.Case(OperationKind.BAD), m.If(usable):
                m.d.comb += [does.moved.eq(1), does.to_bad.eq(1)]
                m.d.comb += does.promotes.eq(backup & misses)
                m.d.comb += does.ages.eq(~self.case.old)
            with m.Case(OperationKind.ANSWERED), m.If(returns):
                self._give_back(m, does)
            with m.Case(OperationKind.ANSWERED_MARKED), m.If(returns):
                m.d.comb += [does.moved.eq(1), does.to_skip.eq(1), does.joins.eq(1)]
            with m.Case(OperationKind.DENY), m.If(usable | hits.bad):
                m.d.comb += [does.moved.eq(1), does.to_denied.eq(1)]
                m.d.comb += does.promotes.eq(backup & misses)
            with m.Case(OperationKind.ALLOW), m.If(hits.denied):
                self._give_back(m, does)
            with m.Case(OperationKind.PLACE):
                m.d.comb += [does.moved.eq(1), does.to_good.eq(operation.there)]
                joins = operation.there & operation.active
                fewer = Mux(operation.was_active, self.short, self.full)
                m.d.comb += does.joins.eq(joins)
                m.d.comb += does.promotes.eq(backup & hits.active & ~joins & fewer)

    def _give_back(self, m, does):
        """Make the target GOOD again: active if such are missing, else a backup."""
        m.d.comb += [does.moved.eq(1), does.to_good.eq(1)]
        m.d.comb += does.joins.eq(self.short | self.low)

    def _pick(self, m, does):
        with m.Switch(self.tier):
            with m.Case(Tier.LEFT):
                m.d.comb += [does.takes.eq(1), does.restores_passed.eq(self.passes)]
            with m.Case(Tier.FRESH):
                # A SKIP EV that was left when the rotation ended has had its turn, too.
                m.d.comb += [does.takes.eq(1), does.rotates.eq(1)]
                m.d.comb += does.restores_passed.eq(self.case.waiting)
            with m.Case(Tier.SKIPPED):
                m.d.comb += [does.takes.eq(1), does.restores_chosen.eq(1)]
            with m.Case(Tier.BACKUP):
                m.d.comb += [does.takes.eq(1), does.promotes.eq(1)]
            with m.Case(Tier.OLD):
                m.d.comb += does.takes.eq(1)
            with m.Case(Tier.FLOOR):
                m.d.comb += [does.takes.eq(1), does.ages.eq(1)]

    def _count(self, m, does):
        row, after, hits, operation = self.case.row, self.after, self.case.hits, self.operation
        leaves = does.moved & ~does.stays & hits.active
        more = does.restores_chosen | does.restores_passed
        m.d.comb += [
            after.least.eq(row.least),
            after.in_use.eq(row.in_use + does.joins + does.promotes - leaves),
            after.ready.eq(
                row.ready
                + (does.joins & does.to_good)
                + (does.promotes | more)
                - (does.moved & hits.active & hits.good)
            ),
            after.usable.eq(
                row.usable + (does.to_good | does.to_skip) - (does.moved & (hits.good | hits.skip))
            ),
            after.failed.eq(row.failed + does.to_bad - (does.moved & hits.bad)),
            after.places.eq(row.places),
        ]
        with m.If(operation.kind == OperationKind.PLACE):
            m.d.comb += after.places.eq(
                row.places + (operation.there & operation.active) - operation.was_active
            )
