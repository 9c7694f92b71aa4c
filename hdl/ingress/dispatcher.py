"""The verdict on a packet, and where it goes."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.body import WriteBody
from mrcnic.hdl.descriptor.inwards import RxDescriptor, RxEndpoint
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.beat import Beat, packet_signature
from mrcnic.hdl.packet.commit_fifo import CommitFifo
from mrcnic.hdl.packet.keep import end_to_keep
from mrcnic.hdl.wire.opcodes import Opcode

from .descriptor_queue import DescriptorQueue
from .endpoint_queue import EndpointQueue
from .frame import HeaderFields, Piece, QueuedFields
from .header_collector import is_write
from .packet_checker import Findings
from .reasons import CHECKS, EVENTS, FOREIGN

__all__ = ["OWN_EVENTS", "Dispatcher"]

#: Events that are told here.
OWN_EVENTS = tuple(name for name in EVENTS if name not in ("rx_to_host", "rx_host_no_room"))

#: Payload beats that a block RAM has rows for at its widest; but never less than four packets.
_PAYLOAD_BEATS = 512
_PAYLOAD_PACKETS = 4

#: Fields that are queued. There are as many rows for descriptors as for beats of payload, so that
#: packets of one beat can use them all.
_COMMON = ("opcode", "dqp", "psn", "ack_request", "retransmission", "ce", "ev")
_OF_REQUESTS = ("tx_timestamp", "pad", "octets", "payload", "no_room", "trimmed", "last_hop")


class Dispatcher(wiring.Component):
    """Queue good packets, forget the others, count each.

    A packet's payload is committed, or not, in the cycle of the verdict on its ICRC. Of a trimmed
    packet that verdict does not count, and there is no payload.

    A descriptor comes out three cycles after the verdict, payload likewise. One packet per cycle.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    lane : ``In(index_bits(lanes))``
        Number of the port.
    icrc : ``In(StructLayout({"valid": 1, "good": 1}))``
        Verdict. What follows belongs to the same packet in the same cycle.
    findings : ``In(Findings(config))``
        What else was found of it.
    fields : ``In(HeaderFields(config))``
        What its headers say.
    piece_valid, piece : ``In(1)``, ``In(Piece(config))``
        Payload of it; the last piece together with the verdict, others before.
    requests, responses, endpoints, payload : as in :class:`.IngressLane`
    foreign : ``Out(1)``
        The packet is not for this block.
    events : ``Out(StructLayout(...))``
        Those of :data:`.EVENTS`; what becomes of foreign packets is decided elsewhere.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "lane": In(index_bits(config.lanes)),
            "icrc": In(data.StructLayout({"valid": 1, "good": 1})),
            "findings": In(Findings(config)),
            "fields": In(HeaderFields(config)),
            "piece_valid": In(1),
            "piece": In(Piece(config)),
            "requests": Out(stream.Signature(RxDescriptor(config))),
            "responses": Out(stream.Signature(RxDescriptor(config))),
            "endpoints": Out(stream.Signature(RxEndpoint(config))),
            "payload": Out(packet_signature(config.beat_octets)),
            "foreign": Out(1),
            "events": Out(data.StructLayout(dict.fromkeys(OWN_EVENTS, 1))),
        })

    def elaborate(self, platform):
        m = Module()

        config = self.config
        depth = max(_PAYLOAD_BEATS, _PAYLOAD_PACKETS * config.mtu // config.beat_octets)
        m.submodules.fifo = fifo = CommitFifo(
            Beat(config.beat_octets), depth=depth, drop_when_full=True
        )
        layout = RxDescriptor(config)
        widths = {name: layout[name].width for name in (*_COMMON, *_OF_REQUESTS, "body")}
        common = {name: widths[name] for name in (*_COMMON, "body")}
        m.submodules.requests = requests = DescriptorQueue(
            config, {**widths, "body": WriteBody().size}
        )
        m.submodules.responses = responses = DescriptorQueue(config, common)
        m.submodules.endpoints = endpoints = EndpointQueue(config)

        opcode = self.fields.opcode
        is_request = Signal()
        is_endpoint = Signal()
        is_response = Signal()
        m.d.comb += is_request.eq(is_write(opcode) | (opcode == Opcode.PROBE))
        with m.Switch(opcode), m.Case(Opcode.ENDPOINT_REQUEST, Opcode.ENDPOINT_RESPONSE):
            m.d.comb += is_endpoint.eq(1)
        m.d.comb += is_response.eq(~is_request & ~is_endpoint)

        # One of these for each packet.
        good = Signal()
        trimmed = self.fields.trimmed
        passes = self.icrc.good | trimmed
        m.d.comb += good.eq(self.icrc.valid & passes & ~self.findings.bad)
        m.d.comb += requests.push.eq(good & is_request & requests.room)
        m.d.comb += responses.push.eq(good & is_response & responses.room)
        m.d.comb += endpoints.push.eq(good & is_endpoint & endpoints.room)
        taken = requests.push | responses.push | endpoints.push
        m.d.comb += self.foreign.eq(Cat(self.findings.failed[check] for check in FOREIGN).any())
        outcome = Signal.like(self.events)
        for check, event in CHECKS.items():
            with m.If(self.icrc.valid & self.findings.failed[check]):
                m.d.comb += outcome[event].eq(1)
        m.d.comb += outcome.rx_icrc_error.eq(self.icrc.valid & ~self.findings.bad & ~passes)
        m.d.comb += outcome.rx_no_descriptor.eq(good & ~is_endpoint & ~taken)
        m.d.comb += outcome.rx_endpoint_no_room.eq(good & is_endpoint & ~taken)
        m.d.comb += outcome.rx_packets.eq(taken & ~trimmed)
        m.d.comb += outcome.rx_trimmed.eq(taken & trimmed)
        m.d.comb += outcome.rx_no_room.eq(fifo.dropped)
        m.d.sync += self.events.eq(outcome)

        m.d.comb += [
            fifo.i.valid.eq(self.piece_valid),
            fifo.i.payload.data.eq(self.piece.data),
            fifo.i.payload.keep.eq(end_to_keep(self.piece.end, config.beat_octets)),
            fifo.i.payload.last.eq(self.piece.last),
            fifo.abort.eq(~taken | trimmed),
        ]
        connect(m, fifo.o, flipped(self.payload))

        has_payload = self.piece_valid & self.piece.last & ~trimmed
        of_findings = ("octets", "payload", "no_room")
        for queue in (requests, responses, endpoints):
            m.d.comb += queue.lane.eq(self.lane)
        for queue in (requests, responses):
            for name, _ in QueuedFields(config):
                if name not in of_findings:
                    m.d.comb += queue.i[name].eq(self.fields[name])
            m.d.comb += queue.i.octets.eq(Mux(trimmed, 0, self.findings.octets))
            m.d.comb += queue.i.payload.eq(has_payload & ~fifo.dropped)
            m.d.comb += queue.i.no_room.eq(fifo.dropped)
        m.d.comb += endpoints.i.eq(self.fields)
        connect(m, endpoints.o, flipped(self.endpoints))
        connect(m, requests.o, flipped(self.requests))
        connect(m, responses.o, flipped(self.responses))

        return m
