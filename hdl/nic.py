"""The top level: rooms put together, and no logic."""

from amaranth.hdl import Cat, DomainRenamer, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.inwards import ReceiveCompletion, RxDescriptor
from mrcnic.hdl.descriptor.outcome import Completion, EvEvent, EvProbeResult
from mrcnic.hdl.descriptor.outwards import EvProbeRequest, TxDescriptor, TxRequest, WorkRequest
from mrcnic.hdl.descriptor.paths import EvAnswer, EvNews, EvQuery
from mrcnic.hdl.descriptor.settings import LaneSettings, MacStatus, TableWrite
from mrcnic.hdl.egress.lane import PAUSE_BITS, EgressLane
from mrcnic.hdl.health.port_monitor import PortMonitor
from mrcnic.hdl.health.room import PathHealth
from mrcnic.hdl.host.axi import axi4_lite_signature, axi4_read_signature, axi4_write_signature
from mrcnic.hdl.host.csr import RegisterBank
from mrcnic.hdl.host.dma_read import DmaRead
from mrcnic.hdl.host.dma_write import DmaWrite
from mrcnic.hdl.host.registers import ADDRESS_BITS
from mrcnic.hdl.ingress.lane import IngressLane
from mrcnic.hdl.line.line_in import LineIn
from mrcnic.hdl.line.line_out import LineOut
from mrcnic.hdl.line.neighbour_responder import NeighbourResponder
from mrcnic.hdl.line.pause_in import PauseIn
from mrcnic.hdl.packet.beat import packet_signature
from mrcnic.hdl.packet.outline import outline
from mrcnic.hdl.packet.skid_buffer import SkidBuffer
from mrcnic.hdl.packet.stream_arbiter import StreamArbiter
from mrcnic.hdl.packet.stream_relay import StreamRelay
from mrcnic.hdl.packet.tick_counter import TickCounter
from mrcnic.hdl.requester.requester import Requester
from mrcnic.hdl.responder.responder import Responder
from mrcnic.hdl.retransmit.buffer import RetransmitBuffer
from mrcnic.hdl.spray.sprayer import Sprayer

__all__ = ["Nic"]


class Nic(wiring.Component):
    """One engine, and a lane for each port.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Attributes
    ----------
    event_names : :class:`tuple` of :class:`str`
        What is counted, in the order of the counters. Each starts with its room or with
        ``port<p>_``.

    Members
    -------
    rx : ``In(packet_signature(beat_octets, user_shape=1)).array(lanes)``
        Frames from each MAC, without frame check sequence. ``user`` in the last beat: a bad frame.
    tx : ``Out(packet_signature(beat_octets)).array(lanes)``
        Frames to each MAC; no idle beat inside a frame. With ``config.crossing``, ``rx[p]`` and
        ``tx[p]`` are in the clock domains ``rx<p>`` and ``tx<p>``; all else is in ``sync``.
    mac_status : ``In(MacStatus()).array(lanes)``
        Status pins of each MAC.
    pause : ``In(9).array(lanes)``
        Pauses that each MAC asks for, as levels: of the eight priorities, then of all frames.
    host_rx : ``Out(packet_signature(beat_octets)).array(lanes)``
        Frames of each port that are not for the transport, as they came.
    host_tx : ``In(packet_signature(beat_octets)).array(lanes)``
        The host's own frames for each port.
    work : ``In(stream.Signature(WorkRequest(config)))``
        Work requests.
    completions : ``Out(stream.Signature(Completion(config)))``
        Ends of work requests.
    received : ``Out(stream.Signature(ReceiveCompletion(config)))``
        Immediates that have arrived.
    ev_orders : ``In(stream.Signature(EvEvent(config)))``
        EVs that the host takes out of use, or gives back.
    ev_news : ``Out(stream.Signature(EvNews(config)))``
        Changes of EVs' states; dropped and counted if nobody reads.
    ev_query, ev_answer : streams of ``EvQuery`` and ``EvAnswer``
        The host asks for the state of an EV.
    probe_request, probe_result : streams of ``EvProbeRequest`` and ``EvProbeResult``
        The host wants a path to be probed.
    memory_read, memory_write : ``Out(axi4_read_signature(beat_octets)).array(lanes)``, same
        Host memory, a master for each lane.
    registers : ``In(axi4_lite_signature(ADDRESS_BITS))``
        Registers, as ``docs/registers.md`` describes them.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        lanes = range(config.lanes)
        self._requester = Requester(config)
        self._retransmit = RetransmitBuffer(config)
        self._spray = Sprayer(config)
        self._responder = Responder(config)
        self._egress = [EgressLane(config) for p in lanes]
        self._ingress = [IngressLane(config) for p in lanes]
        self._dma_read = [DmaRead(config) for _ in lanes]
        self._dma_write = [DmaWrite(config) for _ in lanes]
        self._monitors = [PortMonitor(config, port=p) for p in lanes]
        self._neighbours = [NeighbourResponder(config) for p in lanes]
        self._health = PathHealth(config)
        edges = lanes if config.crossing else ()
        self._line_in = [LineIn(config) for _ in edges]
        self._line_out = [LineOut(config) for _ in edges]

        engine = {
            "requester": self._requester,
            "retransmit": self._retransmit,
            "spray": self._spray,
            "responder": self._responder,
            "health": self._health,
        }
        per_port = [
            self._egress, self._ingress, self._dma_read, self._dma_write, self._monitors,
            self._neighbours,
        ]  # fmt: skip
        if config.crossing:
            per_port += [self._line_in, self._line_out]
        self._reporters = [(f"{name}_", room) for name, room in engine.items()]
        self._reporters += [(f"port{p}_", room[p]) for p in lanes for room in per_port]
        self.event_names = tuple(
            f"{prefix}{name}" for prefix, room in self._reporters for name, _ in room.events.shape()
        )
        octets = config.beat_octets
        super().__init__({
            "rx": In(packet_signature(octets, user_shape=1)).array(config.lanes),
            "tx": Out(packet_signature(octets)).array(config.lanes),
            "mac_status": In(MacStatus()).array(config.lanes),
            "pause": In(PAUSE_BITS).array(config.lanes),
            "host_rx": Out(packet_signature(octets)).array(config.lanes),
            "host_tx": In(packet_signature(octets)).array(config.lanes),
            "work": In(stream.Signature(WorkRequest(config))),
            "completions": Out(stream.Signature(Completion(config))),
            "received": Out(stream.Signature(ReceiveCompletion(config))),
            "ev_orders": In(stream.Signature(EvEvent(config))),
            "ev_news": Out(stream.Signature(EvNews(config))),
            "ev_query": In(stream.Signature(EvQuery(config))),
            "ev_answer": Out(stream.Signature(EvAnswer())),
            "probe_request": In(stream.Signature(EvProbeRequest(config))),
            "probe_result": Out(stream.Signature(EvProbeResult(config))),
            "memory_read": Out(axi4_read_signature(octets)).array(config.lanes),
            "memory_write": Out(axi4_write_signature(octets)).array(config.lanes),
            "registers": In(axi4_lite_signature(ADDRESS_BITS)),
        })

    def elaborate(self, platform):
        m = Module()

        engine = {
            "requester": self._requester,
            "retransmit": self._retransmit,
            "spray": self._spray,
            "responder": self._responder,
            "health": self._health,
        }
        for name, room in engine.items():
            m.submodules[name] = outline(room, name, platform)
        per_port = {
            "egress": self._egress,
            "ingress": self._ingress,
            "dma_read": self._dma_read,
            "dma_write": self._dma_write,
            "neighbours": self._neighbours,
        }
        for name, rooms in per_port.items():
            for p, room in enumerate(rooms):
                m.submodules[f"{name}_{p}"] = outline(room, name, platform)
        for p, monitor in enumerate(self._monitors):
            m.submodules[f"monitor_{p}"] = monitor

        self._connect_host(m)
        self._connect_outwards(m)
        self._connect_inwards(m)
        self._connect_health(m)
        self._connect_lanes(m)
        for p in range(self.config.lanes):
            self._connect_mac(m, p)
        return m

    def _connect_host(self, m):
        m.submodules.tick = tick = TickCounter(clk_hz=self.config.clk_hz)
        m.submodules.bank = bank = RegisterBank(self.config, self.event_names)
        # The requester first: it must give up the QP's former life before others begin the next.
        engine = (
            self._requester, self._retransmit, self._spray, self._responder, self._health
        )  # fmt: skip
        takers = (*engine, *self._egress)
        m.submodules.tables = tables = StreamRelay(TableWrite(), outputs=len(takers))

        connect(m, flipped(self.registers), bank.axil)
        connect(m, bank.table, tables.i)
        for room, write in zip(takers, tables.o, strict=True):
            connect(m, write, room.table)
        timed = (
            self._requester, self._retransmit, self._spray, self._responder, self._health,
            *self._egress, *self._monitors,
        )  # fmt: skip
        for room in timed:
            m.d.comb += room.now.eq(tick.now)
        for room in (self._requester, self._retransmit, self._responder, self._health):
            m.d.comb += room.settings.eq(bank.settings)
        for p, monitor in enumerate(self._monitors):
            m.d.comb += monitor.settings.eq(bank.settings)
            own = {"port": bank.settings.port[p], "number": p}
            for room in (self._egress[p], self._ingress[p], self._neighbours[p]):
                for name, _ in LaneSettings(self.config):
                    value = own[name] if name in own else bank.settings[name]
                    m.d.comb += room.settings[name].eq(value)
        for p, monitor in enumerate(self._monitors):
            m.d.comb += monitor.mac.eq(self.mac_status[p])
            for name in ("up", "link", "remote", "clock", "proven", "degraded"):
                m.d.comb += bank.port_status[p][name].eq(getattr(monitor, name))

        m.d.comb += bank.now.eq(tick.now)
        occupied = self._retransmit.occupied
        m.d.comb += [bank.occupied_slots.eq(occupied), self._requester.occupied.eq(occupied)]
        m.d.comb += bank.events.eq(Cat(room.events.as_value() for _, room in self._reporters))

    def _connect_outwards(self, m):
        requester, retransmit, spray = self._requester, self._retransmit, self._spray

        connect(m, flipped(self.work), requester.i)
        connect(m, requester.o, flipped(self.completions))
        connect(m, requester.allocate, retransmit.allocate)
        connect(m, requester.acknowledgement, retransmit.acknowledgement)
        connect(m, requester.nack, retransmit.nack)
        connect(m, requester.stopped, retransmit.stopped)
        connect(m, retransmit.retired, requester.retired)
        connect(m, retransmit.failed, requester.failed)

        # Reports first: they are small, and what the peer waits for.
        m.submodules.sends = sends = StreamArbiter(TxRequest(self.config), inputs=5, priority=True)
        sources = (
            self._responder.reports, requester.probe, retransmit.probe, self._health.probes,
            retransmit.send,
        )  # fmt: skip
        for source, i in zip(sources, sends.i, strict=True):
            connect(m, source, i)
        connect(m, sends.o, spray.i)
        m.d.comb += retransmit.picked_valid.eq(spray.picked_valid)
        m.d.comb += retransmit.picked.eq(spray.picked)

        m.submodules.ev_events = ev_events = StreamArbiter(EvEvent(self.config), inputs=3)
        for room, i in zip((requester, retransmit, self._health), ev_events.i, strict=True):
            connect(m, room.ev_events, i)
        connect(m, ev_events.o, spray.ev_events)
        connect(m, flipped(self.ev_orders), spray.host_events)
        connect(m, spray.news, flipped(self.ev_news))
        connect(m, flipped(self.ev_query), spray.query)
        connect(m, spray.answer, flipped(self.ev_answer))

        up = Cat(monitor.up for monitor in self._monitors)
        for room in (retransmit, spray, self._health):
            m.d.comb += room.port_up.eq(up)

    def _connect_inwards(self, m):
        lanes = self.config.lanes
        m.submodules.requests = requests = StreamArbiter(RxDescriptor(self.config), inputs=lanes)
        m.submodules.responses = responses = StreamArbiter(RxDescriptor(self.config), inputs=lanes)
        for p, ingress in enumerate(self._ingress):
            connect(m, ingress.requests, requests.i[p])
            connect(m, ingress.responses, responses.i[p])
        connect(m, requests.o, self._responder.i)
        connect(m, responses.o, self._requester.responses)

        connect(m, self._responder.o, flipped(self.received))
        m.d.comb += self._responder.written.eq(Cat(dma.written for dma in self._dma_write))
        m.d.comb += self._responder.write_error.eq(Cat(dma.error for dma in self._dma_write))

    def _connect_health(self, m):
        health = self._health
        connect(m, self._spray.watch, health.watch)
        connect(m, self._spray.link_watch, health.link_watch)
        connect(m, health.link_cleared, self._spray.link_cleared)
        connect(m, self._spray.rests, health.rests)
        connect(m, self._requester.probe_answers, health.answers)
        connect(m, health.remote_masks, self._spray.remote_mask)
        connect(m, flipped(self.probe_request), health.probe_request)
        connect(m, health.probe_result, flipped(self.probe_result))
        m.d.comb += health.port_open.eq(Cat(monitor.open for monitor in self._monitors))
        for p, monitor in enumerate(self._monitors):
            connect(m, self._ingress[p].endpoints, health.endpoints[p])
            m.d.comb += monitor.proven.eq(health.port_proven[p])

    def _connect_lanes(self, m):
        retransmit = self._retransmit
        for p in range(self.config.lanes):
            egress, ingress = self._egress[p], self._ingress[p]
            dma_read, dma_write = self._dma_read[p], self._dma_write[p]

            # A lane that spray has found ready stays so, whatever else is sent there.
            m.submodules[f"picked_{p}"] = picked = SkidBuffer(TxDescriptor(self.config))
            m.submodules[f"descriptors_{p}"] = descriptors = StreamArbiter(
                TxDescriptor(self.config), inputs=2, priority=True
            )
            connect(m, self._spray.o[p], picked.i)
            connect(m, self._health.o[p], descriptors.i[0])
            connect(m, picked.o, descriptors.i[1])
            connect(m, descriptors.o, egress.i)
            m.d.comb += egress.up.eq(self._monitors[p].open)

            connect(m, egress.fetch, retransmit.read[p])
            connect(m, retransmit.payload[p], egress.payload)
            connect(m, retransmit.fetch[p], dma_read.i)
            connect(m, dma_read.o, retransmit.store[p])
            connect(m, self._responder.verdict[p], dma_write.i)
            connect(m, ingress.payload, dma_write.payload)
            connect(m, dma_read.axi, flipped(self.memory_read[p]))
            connect(m, dma_write.axi, flipped(self.memory_write[p]))

            neighbours = self._neighbours[p]
            connect(m, ingress.host, neighbours.i)
            connect(m, neighbours.o, flipped(self.host_rx[p]))
            connect(m, flipped(self.host_tx[p]), neighbours.host_i)
            connect(m, neighbours.host_o, egress.host)

    def _connect_mac(self, m, p):
        m.submodules[f"pause_{p}"] = pause = PauseIn()
        m.d.comb += pause.i.eq(self.pause[p])
        m.d.comb += self._egress[p].pause.eq(pause.o)
        rx, tx = flipped(self.rx[p]), flipped(self.tx[p])
        if self.config.crossing:
            line_in, line_out = self._line_in[p], self._line_out[p]
            m.submodules[f"line_in_{p}"] = DomainRenamer({"mac_rx": f"rx{p}"})(line_in)
            m.submodules[f"line_out_{p}"] = DomainRenamer({"mac_tx": f"tx{p}"})(line_out)
            connect(m, rx, line_in.i)
            connect(m, line_out.o, tx)
            rx, tx = line_in.o, line_out.i
        connect(m, rx, self._ingress[p].i)
        connect(m, self._egress[p].o, tx)
