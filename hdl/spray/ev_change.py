"""What becomes of a row of EV states."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig

from .ev_decision import Decision
from .ev_row import EvRow
from .links import ProfileRow

__all__ = ["EvChange"]


class EvChange(wiring.Component):
    """Change a row as was decided. Combinational.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    does : ``In(Decision(config))``
        What is to be done.
    enough : ``In(1)``
        There were enough answers.
    row, target : ``In(EvRow(config))``, ``In(evs_per_plane)``
        Row before it; the EV that it is about.
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
            "does": In(Decision(config)),
            "enough": In(1),
            "row": In(EvRow(config)),
            "target": In(evs),
            "chosen": In(evs),
            "passed": In(evs),
            "passes": In(1),
            "profile": In(ProfileRow(config)),
            "after": Out(EvRow(config)),
        })

    def elaborate(self, platform):
        m = Module()
        row, after, does, profile = self.row, self.after, self.does, self.profile

        def only(condition, mask):
            return Mux(condition, mask, 0)

        holds, restored, leaves = Signal(), Signal(), Signal()
        m.d.comb += leaves.eq(holds & does.moved & ~does.stays & does.was_active)
        m.d.comb += holds.eq(~does.if_enough | self.enough)
        m.d.comb += restored.eq(does.restores_passed & (~does.if_passed | self.passes))
        with m.If(does.starts):
            m.d.comb += [after.good.eq(profile.valid), after.usable.eq(profile.count)]
            m.d.comb += [after.active.eq(profile.active), after.left.eq(profile.active)]
            m.d.comb += [after.in_use.eq(profile.places), after.ready.eq(profile.places)]
            m.d.comb += [after.places.eq(profile.places), after.least.eq(profile.least)]
        with m.Else():
            target, chosen = only(holds, self.target), self.chosen
            # An ASSUMED_BAD EV has a turn of its own, which it must not keep as a GOOD one.
            moved, left_it = only(does.moved, target), only(does.moved & ~does.stays, target)
            back, passed = only(does.restores_chosen, chosen), only(restored, self.passed)
            joined, promoted = only(does.joins, target), only(does.promotes, chosen)
            turns = only(does.rotates, row.active) | only(does.ages, row.bad) | row.left
            spent = only(does.takes, chosen) | only(~does.rotates, passed) | left_it
            m.d.comb += [
                after.good.eq((row.good & ~moved) | back | passed | only(does.to_good, target)),
                after.skip.eq((row.skip & ~moved & ~back & ~passed) | only(does.to_skip, target)),
                after.bad.eq((row.bad & ~moved) | only(does.to_bad, target)),
                after.denied.eq((row.denied & ~moved) | only(does.to_denied, target)),
                after.active.eq((row.active & ~left_it) | joined | promoted),
                after.left.eq((turns & ~spent) | joined | only(~does.takes, promoted)),
                after.least.eq(row.least),
            ]
            self._count(m, holds, leaves, restored)

        return m

    def _count(self, m, holds, leaves, restored):
        """Move counts by one at the most: what would be more comes with a loss."""
        does = self.does
        moved, joins = does.moved & holds, does.joins & holds
        restores = does.restores_chosen | restored
        for name, more, fewer in (
            ("in_use", joins | does.promotes, leaves),
            (
                "ready",
                (joins & does.to_good) | does.promotes | restores,
                moved & does.was_active & does.was_good,
            ),
            ("usable", holds & (does.to_good | does.to_skip), moved & does.was_usable),
            ("failed", holds & does.to_bad, moved & does.was_bad),
            ("places", does.more, does.fewer),
        ):
            with m.If(more & ~fewer):
                m.d.comb += self.after[name].eq(does.above[name])
            with m.Elif(fewer & ~more):
                m.d.comb += self.after[name].eq(does.below[name])
            with m.Else():
                m.d.comb += self.after[name].eq(self.row[name])
