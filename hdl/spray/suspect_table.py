"""Links on which packets were lost."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import index_bits

from .links import SUSPECTS, MaskedLink, News

__all__ = ["SuspectTable"]

_COUNT_BITS = 3


class SuspectTable(wiring.Component):
    """Count losses per link, and mask a link on which there were enough.

    An entry is a link: a plane and an uplink and, with ``single``, the last switch of the path.
    Otherwise it is shared by paths to all last switches, and is masked only after losses towards
    two of them. Two losses in a row of the same EV of a QP count once. Losses are forgotten at the
    second ``ages`` after the last one, and when the link is cleared. If all entries are masked,
    losses on other links are not counted; otherwise a new link takes the place of one that is not.

    A loss is judged one cycle after it was told, and the next may be told in the cycle after that.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    single : :class:`bool`
        Last switches are told apart.

    Members
    -------
    enable : ``In(1)``
        Without it, all is forgotten.
    threshold : ``In(3)``
        Losses at which a link is masked.
    ages : ``In(1)``
        Time goes on.
    valid, i : ``In(1)``, ``In(News(config))``
        A loss.
    counts : ``In(1)``
        A cycle later: it is to be counted.
    masked, begins, place : ``Out(1)``, ``Out(1)``, ``Out(range(SUSPECTS))``
        Then: its link is masked if it counts; only since then; its entry.
    full : ``Out(1)``
        Then: there is no entry for it.
    clear, clear_place : ``In(1)``, ``In(range(SUSPECTS))``
        A link works again.
    links : ``Out(MaskedLink(config)).array(SUSPECTS)``
        All entries.
    """

    def __init__(self, config: NicConfig, *, single: bool):
        self.config = config
        self.single = bool(single)
        super().__init__({
            "enable": In(1),
            "threshold": In(_COUNT_BITS),
            "ages": In(1),
            "valid": In(1),
            "i": In(News(config)),
            "counts": In(1),
            "masked": Out(1),
            "begins": Out(1),
            "place": Out(range(SUSPECTS)),
            "full": Out(1),
            "clear": In(1),
            "clear_place": In(range(SUSPECTS)),
            "links": Out(MaskedLink(config)).array(SUSPECTS),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        news = Signal(News(config))
        valid = Signal()
        m.d.sync += [news.eq(self.i), valid.eq(self.valid)]
        entry_shape = data.StructLayout({
            "valid": 1,
            "old": 1,
            "several": 1,  # towards two last switches at least
            "count": _COUNT_BITS,
            "qp": index_bits(config.qps),
            "local": index_bits(config.evs_per_plane),
        })
        hits, vacant, spare, reaches = (
            Signal(SUSPECTS, name=name) for name in ("hits", "vacant", "spare", "reaches")
        )
        masked = Cat(link.masked for link in self.links)
        take = Signal(SUSPECTS)
        free = Signal(SUSPECTS)
        m.d.comb += free.eq(Mux(vacant.any(), vacant & -vacant, spare & -spare))
        m.d.comb += take.eq(Mux(hits.any(), hits, free))
        begins = Signal(SUSPECTS)
        alone = (self.threshold <= 1) & self.single  # a single loss is enough
        m.d.comb += begins.eq(Mux(hits.any(), hits & reaches & ~masked, Mux(alone, free, 0)))
        m.d.comb += [
            self.masked.eq(valid & ((hits & masked).any() | begins.any())),
            self.begins.eq(valid & begins.any()),
            self.full.eq(valid & ~take.any()),
            self.place.eq(reduce(or_, (Mux(take[n], n, 0) for n in range(SUSPECTS)))),
        ]
        for n, link in enumerate(self.links):
            entry = Signal(entry_shape, name=f"entry_{n}")
            self._look(m, entry, link, hits[n], vacant[n], spare[n], reaches[n])
            with m.If(self.ages & entry.valid & ~link.masked):
                m.d.sync += [entry.old.eq(1), entry.valid.eq(~entry.old)]
            with m.If(valid & self.counts & take[n]):
                m.d.sync += link.masked.eq(link.masked | begins[n])
                self._count(m, news, entry, link, hits[n])
            with m.If((self.clear & (self.clear_place == n)) | ~self.enable):
                m.d.sync += [entry.valid.eq(0), link.masked.eq(0)]

        return m

    def _look(self, m, entry, link, hit, vacant, spare, reaches):
        """Compare a loss that is told with an entry, for the next cycle."""
        path, operation = self.i.path, self.i.operation
        same = (link.plane == operation.plane) & (link.uplink == path.uplink)
        other_site = link.site != path.site
        if self.single:
            same &= ~other_site
        again = (entry.qp == operation.qp) & (entry.local == operation.local)
        count = Signal.like(entry.count, name=f"{entry.as_value().name}_next")
        m.d.comb += count.eq(entry.count + (~again & ~entry.count.all()))
        m.d.sync += [
            hit.eq(entry.valid & same),
            vacant.eq(~entry.valid),
            spare.eq(~link.masked),
            reaches.eq(
                (count >= self.threshold) & (1 if self.single else entry.several | other_site)
            ),
        ]

    def _count(self, m, news, entry, link, hit):
        operation, path = news.operation, news.path
        again = (entry.qp == operation.qp) & (entry.local == operation.local)
        m.d.sync += [
            entry.valid.eq(1),
            entry.old.eq(0),
            entry.qp.eq(operation.qp),
            entry.local.eq(operation.local),
        ]
        with m.If(hit):
            m.d.sync += [
                entry.count.eq(entry.count + (~again & ~entry.count.all())),
                entry.several.eq(entry.several | (link.site != path.site)),
            ]
        with m.Else():
            m.d.sync += [
                entry.count.eq(1),
                entry.several.eq(0),
                link.plane.eq(operation.plane),
                link.uplink.eq(path.uplink),
                link.site.eq(path.site),
                link.single.eq(int(self.single)),
            ]
