"""Which EVs come into question."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig

from .ev_row import TIERS, EvCase, EvRow, Hits, Tier
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
    tier : ``Out(TIERS)``
        The best that has an EV, a bit for each :class:`~.ev_row.Tier`; none, if none has.
    mask, skip : ``Out(evs_per_plane)``
        EVs of the tier; SKIP EVs whose turn is to come.
    mask_groups, skip_groups : ``Out(groups).array(TIERS)``, ``Out(groups)``
        Groups of these by :func:`~.ev_search.grouped`, the former of every tier.
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
            "tier": Out(TIERS),
            "mask": Out(evs),
            "mask_groups": Out(self.groups).array(TIERS),
            "skip": Out(evs),
            "skip_groups": Out(self.groups),
        })

    def elaborate(self, platform):
        m = Module()
        row, target, case = self.row, self.target, self.case
        masked = self.masked

        # In which groups are EVs of each tier, and are there any at all?
        some = {}
        for tier, evs in self._masks(row, target, masked).items():
            mask = Signal(len(target), name=f"evs_{tier.name.lower()}")
            some[tier] = Signal(name=f"some_{tier.name.lower()}")
            m.d.comb += mask.eq(evs)
            m.d.sync += self.mask_groups[tier.value].eq(grouped(mask, self.groups))
            m.d.sync += some[tier].eq(mask.any())
        waiting = Signal(len(target))
        m.d.comb += waiting.eq(row.left & row.skip)
        m.d.sync += self.skip_groups.eq(grouped(waiting, self.groups))
        m.d.sync += [case.row.eq(row), case.target.eq(target), case.waiting.eq(waiting.any())]
        m.d.sync += [case.masked.eq(masked), case.masks.eq((masked & target).any())]
        for name, _ in Hits():
            m.d.sync += case.hits[name].eq((row[name] & target).any())
        m.d.sync += [
            case.short.eq(row.in_use < row.places),
            case.full.eq(row.in_use <= row.places),
            case.low.eq(row.ready < row.least),
            case.lower.eq(row.ready <= row.least),
        ]
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
        there = Cat(condition & (picks | (tier == Tier.BACKUP)) for tier, condition in order)
        asked, best = Signal(len(order)), Signal(len(order))
        m.d.comb += asked.eq(there)
        for n in range(len(order)):
            m.d.comb += best[n].eq(asked[n] & ~asked[:n].any() if n else asked[n])
        masks = self._masks(case.row, case.target, case.masked)
        wanted = []
        for tier, evs in masks.items():
            is_tier = self.tier[tier.value]
            m.d.comb += is_tier.eq(
                Cat(best[n] for n, (t, _) in enumerate(order) if t == tier).any()
            )
            wanted.append(Mux(is_tier, evs, 0))
        for n in range(len(self.mask)):
            m.d.comb += self.mask[n].eq(Cat(evs[n] for evs in wanted).any())

        return m

    @staticmethod
    def _masks(row, target, masked):
        """Return the EVs of each tier."""
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
