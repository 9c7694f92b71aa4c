"""The room: paths, ports and remote NICs, and what is known of them."""

from amaranth.hdl import Module, Mux
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.inwards import RxEndpoint
from mrcnic.hdl.descriptor.outcome import (
    LINKS,
    EvEvent,
    EvProbeResult,
    EvWatch,
    LinkWatch,
    ProbeAnswer,
    RemoteMask,
    RestRequest,
)
from mrcnic.hdl.descriptor.outwards import EvProbeRequest, TxDescriptor, TxRequest
from mrcnic.hdl.descriptor.settings import Settings, TableWrite
from mrcnic.hdl.descriptor.sizes import NOW_BITS
from mrcnic.hdl.packet.stream_arbiter import StreamArbiter
from mrcnic.hdl.packet.stream_relay import StreamRelay
from mrcnic.hdl.rows import Table

from .endpoint_desk import EndpointDesk
from .endpoint_sender import EndpointSender
from .ev_prober import EvProber
from .links import EndpointSend, Operation, ProbeWatch
from .loop_prober import LoopProber
from .peer_finder import PeerFinder
from .plane_rest import PlaneRest
from .port_status import PortStatus
from .prober import PathProber
from .recovery_prober import RecoveryProber

__all__ = ["PathHealth"]


class PathHealth(wiring.Component):
    """Find out which paths work: by probes of EVs and ports, and by what remote NICs tell.

    Everything but the ports' own signs, of which each port has a
    :class:`~.port_monitor.PortMonitor`. A request of a remote NIC is answered, in a lane, at most
    ``peers + 16`` cycles after it was taken, if no other endpoint packet is before it and lanes
    are ready.

    Rows of QPs and remote NICs are taken after the next room but one has taken them: see
    :class:`~.prober.PathProber`.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    watch, answers, probes, ev_events
        EVs that went out of use, answers to probes of them, those probes, and what they show: as in
        :class:`~.prober.PathProber`.
    endpoints : ``In(stream.Signature(RxEndpoint(config))).array(lanes)``
        Endpoint packets that came in.
    o : ``Out(stream.Signature(TxDescriptor(config))).array(lanes)``
        Endpoint packets for the lanes. Those to the NIC itself leave by ports that are ``open``
        and not yet up.
    remote_masks : ``Out(stream.Signature(RemoteMask(config)))``
        Ports of remote NICs that work, whenever that changes.
    probe_request, probe_result : streams of ``EvProbeRequest`` and ``EvProbeResult``
        Paths that the host wants to be probed, and what came of it.
    link_watch, link_cleared : streams of ``LinkWatch`` and ``range(LINKS)``
        Links that are masked, and those that work.
    rests : ``In(stream.Signature(RestRequest(config)))``
        Planes that are to rest; they are left out of ``remote_masks``.
    table : ``In(stream.Signature(TableWrite()))``
        Rows.
    settings : ``In(Settings(config))``
    now : ``In(NOW_BITS)``
    port_up, port_open : ``In(lanes)``
        From the port monitors.
    port_proven : ``Out(lanes)``
        To the port monitors.
    events : ``Out``
        What the parts count; ``loop_probe_lost_<p>`` by port.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        self._prober = PathProber(config)
        self._desk = EndpointDesk(config)
        self._status = PortStatus(config)
        self._ev_prober = EvProber(config)
        self._recovery = RecoveryProber(config)
        self._rest = PlaneRest(config)
        self._counting = (
            self._prober, self._desk, self._status, self._ev_prober, self._recovery, self._rest
        )  # fmt: skip
        names = [name for part in self._counting for name, _ in part.events.shape()]
        names += [f"loop_probe_lost_{p}" for p in range(config.lanes)]
        super().__init__({
            "watch": In(stream.Signature(EvWatch(config))),
            "answers": In(stream.Signature(ProbeAnswer(config))),
            "probes": Out(stream.Signature(TxRequest(config))),
            "ev_events": Out(stream.Signature(EvEvent(config))),
            "endpoints": In(stream.Signature(RxEndpoint(config))).array(config.lanes),
            "o": Out(stream.Signature(TxDescriptor(config))).array(config.lanes),
            "remote_masks": Out(stream.Signature(RemoteMask(config))),
            "probe_request": In(stream.Signature(EvProbeRequest(config))),
            "probe_result": Out(stream.Signature(EvProbeResult(config))),
            "link_watch": In(stream.Signature(LinkWatch(config))),
            "link_cleared": Out(stream.Signature(range(LINKS))),
            "rests": In(stream.Signature(RestRequest(config))),
            "table": In(stream.Signature(TableWrite())),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "port_up": In(config.lanes),
            "port_open": In(config.lanes),
            "port_proven": Out(config.lanes),
            "events": Out(data.StructLayout(dict.fromkeys(names, 1))),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        m.submodules.prober = prober = self._prober
        m.submodules.desk = desk = self._desk
        m.submodules.status = status = self._status
        m.submodules.ev_prober = ev_prober = self._ev_prober
        m.submodules.recovery = recovery = self._recovery
        m.submodules.rest = rest = self._rest
        m.submodules.finder = finder = PeerFinder(config)
        m.submodules.sender = sender = EndpointSender(config)
        for part in (prober, status, ev_prober, recovery, finder, sender):
            m.d.comb += part.settings.eq(self.settings)
        for part in (prober, status, ev_prober, recovery):
            m.d.comb += part.now.eq(self.now)
        for part in (prober, status, recovery, desk):
            m.d.comb += part.port_up.eq(self.port_up)
        for part in self._counting:
            m.d.comb += [self.events[name].eq(part.events[name]) for name, _ in part.events.shape()]

        for name in ("watch", "answers", "probes", "ev_events"):
            self._expose(m, getattr(prober, name), getattr(self, name))
        connect(m, status.remote_masks, rest.i)
        self._expose(m, rest.o, self.remote_masks)
        self._expose(m, rest.rests, self.rests)
        self._expose(m, ev_prober.i, self.probe_request)
        self._expose(m, ev_prober.o, self.probe_result)
        self._watch(m, recovery, rest)

        # Endpoint packets: in, looked at, and out.
        m.submodules.inputs = inputs = StreamArbiter(RxEndpoint(config), inputs=config.lanes)
        for p in range(config.lanes):
            connect(m, flipped(self.endpoints[p]), inputs.i[p])
            connect(m, sender.o[p], flipped(self.o[p]))
        connect(m, inputs.o, finder.i)
        connect(m, finder.o, desk.i)
        connect(m, desk.notices, status.notices)
        connect(m, desk.confirmations, status.confirmations)
        m.d.comb += [ev_prober.echo.eq(desk.echo), recovery.echo.eq(desk.echo)]
        sources = (desk.replies, status.sends, ev_prober.sends, recovery.sends)
        m.submodules.sends = sends = StreamArbiter(
            EndpointSend(config), inputs=len(sources) + config.lanes
        )
        for source, i in zip(sources, sends.i, strict=False):
            connect(m, source, i)
        connect(m, sends.o, sender.i)
        self._prove_ports(m, desk.own_echo, sends.i[len(sources) :])
        self._take_rows(m, prober, status, finder, sender)

        return m

    @staticmethod
    def _expose(m, inner, outer):
        """Let ``outer``, of the signature of ``inner``, stand for it."""
        connect(m, inner, flipped(outer))

    def _watch(self, m, recovery, rest):
        """Have links and planes probed; tell each side of its own."""
        m.submodules.watches = watches = StreamArbiter(ProbeWatch(self.config), inputs=2)
        link, watch = self.link_watch, watches.i[0]
        connect(m, rest.watch, watches.i[1])
        connect(m, watches.o, recovery.watch)
        proven = recovery.proven
        is_link = proven.payload.place < LINKS
        m.d.comb += [
            watch.valid.eq(link.valid),
            link.ready.eq(watch.ready),
            watch.payload.place.eq(link.payload.link),
            watch.payload.fixed.eq(1),
            self.link_cleared.valid.eq(proven.valid & is_link),
            self.link_cleared.payload.eq(proven.payload.place),
            rest.ended.valid.eq(proven.valid & ~is_link),
            rest.ended.payload.eq(proven.payload),
            proven.ready.eq(Mux(is_link, self.link_cleared.ready, rest.ended.ready)),
        ]
        for name in ("peer", "plane", "ev"):
            m.d.comb += watch.payload[name].eq(link.payload[name])

    def _prove_ports(self, m, echo, sends):
        for p, i in enumerate(sends):
            m.submodules[f"loop_prober_{p}"] = prober = LoopProber(self.config, port=p)
            m.d.comb += [
                prober.open.eq(self.port_open[p]),
                prober.settings.eq(self.settings),
                prober.now.eq(self.now),
                prober.echo.eq(echo),
                i.valid.eq(prober.o.valid),
                i.payload.own.eq(1),
                i.payload.plane.eq(p),
                i.payload.operation.eq(Operation.PROBE),
                i.payload.identifier.eq(prober.o.payload),
                prober.o.ready.eq(i.ready),
                self.port_proven[p].eq(prober.proven),
                self.events[f"loop_probe_lost_{p}"].eq(prober.events.loop_probe_lost),
            ]

    def _take_rows(self, m, prober, status, finder, sender):
        """Give rows to all who use them, at last to those that take them at once."""
        m.submodules.rows = relay = StreamRelay(TableWrite(), outputs=2)
        connect(m, flipped(self.table), relay.i)
        connect(m, relay.o[0], prober.table)
        connect(m, relay.o[1], status.table)
        for part in (finder, sender):
            row = part.write.row
            m.d.comb += [
                part.write.valid.eq(
                    self.table.valid & self.table.ready & (self.table.payload.table == Table.PEER)
                ),
                part.write.peer.eq(self.table.payload.index),
                row.eq(self.table.payload.row[: len(row.as_value())]),
            ]
