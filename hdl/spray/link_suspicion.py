"""Which links seem dead, by the losses of all queue pairs."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import LINKS, LinkWatch
from mrcnic.hdl.descriptor.settings import Settings
from mrcnic.hdl.descriptor.sizes import NOW_BITS
from mrcnic.hdl.wire.layout import HeaderLayout
from mrcnic.hdl.wire.srv6 import ENTROPY

from .links import SUSPECTS, MaskedLink, News, Operation, join_ev
from .suspect_table import SuspectTable

__all__ = ["LinkSuspicion"]

#: Upper octet of EVs, as everywhere.
_PREFIX = 0xC0


class LinkSuspicion(wiring.Component):
    """Infer dead links from losses (docs/protocol.md, "Links that are inferred").

    A loss speaks against two links of its path: the up-link, which paths of its plane and uplink
    share, and the down-link, which only those to the same last switch share. Each kind has a
    :class:`~.suspect_table.SuspectTable`. If neither link is masked, the loss is passed on. A loss
    that comes when its link is masked, or masks it, is absorbed: the EV is none the worse for it.
    If one loss could mask both links, it is the up-link. A link that begins to be masked is to be
    watched, until it is cleared.

    All else passes at once, a loss in 3 cycles, and so does everything without
    ``settings.link_inference``; without it, all is forgotten.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(News(config)))``
        What was learnt of EVs.
    o : ``Out(stream.Signature(Operation(config)))``
        What is to be done about it.
    settings : ``In(Settings(config))``
    now : ``In(NOW_BITS)``
    watch : ``Out(stream.Signature(LinkWatch(config)))``
        Links that are masked from now on.
    cleared : ``In(stream.Signature(range(LINKS)))``
        Links that work again. Always ready.
    links : ``Out(MaskedLink(config)).array(LINKS)``
        Links, by their numbers.
    begins, begins_link : ``Out(1)``, ``Out(range(LINKS))``
        A link is masked since the last cycle.
    ends : ``Out(1)``
        Some are no longer.
    events : ``Out``
        ``link_suspected``: a loss was counted. ``link_loss_absorbed``: a loss on a masked link.
        ``link_masked``, ``link_cleared``. ``link_suspects_full``: a loss on a link for which there
        was no room.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        names = ("suspected", "loss_absorbed", "masked", "cleared", "suspects_full")
        super().__init__({
            "i": In(stream.Signature(News(config))),
            "o": Out(stream.Signature(Operation(config))),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "watch": Out(stream.Signature(LinkWatch(config))),
            "cleared": In(stream.Signature(range(LINKS))),
            "links": Out(MaskedLink(config)).array(LINKS),
            "begins": Out(1),
            "begins_link": Out(range(LINKS)),
            "ends": Out(1),
            "events": Out(data.StructLayout({f"link_{name}": 1 for name in names})),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.up = up = SuspectTable(self.config, single=False)
        m.submodules.down = down = SuspectTable(self.config, single=True)
        enable = Signal()
        ages = self._age(m)
        m.d.sync += enable.eq(self.settings.link_inference)
        news, judges = self.i.payload, Signal()
        absorbed = Signal()
        concerns = Signal()
        m.d.comb += concerns.eq(enable & news.lost & news.path.named)
        for n, table in enumerate((up, down)):
            m.d.comb += [
                table.enable.eq(enable),
                table.threshold.eq(self.settings.link_threshold),
                table.ages.eq(ages),
                table.i.eq(news),
                table.clear.eq(self.cleared.valid & (self.cleared.payload // SUSPECTS == n)),
                table.clear_place.eq(self.cleared.payload % SUSPECTS),
            ]
            for place, link in enumerate(table.links):
                m.d.comb += self.links[n * SUSPECTS + place].eq(link)

        with m.FSM() as fsm:
            with m.State("PASS"), m.If(self.i.valid & concerns & ~self.watch.valid):
                m.next = "JUDGE"
            with m.State("JUDGE"):
                m.d.sync += absorbed.eq(up.masked | down.masked)
                m.next = "END"
            with m.State("END"), m.If(absorbed | self.o.ready):
                m.next = "PASS"
        passes, ends = fsm.ongoing("PASS"), fsm.ongoing("END")
        m.d.comb += [
            judges.eq(fsm.ongoing("JUDGE")),
            self.o.payload.eq(news.operation),
            self.o.valid.eq(self.i.valid & Mux(passes, ~concerns, ends & ~absorbed)),
            self.i.ready.eq(
                Mux(passes, ~concerns & self.o.ready, ends & (absorbed | self.o.ready))
            ),
            self.cleared.ready.eq(1),
        ]
        tells = passes & self.i.valid & concerns & ~self.watch.valid
        m.d.comb += [up.valid.eq(tells), down.valid.eq(tells)]
        m.d.comb += [up.counts.eq(judges), down.counts.eq(judges & ~up.begins)]
        self._tell(m, up, down, judges, enable)
        return m

    def _age(self, m):
        """Return whether ``link_window`` ticks have passed again."""
        last, left = Signal(NOW_BITS), Signal(NOW_BITS)
        ages = Signal()
        m.d.sync += [last.eq(self.now), ages.eq(0)]
        with m.If(self.now != last):
            m.d.sync += left.eq(left - 1)
            with m.If(left == 0):
                m.d.sync += [left.eq(self.settings.link_window), ages.eq(1)]
        return ages

    def _tell(self, m, up, down, judges, enable):
        news, watch = self.i.payload, self.watch.payload
        begins = up.begins | down.begins
        ev = Signal(HeaderLayout(ENTROPY))
        link = Signal(range(LINKS))
        m.d.comb += [
            ev.prefix.eq(_PREFIX),
            ev.index.eq(join_ev(m, self.config, news.operation.plane, news.operation.local)),
            ev.plane.eq(news.operation.plane),
            ev.uplink.eq(news.path.uplink),
            link.eq(Mux(up.begins, up.place, SUSPECTS + down.place)),
        ]
        with m.If(self.watch.ready):
            m.d.sync += self.watch.valid.eq(0)
        was_enabled = Signal()
        m.d.sync += [
            was_enabled.eq(enable),
            self.begins.eq(judges & begins),
            self.begins_link.eq(link),
            self.ends.eq(self.cleared.valid | (was_enabled & ~enable)),
        ]
        with m.If(judges & begins):
            m.d.sync += [
                self.watch.valid.eq(1),
                watch.link.eq(link),
                watch.peer.eq(news.path.peer),
                watch.plane.eq(news.operation.plane),
                watch.ev.eq(ev),
            ]
        masked = Cat(link.masked for link in self.links)
        m.d.sync += [
            self.events.link_suspected.eq(judges),
            self.events.link_loss_absorbed.eq(judges & (up.masked | down.masked)),
            self.events.link_masked.eq(judges & begins),
            self.events.link_cleared.eq(
                self.cleared.valid & (masked & (Const(1, LINKS) << self.cleared.payload)).any()
            ),
            self.events.link_suspects_full.eq(judges & (up.full | down.full)),
        ]
