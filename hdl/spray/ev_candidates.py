"""Which EVs come into question."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig

from .ev_row import EvCase, EvRow, Hits, Tier
from .ev_search import group_count, grouped

__all__ = ["EvCandidates"]


class EvCandidates(wiring.Component):
    """Find the best tier that has an EV, and prepare the search in it.

    Outputs come one cycle after the inputs. Whether a tier has any is all that is found out about
    whole masks in that cycle; the masks themselves are made anew from the row in the next.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    picks : ``In(1)``
        An EV for a packet is wanted; otherwise a backup.
    fixed : ``In(1)``
        It is the target.
    row : ``In(EvRow(config))``
        States.
    target : ``In(evs_per_plane)``
        EV that the operation is about, as a mask; no tier has it but SAME.
    masked : ``In(evs_per_plane)``
        EVs that take a masked link; no tier of GOOD or SKIP ones has them but MASKED and SAME.
    case : ``Out(EvCase(config))``
        What was found.
    tier : ``Out(Tier)``
        The best that has an EV.
    mask, skip : ``Out(evs_per_plane)``
        EVs of the tier; SKIP EVs whose turn is to come.
    mask_groups, skip_groups : ``Out``
        The same by :func:`~.ev_search.grouped`.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        evs = config.evs_per_plane
        self.groups = group_count(evs)
        super().__init__({
            "picks": In(1),
            "fixed": In(1),
            "row": In(EvRow(config)),
            "target": In(evs),
            "masked": In(evs),
            "case": Out(EvCase(config)),
            "tier": Out(Tier),
            "mask": Out(evs),
            "mask_groups": Out(self.groups),
            "skip": Out(evs),
            "skip_groups": Out(self.groups),
        })

    def elaborate(self, platform):
        m = Module()
        row, target, case = self.row, self.target, self.case
        masked = self.masked

        # In which groups are EVs of each tier, and are there any at all?
        groups, some = {}, {}
        for tier, evs in self._masks(row, target, masked).items():
            mask = Signal(len(target), name=f"evs_{tier.name.lower()}")
            groups[tier] = Signal(self.groups, name=f"groups_{tier.name.lower()}")
            some[tier] = Signal(name=f"some_{tier.name.lower()}")
            m.d.comb += mask.eq(evs)
            m.d.sync += groups[tier].eq(grouped(mask, self.groups))
            m.d.sync += some[tier].eq(mask.any())
        waiting = Signal(len(target))
        m.d.comb += waiting.eq(row.left & row.skip)
        m.d.sync += self.skip_groups.eq(grouped(waiting, self.groups))
        m.d.sync += [case.row.eq(row), case.target.eq(target), case.waiting.eq(waiting.any())]
        m.d.sync += [case.masked.eq(masked), case.masks.eq((masked & target).any())]
        for name, _ in Hits():
            m.d.sync += case.hits[name].eq((row[name] & target).any())
        picks, fixed = Signal(), Signal()
        m.d.sync += [picks.eq(self.picks), fixed.eq(self.fixed)]

        # A cycle later: the best tier, and its EVs.
        m.d.comb += case.old.eq(some[Tier.OLD])
        m.d.comb += self.skip.eq(case.row.left & case.row.skip)
        usable = case.hits.good | case.hits.skip
        order = (
            (Tier.SAME, fixed),
            *((tier, some[tier]) for tier in (Tier.LEFT, Tier.FRESH, Tier.SKIPPED, Tier.BACKUP)),
            (Tier.SAME, usable & ~case.masks),
            (Tier.MASKED, some[Tier.MASKED]),
            (Tier.SAME, usable),
            (Tier.OLD, some[Tier.OLD]),
            (Tier.FLOOR, some[Tier.FLOOR]),
            (Tier.SAME, case.hits.bad),
        )
        m.d.comb += self.tier.eq(Tier.NONE)
        for tier, there in reversed(order):  # the later of these assignments wins
            with m.If(there & (picks | (tier == Tier.BACKUP))):
                m.d.comb += self.tier.eq(tier)
        with m.Switch(self.tier):
            for tier, evs in self._masks(case.row, case.target, case.masked).items():
                with m.Case(tier):
                    m.d.comb += self.mask.eq(evs)
                    m.d.comb += self.mask_groups.eq(groups[tier])

        return m

    @staticmethod
    def _masks(row, target, masked):
        """Return the EVs of each tier that has any."""
        barred = target | masked
        return {
            Tier.LEFT: row.left & row.good & ~barred,
            Tier.FRESH: row.active & row.good & ~barred,
            Tier.SKIPPED: row.skip & ~barred,
            Tier.BACKUP: row.good & ~row.active & ~barred,
            Tier.MASKED: (row.good | row.skip) & masked & ~target,
            Tier.SAME: target,
            Tier.OLD: row.bad & row.left & ~target,
            Tier.FLOOR: row.bad & ~target,
        }
