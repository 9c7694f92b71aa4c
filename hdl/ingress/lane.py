"""One port's way in: from the MAC to descriptors and payload."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.inwards import RxDescriptor, RxEndpoint
from mrcnic.hdl.descriptor.settings import LaneSettings
from mrcnic.hdl.packet.beat import packet_signature
from mrcnic.hdl.packet.delay_line import DelayLine

from .decapsulator import Decapsulator
from .descriptor_builder import DescriptorBuilder
from .dispatcher import Dispatcher
from .frame import Piece
from .header_collector import HeaderCollector
from .host_path import HostPath
from .icrc_checker import IcrcChecker
from .outer_parser import OuterParser
from .packet_checker import PacketChecker
from .payload_extractor import PayloadExtractor
from .reasons import EVENTS

__all__ = ["IngressLane"]


class IngressLane(wiring.Component):
    """Take frames from a MAC; check, decapsulate and parse them; hand on what is good.

    ``requests`` gets writes and reliability probes, ``responses`` SACKs, NACKs and transport
    ACKs, ``endpoints`` endpoint requests and responses, all of them with a good ICRC. A write that
    a switch has cut is handed on too, as ``trimmed``: it has no payload and no ICRC. ``host`` gets
    every frame that is for somebody else, whole and as it came. Each frame that is not handed on
    counts as exactly one event, the first reason there was (:data:`.CHECKS`); so does a frame for
    the host, besides what became of it.

    A packet is taken if it is IPv6 in IPv6, the outer destination starts with block and uSID of the
    port, and the inner one is ``loopback``; or if it is plain IPv6 for ``loopback``, or plain IPv4
    for ``loopback_ipv4``; and if its UDP port is one of ours. Of a segment routing header
    (RFC 8754), what is malformed is refused; what is well-formed is skipped by its length if no
    segment is left. Well-formed ones with segments left, with more than eight segments, or with
    ``header_length`` above 24 are refused as not supported. Routing headers of other types are
    skipped if no segment is left (RFC 8200, section 4.4). Congestion that is marked outside on a
    packet that says inside that it does not understand it is dropped (RFC 6040, section 4.2).

    The MAC never waits. A write whose payload finds no room is handed on without it (``no_room``).
    A packet whose descriptor finds no room is dropped, and so is a frame that the host has no room
    for; nothing else waits for the host.

    One beat per cycle, without a bubble at any length. With beats of 64 octets, headers are
    parsed at most three cycles after the beat with the last of them, which is four after the first
    beat of a frame without routing header, and the descriptor comes out eight cycles after the
    frame's last beat, of which the ICRC takes five; payload follows a cycle later.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(packet_signature(config.beat_octets, user_shape=1))``
        Frames without frame check sequence; ``user`` in the last beat: the MAC says that the frame
        is bad. ``ready`` is always set.
    requests, responses : ``Out(stream.Signature(RxDescriptor(config)))``
        Packets for the responder, and for the requester.
    endpoints : ``Out(stream.Signature(RxEndpoint(config)))``
        Endpoint packets.
    host : ``Out(packet_signature(config.beat_octets))``
        Frames for the host.
    payload : ``Out(packet_signature(config.beat_octets))``
        Payloads of those ``requests`` with ``payload`` set, in their order.
    settings : ``In(LaneSettings(config))``
        Settings.
    events : ``Out(StructLayout(...))``
        One-cycle pulses, named in :data:`.EVENTS`.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "i": In(packet_signature(config.beat_octets, user_shape=1)),
            "requests": Out(stream.Signature(RxDescriptor(config))),
            "responses": Out(stream.Signature(RxDescriptor(config))),
            "endpoints": Out(stream.Signature(RxEndpoint(config))),
            "host": Out(packet_signature(config.beat_octets)),
            "payload": Out(packet_signature(config.beat_octets)),
            "settings": In(LaneSettings(config)),
            "events": Out(data.StructLayout(dict.fromkeys(EVENTS, 1))),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.outer_parser = outer_parser = OuterParser(self.config)
        m.submodules.decapsulator = decapsulator = Decapsulator(self.config)
        m.submodules.collector = collector = HeaderCollector(self.config)
        m.submodules.icrc_checker = icrc_checker = IcrcChecker(self.config)
        connect(m, flipped(self.i), outer_parser.i)
        m.d.comb += outer_parser.settings.eq(self.settings)
        m.d.comb += decapsulator.i.eq(outer_parser.o)
        m.d.comb += collector.i.eq(decapsulator.o)
        m.d.comb += icrc_checker.i.eq(collector.o)

        # What is known of a packet waits for the verdict on its ICRC.
        known = icrc_checker.latency
        m.submodules.checker = checker = PacketChecker(self.config, latency=known)
        m.submodules.builder = builder = DescriptorBuilder(self.config)
        m.submodules.extractor = extractor = PayloadExtractor(self.config)
        m.submodules.fields = fields = DelayLine(builder.o.shape(), delay=known)
        wait = known - extractor.latency
        m.submodules.pieces = pieces = DelayLine(Piece(self.config), delay=wait)
        for component in (checker, builder, extractor):
            m.d.comb += component.i.eq(collector.o)
            m.d.comb += component.headers.eq(collector.headers)
        for component in (checker, builder):
            m.d.comb += component.settings.eq(self.settings)
        m.d.comb += extractor.index.eq(collector.index)
        m.d.comb += fields.i.eq(builder.o)
        m.d.comb += pieces.i.eq(extractor.o)
        pieces_valid = Signal(wait)  # of the pieces in the delay line, the oldest on top
        m.d.sync += pieces_valid.eq((pieces_valid << 1) | extractor.o_valid)

        m.submodules.dispatcher = dispatcher = Dispatcher(self.config)
        m.d.comb += dispatcher.lane.eq(self.settings.number)
        m.d.comb += dispatcher.icrc.eq(icrc_checker.o)
        m.d.comb += dispatcher.findings.eq(checker.o)
        m.d.comb += dispatcher.fields.eq(fields.o)
        m.d.comb += dispatcher.piece_valid.eq(pieces_valid[-1])
        m.d.comb += dispatcher.piece.eq(pieces.o)
        connect(m, dispatcher.requests, flipped(self.requests))
        connect(m, dispatcher.responses, flipped(self.responses))
        connect(m, dispatcher.endpoints, flipped(self.endpoints))
        connect(m, dispatcher.payload, flipped(self.payload))

        # A frame's inner packet is in the collector a cycle after its last beat, or two.
        m.submodules.host_path = host_path = HostPath(self.config, delay=known + 2)
        m.d.comb += host_path.i.eq(outer_parser.o)
        m.d.comb += host_path.verdict.valid.eq(icrc_checker.o.valid)
        m.d.comb += host_path.verdict.foreign.eq(dispatcher.foreign)
        m.d.comb += host_path.verdict.late.eq(checker.o.late)
        connect(m, host_path.o, flipped(self.host))
        for source in (dispatcher.events, host_path.events):
            m.d.comb += [self.events[name].eq(source[name]) for name, _ in source.shape()]

        return m
