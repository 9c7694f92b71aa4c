"""The room's top: packets in, packets with a path out."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import (
    LINKS,
    EvEvent,
    EvWatch,
    LinkWatch,
    RemoteMask,
    RestRequest,
)
from mrcnic.hdl.descriptor.outwards import Picked, TxDescriptor, TxRequest
from mrcnic.hdl.descriptor.paths import EvAnswer, EvNews, EvQuery
from mrcnic.hdl.descriptor.settings import Settings, TableWrite
from mrcnic.hdl.descriptor.sizes import NOW_BITS
from mrcnic.hdl.packet.stream_arbiter import StreamArbiter

from .dispatcher import Dispatcher
from .ev_table import EvTable
from .event_filter import EventFilter
from .link_inference import LinkInference
from .links import Operation
from .loader import Loader
from .plane_watch import PlaneWatch
from .reporter import Reporter
from .scheduler import Scheduler
from .watch_queue import WatchQueue

__all__ = ["Sprayer"]


class Sprayer(wiring.Component):
    """Pick a path for each packet, at the last moment (docs/protocol.md, "Sender behaviour").

    The plane is the least served among those whose port is up, that the peer can receive in, whose
    lane has room and that have a GOOD or SKIP EV; within the plane, GOOD EVs take turns. The rules
    are those of :class:`~.plane_picker.PlanePicker` and :class:`~.ev_state.EvState`. A packet waits
    while no lane that it may take has room; at most 4 packets are between their pick and a lane.
    A QP that has no EV on any port that is up sends with the first value of a plane as the table
    has it, and ``tx_no_ev`` counts that: nothing is ever stuck because of a profile.

    One packet per cycle, of one QP one in 3 cycles; 6 cycles while news of EVs come all the time.
    A packet reaches its lane 8 cycles after it was offered. A port that goes down is picked for the
    last time 3 cycles later. News is taken 1 in 3 cycles, of the same QP as packets 1 in 6; an EV
    of which bad news was taken is picked no more after 10 cycles, if no more news waits.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(TxRequest(config)))``
        Packets.
    o : ``Out(stream.Signature(TxDescriptor(config))).array(lanes)``
        Packets for each lane. A lane is ready if it has room for a packet of any length, and then
        stays so until it gets one.
    picked_valid, picked : ``Out(1)``, ``Out(Picked(config))``
        Paths picked, each for a cycle.
    ev_events, host_events : ``In(stream.Signature(EvEvent(config)))``
        What was learnt of EVs; what the host wants of them.
    watch : ``Out(stream.Signature(EvWatch(config)))``
        EVs that have become ASSUMED_BAD, for those who probe them.
    link_watch : ``Out(stream.Signature(LinkWatch(config)))``
        Links that are masked, for those who probe them.
    link_cleared : ``In(stream.Signature(range(LINKS)))``
        Links that work again. Always ready.
    rests : ``Out(stream.Signature(RestRequest(config)))``
        Planes that are to rest for a remote NIC; whoever hears of it leaves them out of
        ``remote_mask``.
    settings : ``In(Settings(config))``
    now : ``In(NOW_BITS)``
    remote_mask : ``In(stream.Signature(RemoteMask(config)))``
        Planes in which a peer can receive; all, as long as nothing was said. Always ready.
    news : ``Out(stream.Signature(EvNews(config)))``
        EVs that have changed their states; dropped and counted if nobody reads.
    query, answer : ``In(stream.Signature(EvQuery(config)))``, ``Out(stream.Signature(EvAnswer()))``
        The host asks for the state of an EV; the answer stays until it was read.
    port_up : ``In(lanes)``
        Ports that are up.
    table : ``In(stream.Signature(TableWrite()))``
        Rows of tables. Not ready while states are cleared, and while QPs get to know of a row.
    events : ``Out``
        ``ev_event_stale``: news dropped, because the EV has another value by now, or none.
        ``ev_marked``: an EV is to be passed over once. ``ev_restored``: it was. ``ev_retired``: an
        EV has gone out of use. ``ev_returned``: one may be used again. ``ev_denied``,
        ``ev_allowed``: the host has taken one out of use, or given it back. ``ev_news_dropped``:
        nobody has read what was told. ``tx_no_ev``: a packet left with an
        EV that is not one. ``tx_fixed_dropped``: a packet whose path is fixed was dropped, because
        that lane had no room for long. Of links: as in
        :class:`~.link_suspicion.LinkSuspicion`.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        names = (
            "ev_event_stale", "ev_marked", "ev_restored", "ev_retired", "ev_returned", "ev_denied",
            "ev_allowed", "ev_news_dropped", "tx_no_ev", "tx_fixed_dropped",
        )  # fmt: skip
        self._inference = LinkInference(config)
        names += tuple(name for name, _ in self._inference.events.shape())
        super().__init__({
            "i": In(stream.Signature(TxRequest(config))),
            "o": Out(stream.Signature(TxDescriptor(config))).array(config.lanes),
            "picked_valid": Out(1),
            "picked": Out(Picked(config)),
            "ev_events": In(stream.Signature(EvEvent(config))),
            "host_events": In(stream.Signature(EvEvent(config))),
            "watch": Out(stream.Signature(EvWatch(config))),
            "link_watch": Out(stream.Signature(LinkWatch(config))),
            "link_cleared": In(stream.Signature(range(LINKS))),
            "rests": Out(stream.Signature(RestRequest(config))),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "remote_mask": In(stream.Signature(RemoteMask(config))),
            "news": Out(stream.Signature(EvNews(config))),
            "query": In(stream.Signature(EvQuery(config))),
            "answer": Out(stream.Signature(EvAnswer())),
            "port_up": In(config.lanes),
            "table": In(stream.Signature(TableWrite())),
            "events": Out(data.StructLayout(dict.fromkeys(names, 1))),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        m.submodules.scheduler = scheduler = Scheduler(config)
        m.submodules.dispatcher = dispatcher = Dispatcher(config)
        m.submodules.ev_table = ev_table = EvTable(config)
        m.submodules.filter = truth = EventFilter(config)
        m.submodules.loader = loader = Loader(config)
        m.submodules.reporter = reporter = Reporter(config)
        m.submodules.inference = inference = self._inference
        m.submodules.plane_watch = plane_watch = PlaneWatch(config)
        m.submodules.watch_queue = watched = WatchQueue(EvWatch(config))
        m.submodules.events = heard = StreamArbiter(EvEvent(config), inputs=2)

        connect(m, flipped(self.i), scheduler.i)
        connect(m, flipped(self.remote_mask), scheduler.remote_mask)
        connect(m, flipped(self.table), loader.table)
        connect(m, loader.ev_write, ev_table.write)
        connect(m, flipped(self.ev_events), heard.i[0])
        connect(m, flipped(self.host_events), heard.i[1])
        connect(m, heard.o, truth.i)
        connect(m, truth.o, inference.i)
        connect(m, inference.watch, flipped(self.link_watch))
        connect(m, flipped(self.link_cleared), inference.cleared)
        connect(m, watched.o, flipped(self.watch))
        connect(m, plane_watch.rests, flipped(self.rests))
        connect(m, reporter.news, flipped(self.news))
        connect(m, flipped(self.query), reporter.query)
        connect(m, reporter.answer, flipped(self.answer))

        self._operate(m, inference, loader, reporter, watched, scheduler)
        self._infer(m, inference, plane_watch, loader, ev_table, scheduler)
        m.d.comb += [
            scheduler.enable.eq(loader.idle),
            scheduler.peer_valid.eq(loader.peer_write.valid),
            scheduler.peer_qp.eq(loader.peer_write.qp),
            scheduler.peer.eq(loader.peer),
            scheduler.port_up.eq(self.port_up),
            loader.started.eq(scheduler.started),
            loader.was_active.eq(ev_table.was_active),
            loader.drained.eq(truth.drained),
            truth.mark.eq(loader.mark),
            ev_table.row_profile.eq(loader.row_profile),
            truth.peer_write.eq(loader.peer_write),
            truth.peer.eq(loader.peer),
            dispatcher.peer_write.eq(loader.peer_write),
            dispatcher.placed.eq(scheduler.placed),
            dispatcher.qp.eq(scheduler.placed_qp),
            reporter.outcome.eq(scheduler.outcome),
            watched.valid.eq(reporter.failed),
            watched.i.qp.eq(reporter.failure.qp),
            watched.i.ev_index.eq(reporter.failure.ev_index),
        ]
        for n, reader in enumerate((dispatcher, truth)):
            m.d.comb += ev_table.profile[n].eq(reader.profile)
            m.d.comb += ev_table.ev_index[n].eq(reader.ev_index)
            m.d.comb += reader.ev.eq(ev_table.ev[n])
        for p in range(config.lanes):
            connect(m, dispatcher.o[p], flipped(self.o[p]))
            m.d.comb += scheduler.lane_ready[p].eq(self.o[p].ready)
            m.d.comb += scheduler.lane_taken[p].eq(self.o[p].valid & self.o[p].ready)
            m.d.comb += loader.row[p].eq(ev_table.row[p])
            m.d.comb += scheduler.profile[p].eq(loader.profile[p])

        self._tell(m, scheduler, truth, (reporter, inference))
        return m

    def _operate(self, m, inference, loader, reporter, watched, scheduler):
        """Bring together all that is done to EV states."""
        # Bad news waits until what becomes of it can be told.
        m.submodules.others = others = StreamArbiter(Operation(self.config), inputs=3)
        news, starts, asks = others.i
        m.d.comb += [
            news.payload.eq(inference.o.payload),
            news.valid.eq(inference.o.valid & watched.room),
            inference.o.ready.eq(news.ready & watched.room),
        ]
        connect(m, loader.start, starts)
        connect(m, reporter.asks, asks)
        connect(m, others.o, scheduler.others)

    def _infer(self, m, inference, plane_watch, loader, ev_table, scheduler):
        """Let links and planes be watched."""
        m.d.comb += [
            inference.settings.eq(self.settings),
            inference.now.eq(self.now),
            inference.peer_write.eq(loader.peer_write),
            inference.written.eq(ev_table.written),
            inference.qp.eq(scheduler.qp),
            ev_table.hold.eq(inference.busy),
            ev_table.valid_profile.eq(inference.valid_profile),
            plane_watch.outcome.eq(scheduler.outcome),
            plane_watch.settings.eq(self.settings),
            plane_watch.now.eq(self.now),
            plane_watch.peer_valid.eq(loader.peer_write.valid),
            plane_watch.peer_qp.eq(loader.peer_write.qp),
            plane_watch.peer.eq(loader.peer),
        ]
        for p in range(self.config.lanes):
            m.d.comb += scheduler.masked[p].eq(inference.masked[p])
            m.d.comb += inference.valid[p].eq(ev_table.valid[p])

    def _tell(self, m, scheduler, truth, counting):
        """Tell what was picked, and what has happened."""
        placed = scheduler.placed
        m.d.comb += self.picked_valid.eq(placed.valid)
        for name in ("qp", "opcode", "psn", "slot", "octets", "fixed"):
            m.d.comb += self.picked[name].eq(placed.request[name])
        m.d.comb += self.picked.ev_index.eq(placed.ev_index)
        m.d.comb += self.picked.plane.eq(placed.plane)

        for part in counting:
            m.d.comb += [self.events[name].eq(part.events[name]) for name, _ in part.events.shape()]
        m.d.sync += [
            self.events.ev_event_stale.eq(truth.events.ev_event_stale),
            self.events.ev_restored.eq(scheduler.restored),
            self.events.tx_no_ev.eq(placed.valid & placed.none),
            self.events.tx_fixed_dropped.eq(scheduler.dropped),
        ]
