"""Links that seem dead, and the EVs that take them."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import LINKS, LinkWatch
from mrcnic.hdl.descriptor.settings import Settings
from mrcnic.hdl.descriptor.sizes import NOW_BITS, index_bits

from .link_map import LinkMap, Written
from .link_masker import LinkMasker
from .link_suspicion import LinkSuspicion
from .links import MaskedEvs, News, Operation, PeerWrite

__all__ = ["LinkInference"]


class LinkInference(wiring.Component):
    """Infer dead links from losses, and say which EVs of a QP take them.

    :class:`~.link_suspicion.LinkSuspicion` judges losses, :class:`~.link_map.LinkMap` knows which
    EVs take an uplink, and :class:`~.link_masker.LinkMasker` brings both together. From the loss
    that masks a link until no QP picks its EVs any more it takes ``qps + 11`` cycles.

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
        Links that work again.
    peer_write : ``In(PeerWrite(config))``
        Rows of QPs.
    written, busy : ``In(Written(config))``, ``Out(1)``
        Rows of EVs; none may come.
    valid_profile, valid : ``Out``, ``In(evs_per_plane).array(lanes)``
        Whose EVs to read; which there are, a cycle later.
    qp, masked : ``In``, ``Out(MaskedEvs(config)).array(lanes)``
        Whose EVs to read; a cycle later: those that take masked links.
    events : ``Out``
        As in :class:`~.link_suspicion.LinkSuspicion`.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        self._suspicion = LinkSuspicion(config)
        super().__init__({
            "i": In(stream.Signature(News(config))),
            "o": Out(stream.Signature(Operation(config))),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "watch": Out(stream.Signature(LinkWatch(config))),
            "cleared": In(stream.Signature(range(LINKS))),
            "peer_write": In(PeerWrite(config)),
            "written": In(Written(config)),
            "busy": Out(1),
            "valid_profile": Out(index_bits(config.profiles)),
            "valid": In(config.evs_per_plane).array(config.lanes),
            "qp": In(index_bits(config.qps)),
            "masked": Out(MaskedEvs(config)).array(config.lanes),
            "events": Out(self._suspicion.events.shape()),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.suspicion = suspicion = self._suspicion
        m.submodules.map = link_map = LinkMap(self.config)
        m.submodules.masker = masker = LinkMasker(self.config)
        connect(m, flipped(self.i), suspicion.i)
        connect(m, suspicion.o, flipped(self.o))
        connect(m, suspicion.watch, flipped(self.watch))
        connect(m, flipped(self.cleared), suspicion.cleared)
        was_busy = Signal()
        m.d.sync += was_busy.eq(link_map.busy)
        m.d.comb += [
            suspicion.settings.eq(self.settings),
            suspicion.now.eq(self.now),
            self.events.eq(suspicion.events),
            link_map.write.eq(self.written),
            self.busy.eq(link_map.busy),
            link_map.profile.eq(masker.profile),
            link_map.uplink.eq(masker.uplink),
            self.valid_profile.eq(masker.profile),
            masker.peer_write.eq(self.peer_write),
            masker.begins.eq(suspicion.begins),
            masker.begins_link.eq(suspicion.begins_link),
            masker.changes.eq(suspicion.ends | self.peer_write.valid | (was_busy & ~link_map.busy)),
            masker.qp.eq(self.qp),
        ]
        for ours, theirs in zip(suspicion.links, masker.links, strict=True):
            m.d.comb += theirs.eq(ours)
        for p in range(self.config.lanes):
            m.d.comb += [
                masker.evs[p].eq(link_map.evs[p]),
                masker.valid[p].eq(self.valid[p]),
                self.masked[p].eq(masker.masked[p]),
            ]

        return m
