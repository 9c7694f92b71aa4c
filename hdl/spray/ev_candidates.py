"""Which EVs come into question."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig

from .ev_row import EvCase, EvRow, Tier
from .ev_search import group_count, grouped
from .links import OperationKind

__all__ = ["EvCandidates"]


class EvCandidates(wiring.Component):
    """Find the best tier that has an EV, and prepare the search in it.

    Outputs come one cycle after the inputs. ``any`` over a whole mask is all that is done to the
    row in that cycle; the masks themselves are made anew from the row in the next.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    kind : ``In(OperationKind)``
        Operation. Of those that are no PICK only BAD needs an EV: a backup.
    row : ``In(EvRow(config))``
        States.
    target : ``In(evs_per_plane)``
        EV that the operation is about, as a mask.
    case : ``Out(EvCase(config))``
        What was found.
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
            "kind": In(OperationKind),
            "row": In(EvRow(config)),
            "target": In(evs),
            "case": Out(EvCase(config)),
            "mask": Out(evs),
            "mask_groups": Out(self.groups),
            "skip": Out(evs),
            "skip_groups": Out(self.groups),
        })

    def elaborate(self, platform):
        m = Module()
        row, target, case = self.row, self.target, self.case

        picks = Signal()
        m.d.comb += picks.eq(self.kind == OperationKind.PICK)
        masks = {}
        for tier, evs in self._masks(row, Mux(picks, target, 0), target).items():
            masks[tier] = Signal(len(target), name=f"evs_{tier.name.lower()}")
            m.d.comb += masks[tier].eq(evs)

        # The best tier, and which groups have EVs of each.
        hit_usable = ((row.good | row.skip) & target).any()
        hit_bad = (row.bad & target).any()
        m.d.sync += case.tier.eq(self._tier(m, picks, masks, hit_usable, hit_bad))
        m.d.sync += [
            case.row.eq(row),
            case.target.eq(target),
            case.hit_good.eq((row.good & row.active & target).any()),
            case.hit_usable.eq(hit_usable),
            case.hit_bad.eq(hit_bad),
            case.hit_active.eq((row.active & target).any()),
        ]
        groups = {}
        for tier, evs in masks.items():
            groups[tier] = Signal(self.groups, name=f"groups_{tier.name.lower()}")
            m.d.sync += groups[tier].eq(grouped(evs, self.groups))
        skip = Signal(len(target))
        m.d.comb += skip.eq(row.left & row.skip)
        m.d.sync += self.skip_groups.eq(grouped(skip, self.groups))

        # A cycle later: those of the tier.
        picked = Signal()
        m.d.sync += picked.eq(picks)
        m.d.comb += self.skip.eq(case.row.left & case.row.skip)
        with m.Switch(case.tier):
            for tier, evs in self._masks(
                case.row, Mux(picked, case.target, 0), case.target
            ).items():
                with m.Case(tier):
                    m.d.comb += self.mask.eq(evs)
                    m.d.comb += self.mask_groups.eq(groups[tier])

        return m

    @staticmethod
    def _masks(row, excluded, target):
        """Return the EVs of each tier."""
        return {
            Tier.LEFT: row.left & row.good & ~excluded,
            Tier.FRESH: row.active & row.good & ~excluded,
            Tier.SKIPPED: row.skip & ~excluded,
            Tier.BACKUP: row.good & ~row.active & ~excluded,
            Tier.SAME: target,
            Tier.FLOOR: row.bad & ~excluded,
            Tier.NONE: Const(1, len(target)),
        }

    @staticmethod
    def _tier(m, picks, masks, hit_usable, hit_bad):
        best = Signal(Tier, init=Tier.NONE)
        # The later of these assignments wins.
        order = (
            (Tier.SAME, hit_bad),
            (Tier.FLOOR, masks[Tier.FLOOR].any()),
            (Tier.SAME, hit_usable),
            *(
                (tier, masks[tier].any())
                for tier in (Tier.BACKUP, Tier.SKIPPED, Tier.FRESH, Tier.LEFT)
            ),
        )
        for tier, there in order:
            with m.If(there & (picks if tier != Tier.BACKUP else 1)):
                m.d.comb += best.eq(tier)
        return best
