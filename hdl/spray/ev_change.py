"""What an operation makes of a row of EV states."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig

from .ev_row import EvCase, EvRow, Tier
from .links import OperationKind, ProfileRow

__all__ = ["EvChange"]


class EvChange(wiring.Component):
    """Change a row as :class:`~.ev_state.EvState` describes. Combinational.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    kind : ``In(OperationKind)``
        Operation.
    case : ``In(EvCase(config))``
        Row before it, and what was found there.
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
            "kind": In(OperationKind),
            "case": In(EvCase(config)),
            "chosen": In(evs),
            "passed": In(evs),
            "passes": In(1),
            "profile": In(ProfileRow(config)),
            "after": Out(EvRow(config)),
        })

    def elaborate(self, platform):
        m = Module()

        m.d.comb += self.after.eq(self.case.row)
        with m.Switch(self.kind):
            with m.Case(OperationKind.PICK):
                self._pick(m)
            with m.Case(OperationKind.SKIP), m.If(self.case.hit_good):
                m.d.comb += self.after.good.eq(self.case.row.good & ~self.case.target)
                m.d.comb += self.after.skip.eq(self.case.row.skip | self.case.target)
            with m.Case(OperationKind.BAD), m.If(self.case.hit_usable):
                self._fail(m)
            with m.Case(OperationKind.RETURN), m.If(self.case.hit_bad):
                self._return(m)
            with m.Case(OperationKind.START):
                m.d.comb += self.after.eq(0)
                m.d.comb += self.after.good.eq(self.profile.valid)
                m.d.comb += self.after.active.eq(self.profile.active)
                m.d.comb += self.after.left.eq(self.profile.active)
                m.d.comb += self.after.usable.eq(self.profile.count)

        return m

    def _pick(self, m):
        row, after = self.case.row, self.after
        with m.Switch(self.case.tier):
            with m.Case(Tier.LEFT):
                # A SKIP EV that was passed has had its turn.
                passed = Signal.like(self.passed)
                m.d.comb += passed.eq(Mux(self.passes, self.passed, 0))
                m.d.comb += after.left.eq(row.left & ~self.chosen & ~passed)
                m.d.comb += after.good.eq(row.good | passed)
                m.d.comb += after.skip.eq(row.skip & ~passed)
            with m.Case(Tier.FRESH):
                # So has one that was left when the rotation ended.
                m.d.comb += after.left.eq(row.active & ~self.chosen)
                m.d.comb += after.good.eq(row.good | self.passed)
                m.d.comb += after.skip.eq(row.skip & ~self.passed)
            with m.Case(Tier.SKIPPED):
                m.d.comb += after.left.eq(row.left & ~self.chosen)
                m.d.comb += after.good.eq(row.good | self.chosen)
                m.d.comb += after.skip.eq(row.skip & ~self.chosen)
            with m.Case(Tier.BACKUP):
                m.d.comb += after.active.eq(row.active | self.chosen)
                m.d.comb += after.vacant.eq(row.vacant - (row.vacant != 0))

    def _fail(self, m):
        row, after = self.case.row, self.after
        m.d.comb += after.good.eq(row.good & ~self.case.target)
        m.d.comb += after.skip.eq(row.skip & ~self.case.target)
        m.d.comb += after.left.eq(row.left & ~self.case.target)
        m.d.comb += after.bad.eq(row.bad | self.case.target)
        m.d.comb += after.usable.eq(row.usable - 1)
        m.d.comb += after.failed.eq(row.failed + 1)
        with m.If(self.case.hit_active):
            m.d.comb += after.active.eq(row.active & ~self.case.target)
            with m.If(self.case.tier == Tier.BACKUP):
                m.d.comb += after.active.eq((row.active & ~self.case.target) | self.chosen)
                m.d.comb += after.left.eq((row.left & ~self.case.target) | self.chosen)
            with m.Else():
                m.d.comb += after.vacant.eq(row.vacant + 1)

    def _return(self, m):
        row, after = self.case.row, self.after
        m.d.comb += after.bad.eq(row.bad & ~self.case.target)
        m.d.comb += after.good.eq(row.good | self.case.target)
        m.d.comb += after.usable.eq(row.usable + 1)
        m.d.comb += after.failed.eq(row.failed - 1)
        with m.If(row.vacant != 0):
            m.d.comb += after.active.eq(row.active | self.case.target)
            m.d.comb += after.left.eq(row.left | self.case.target)
            m.d.comb += after.vacant.eq(row.vacant - 1)
