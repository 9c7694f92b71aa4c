"""The room's top: packets in, packets with a path out."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import EvEvent
from mrcnic.hdl.descriptor.outwards import Picked, TxDescriptor, TxRequest
from mrcnic.hdl.descriptor.settings import Settings, TableWrite
from mrcnic.hdl.descriptor.sizes import NOW_BITS

from .dispatcher import Dispatcher
from .ev_table import EvTable
from .event_filter import EventFilter
from .loader import Loader
from .retirement import Retirement
from .scheduler import Scheduler

__all__ = ["Sprayer"]


class Sprayer(wiring.Component):
    """Pick a path for each packet, at the last moment (docs/protocol.md, "Sender behaviour").

    The plane is the least served among those whose port is up, whose lane has room and that have
    a GOOD or SKIP EV; within the plane, GOOD EVs take turns. The rules are those of
    :class:`~.plane_picker.PlanePicker` and :class:`~.ev_state.EvState`. A packet waits while no
    lane that it may take has room; at most 4 packets are between their pick and a lane. A QP that
    has no EV on any port that is up sends with the first value of a plane as the table has it, and
    ``tx_no_ev`` counts that: nothing is ever stuck because of a profile.

    One packet in 3 cycles, of one QP too; 6 cycles while news of EVs come all the time. A packet
    reaches its lane 10 to 12 cycles after it was offered. A port that goes down is picked for the
    last time 5 cycles later. News is taken 1 in 3 cycles, and 1 in 4 with packets waiting; an EV
    of which bad news was taken is picked no more after 16 cycles, if no more news waits.

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
    ev_events : ``In(stream.Signature(EvEvent(config)))``
        What was learnt of EVs.
    port_up : ``In(lanes)``
        Ports that are up.
    table : ``In(stream.Signature(TableWrite()))``
        Rows of tables. Not ready while states are cleared.
    settings : ``In(Settings(config))``
        Delays of retirement.
    now : ``In(NOW_BITS)``
        Time, in ticks.
    events : ``Out``
        ``ev_event_stale``: news dropped, because the EV has another value by now, or none.
        ``ev_retired``: an EV has gone out of use. ``ev_returned``: one may be used again.
        ``tx_no_ev``: a packet left with an EV that is not one.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        names = ("ev_event_stale", "ev_retired", "ev_returned", "tx_no_ev")
        super().__init__({
            "i": In(stream.Signature(TxRequest(config))),
            "o": Out(stream.Signature(TxDescriptor(config))).array(config.lanes),
            "picked_valid": Out(1),
            "picked": Out(Picked(config)),
            "ev_events": In(stream.Signature(EvEvent(config))),
            "port_up": In(config.lanes),
            "table": In(stream.Signature(TableWrite())),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "events": Out(data.StructLayout(dict.fromkeys(names, 1))),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        m.submodules.scheduler = scheduler = Scheduler(config)
        m.submodules.dispatcher = dispatcher = Dispatcher(config)
        m.submodules.ev_table = ev_table = EvTable(config)
        m.submodules.filter = news = EventFilter(config)
        m.submodules.retirement = retirement = Retirement(config)
        m.submodules.loader = loader = Loader(config)

        connect(m, flipped(self.i), scheduler.i)
        connect(m, flipped(self.table), loader.table)
        connect(m, flipped(self.ev_events), news.i)
        connect(m, news.o, scheduler.news)
        connect(m, retirement.returns, scheduler.returns)
        connect(m, scheduler.failures, retirement.failures)
        connect(m, loader.start, scheduler.starts)
        connect(m, loader.forget, retirement.forget)
        connect(m, loader.ev_write, ev_table.write)
        m.d.comb += [
            scheduler.enable.eq(loader.idle),
            scheduler.urgent.eq(news.urgent),
            scheduler.room.eq(retirement.room),
            scheduler.profile.eq(loader.profile),
            scheduler.port_up.eq(self.port_up),
            loader.started.eq(scheduler.started),
            loader.row.eq(ev_table.row),
            ev_table.row_profile.eq(loader.row_profile),
            ev_table.row_plane.eq(loader.row_plane),
            news.peer_write.eq(loader.peer_write),
            dispatcher.peer_write.eq(loader.peer_write),
            dispatcher.placed.eq(scheduler.placed),
            dispatcher.qp.eq(scheduler.placed_qp),
            retirement.settings.eq(self.settings),
            retirement.now.eq(self.now),
        ]
        for n, reader in enumerate((dispatcher, news)):
            m.d.comb += ev_table.profile[n].eq(reader.profile)
            m.d.comb += ev_table.ev_index[n].eq(reader.ev_index)
            m.d.comb += reader.ev.eq(ev_table.ev[n])
        for p in range(config.lanes):
            connect(m, dispatcher.o[p], flipped(self.o[p]))
            m.d.comb += scheduler.lane_ready[p].eq(self.o[p].ready)
            m.d.comb += scheduler.lane_taken[p].eq(self.o[p].valid & self.o[p].ready)

        placed = scheduler.placed
        m.d.comb += self.picked_valid.eq(placed.valid)
        for name in ("qp", "opcode", "psn", "slot", "octets", "fixed"):
            m.d.comb += self.picked[name].eq(placed.request[name])
        m.d.comb += self.picked.ev_index.eq(placed.ev_index)
        m.d.comb += self.picked.plane.eq(placed.plane)

        m.d.sync += [
            self.events.ev_event_stale.eq(news.events.ev_event_stale),
            self.events.ev_retired.eq(scheduler.failures.valid),
            self.events.ev_returned.eq(retirement.returns.valid & retirement.returns.ready),
            self.events.tx_no_ev.eq(placed.valid & placed.none),
        ]
        return m
