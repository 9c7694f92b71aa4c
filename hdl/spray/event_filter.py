"""Which news of EVs to believe."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import EvEvent, EvEventKind
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory

from .link_map import uplink_of
from .links import SITE_BITS, News, OperationKind, PeerWrite, site_of, split_ev

__all__ = ["EventFilter"]

#: News that may wait, and how many may be on their way into the queue.
_QUEUE = 16
_PIPELINE = 4

_KINDS = {
    EvEventKind.SKIP: OperationKind.SKIP,
    EvEventKind.BAD: OperationKind.BAD,
    EvEventKind.ANSWERED: OperationKind.ANSWERED,
    EvEventKind.ANSWERED_MARKED: OperationKind.ANSWERED_MARKED,
    EvEventKind.UNANSWERED: OperationKind.UNANSWERED,
    EvEventKind.DENY: OperationKind.DENY,
    EvEventKind.ALLOW: OperationKind.ALLOW,
}


class EventFilter(wiring.Component):
    """Drop news of EVs that are not, or no longer, what the news says; queue the rest.

    News that carries an EV from the wire counts only if the table has that value at its index:
    the host may have put another path there since. One per cycle passes, in 4 to 6 cycles; a
    queue takes bursts of 12.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(EvEvent(config)))``
        News.
    o : ``Out(stream.Signature(News(config)))``
        News that is true.
    mark, drained : ``In(1)``, ``Out(1)``
        All news that was inside in the cycle of the last ``mark`` has been taken since.
    peer_write, peer : ``In(PeerWrite(config))``, ``In``
        Rows of QPs, for their profiles and paths.
    profile, ev_index, ev : ``Out``, ``Out``, ``In(32)``
        Read port of the EV table; the value comes a cycle later.
    events : ``Out``
        ``ev_event_stale``: dropped.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(EvEvent(config))),
            "o": Out(stream.Signature(News(config))),
            "mark": In(1),
            "drained": Out(1),
            "peer_write": In(PeerWrite(config)),
            "peer": In(index_bits(config.peers)),
            "profile": Out(index_bits(config.profiles)),
            "ev_index": Out(index_bits(config.evs)),
            "ev": In(32),
            "events": Out(data.StructLayout({"ev_event_stale": 1})),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        known = self._known(m)
        shape = News(config)
        m.submodules.queue = queue = SyncFIFOBuffered(width=shape.size, depth=_QUEUE)
        m.d.comb += self.i.ready.eq(queue.level < _QUEUE - _PIPELINE)

        # The profile comes in the first cycle, the table's value in the second.
        stages = [(self.i.valid & self.i.ready, self.i.payload)]
        for n in (1, 2):
            before = stages[-1]
            valid, news = Signal(name=f"valid_{n}"), Signal(EvEvent(config), name=f"news_{n}")
            m.d.sync += [valid.eq(before[0]), news.eq(before[1])]
            stages.append((valid, news))
        whose = Signal(known.shape())
        m.d.sync += whose.eq(known)
        m.d.comb += self.profile.eq(known.profile)
        m.d.comb += self.ev_index.eq(stages[1][1].ev_index)

        valid, news = stages[2]
        plane, local = split_ev(m, config, news.ev_index)
        true = Signal()
        m.d.comb += true.eq((news.ev_index < config.evs) & (~news.echoed | (news.ev == self.ev)))
        m.d.sync += queue.w_en.eq(valid & true)
        m.d.sync += self.events.ev_event_stale.eq(valid & ~true)
        entry = Signal(shape)
        uplink, told_apart = uplink_of(config, self.ev)
        m.d.sync += [
            entry.operation.qp.eq(news.qp),
            entry.operation.plane.eq(plane),
            entry.operation.local.eq(local),
            entry.operation.targeted.eq(1),
            # What the peer tells was not lost.
            entry.lost.eq((news.kind == EvEventKind.BAD) & ~news.echoed),
            entry.path.named.eq(whose.named & told_apart),
            entry.path.uplink.eq(uplink),
            entry.path.site.eq(whose.site),
            entry.path.peer.eq(whose.peer),
        ]
        with m.Switch(news.kind):
            for kind, operation in _KINDS.items():
                with m.Case(kind):
                    m.d.sync += entry.operation.kind.eq(operation)

        m.d.comb += [
            queue.w_data.eq(entry),
            self.o.valid.eq(queue.r_rdy),
            self.o.payload.eq(queue.r_data),
            queue.r_en.eq(self.o.ready),
        ]
        self._drain(m, queue)
        return m

    def _known(self, m):
        """Return what is known of the QP, a cycle after its news."""
        config = self.config
        info = data.StructLayout({
            "profile": index_bits(config.profiles),
            "named": 1,
            "site": SITE_BITS,
            "peer": index_bits(config.peers),
        })
        m.submodules.infos = infos = DeepMemory(info, depth=config.qps)
        named, site = site_of(m, self.peer_write.row)
        m.d.comb += [
            infos.write.valid.eq(self.peer_write.valid),
            infos.write.row.eq(self.peer_write.qp),
            infos.write.data.profile.eq(self.peer_write.row.profile),
            infos.write.data.named.eq(named),
            infos.write.data.site.eq(site),
            infos.write.data.peer.eq(self.peer),
            infos.row[0].eq(self.i.payload.qp),
        ]
        return infos.data[0]

    def _drain(self, m, queue):
        """Count what is ahead of a mark: the queue, and what is on its way into it."""
        coming = Signal(range(_PIPELINE + 1))
        ahead = Signal(range(_QUEUE + 1))
        with m.If(self.mark):
            m.d.sync += [coming.eq(_PIPELINE), self.drained.eq(0)]
        with m.Elif(coming != 0):
            m.d.sync += coming.eq(coming - 1)
            m.d.sync += ahead.eq(queue.level)
        with m.Else():
            m.d.sync += ahead.eq(ahead - ((ahead != 0) & queue.r_rdy & queue.r_en))
            m.d.sync += self.drained.eq(ahead == 0)
