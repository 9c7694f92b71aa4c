"""From a descriptor to the headers of its packet."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor import NOW_BITS, Settings, TxDescriptor
from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.layout import HeaderLayout
from mrcnic.hdl.wire.opcodes import Ecn, EtherType, NextHeader, Opcode

__all__ = ["HEADER_OCTETS_MAX", "INNER_STARTS", "PAYLOAD_STARTS", "HeaderBlock", "HeaderBuilder"]

#: What stands behind the BTH, by opcode.
_EXTENSIONS = {
    (Opcode.WRITE_FIRST, Opcode.WRITE_MIDDLE, Opcode.WRITE_LAST, Opcode.WRITE_ONLY): (
        headers.METH, headers.TSETH, headers.RETH,
    ),
    (Opcode.WRITE_LAST_IMM, Opcode.WRITE_ONLY_IMM): (
        headers.METH, headers.TSETH, headers.RETH, headers.IMMDT,
    ),
    (Opcode.SACK,): (headers.SETH, headers.CC_STATE),
    (Opcode.NACK,): (headers.NETH,),
    (Opcode.PROBE,): (headers.PETH,),
    (Opcode.ACK,): (headers.AETH,),
}  # fmt: skip

#: Octets of these by opcode.
_EXTENSION_OCTETS = {
    opcodes: sum(header.octets for header in extension)
    for opcodes, extension in _EXTENSIONS.items()
}

#: In front of the BTH's extensions, from the inner IPv6 header on.
_INNER_OCTETS = headers.IPV6.octets + headers.UDP.octets + headers.BTH.octets

#: Where the inner IPv6 header starts in a frame: without SRv6, and with it.
INNER_STARTS = (headers.ETHERNET.octets, headers.ETHERNET.octets + headers.IPV6.octets)

#: Octets of the longest headers, those of a SACK.
HEADER_OCTETS_MAX = INNER_STARTS[1] + _INNER_OCTETS + max(_EXTENSION_OCTETS.values())

#: Where payload may start in a frame.
PAYLOAD_STARTS = tuple(
    start + _INNER_OCTETS + octets
    for start in INNER_STARTS
    for opcodes, octets in _EXTENSION_OCTETS.items()
    if headers.RETH in _EXTENSIONS[opcodes]
)

#: Of the ftype field of TSETH and PETH.
_FTYPE = 1


class HeaderBlock(data.StructLayout):
    """Headers of one packet, and what follows them.

    Parameters
    ----------
    header_octets : :class:`int`
        Room for headers.
    packet_octets : :class:`int`
        Longest packet.

    Members
    -------
    octets : ``8 * header_octets``
        Headers, the first octet in the least significant bits; zero from ``length`` on.
    length : ``range(header_octets + 1)``
        Octets of the headers.
    payload : 1
        A packet of payload follows.
    total : ``range(packet_octets + 1)``
        Octets of the whole packet: headers, payload, pad and trailer.
    user : 1
        Comes out in ``user`` of every beat.
    """

    def __init__(self, header_octets: int, packet_octets: int):
        super().__init__({
            "octets": 8 * header_octets,
            "length": range(header_octets + 1),
            "payload": 1,
            "total": range(packet_octets + 1),
            "user": 1,
        })


class HeaderBuilder(wiring.Component):
    """Build all headers of a packet, from Ethernet to the last in front of the payload.

    The layout is that of docs/protocol.md, "Frame" to "BTH and extension headers". Fields that a
    descriptor's body leaves to the lane are filled in here: ``now`` at the cycle in which the
    descriptor is taken goes into TSETH and PETH. ECN is ECT(0) in every packet.

    Latency is two cycles; one descriptor per cycle passes.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    port : :class:`int`
        Whose addresses are used; below ``config.lanes``.

    Attributes
    ----------
    packet_octets_max : :class:`int`
        Octets of the longest frame, with ICRC.

    Members
    -------
    i : ``In(stream.Signature(TxDescriptor(config)))``
        Packets to be built.
    o : ``Out(stream.Signature(HeaderBlock(...)))``
        Their headers. ``user`` tells whether there is an outer IPv6 header.
    settings : ``In(Settings(config))``
        Addresses, ports and DSCP values.
    now : ``In(NOW_BITS)``
        Time.
    """

    def __init__(self, config: NicConfig, *, port: int):
        self.config = config
        self.port = port
        longest = max(PAYLOAD_STARTS) + config.mtu
        self.packet_octets_max = max(longest, HEADER_OCTETS_MAX) + headers.ICRC.octets
        super().__init__({
            "i": In(stream.Signature(TxDescriptor(config))),
            "o": Out(stream.Signature(HeaderBlock(HEADER_OCTETS_MAX, self.packet_octets_max))),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
        })

    def elaborate(self, platform):
        m = Module()

        taken = Signal(self.i.payload.shape(), reset_less=True)
        taken_valid = Signal()
        moves = Signal()
        timestamp = Signal(headers.TSETH.fields["tx_timestamp"])
        # Octets behind the headers: payload, pad and ICRC.
        rest = Signal(range(self.config.mtu + headers.ICRC.octets + 1))
        m.d.comb += moves.eq(self.o.ready | ~self.o.valid)
        m.d.comb += self.i.ready.eq(moves | ~taken_valid)
        with m.If(self.i.ready):
            m.d.sync += taken_valid.eq(self.i.valid)
            m.d.sync += taken.eq(self.i.payload)
            m.d.sync += timestamp.eq(self.now)
            m.d.sync += rest.eq((self.i.payload.octets + 3 + headers.ICRC.octets) & ~3)

        extension, extension_octets = self._extension(m, taken, timestamp)

        inner = Signal(range(HEADER_OCTETS_MAX))  # octets of headers, from the inner IPv6 header on
        m.d.comb += inner.eq(_INNER_OCTETS + extension_octets)

        with m.If(moves):
            block = self.o.payload
            start = Mux(taken.srv6, INNER_STARTS[1], INNER_STARTS[0])
            m.d.sync += self.o.valid.eq(taken_valid)
            m.d.sync += block.octets.eq(self._octets(m, taken, inner + rest, extension))
            m.d.sync += block.length.eq(start + inner)
            m.d.sync += block.payload.eq(taken.octets != 0)
            m.d.sync += block.total.eq(start + inner + rest)
            m.d.sync += block.user.eq(taken.srv6)

        return m

    def _extension(self, m, taken, timestamp):
        """Return what stands behind the BTH, as octets, and how many they are."""
        body = taken.body
        tseth = Signal(HeaderLayout(headers.TSETH))
        probe = Signal(HeaderLayout(headers.PETH))
        m.d.comb += tseth.tx_timestamp.eq(timestamp)
        m.d.comb += tseth.ftype.eq(_FTYPE)
        m.d.comb += probe.eq(body.probe)
        m.d.comb += probe.tx_timestamp.eq(timestamp)
        m.d.comb += probe.ftype.eq(_FTYPE)
        immediate = Signal(HeaderLayout(headers.IMMDT))
        m.d.comb += immediate.immediate.eq(body.write.immediate)
        views = {
            headers.METH: body.write.meth,
            headers.TSETH: tseth,
            headers.RETH: body.write.reth,
            headers.IMMDT: immediate,
            headers.SETH: body.sack.seth,
            headers.CC_STATE: body.sack.cc_state,
            headers.NETH: body.nack,
            headers.PETH: probe,
            headers.AETH: body.ack,
        }

        octets = Signal(8 * max(_EXTENSION_OCTETS.values()))
        count = Signal(range(len(octets) // 8 + 1))
        with m.Switch(taken.opcode):
            for opcodes, extension in _EXTENSIONS.items():
                with m.Case(*opcodes):
                    m.d.comb += octets.eq(Cat(_to_octets(views[header]) for header in extension))
                    m.d.comb += count.eq(_EXTENSION_OCTETS[opcodes])
        return octets, count

    def _octets(self, m, taken, inner_octets, extension):
        """Return all headers, as octets; ``inner_octets`` counts from the inner IPv6 header on."""
        port = self.settings.port[self.port]
        entropy_high, entropy_low = taken.ev[16:], taken.ev[:16]

        ethernet = Signal(HeaderLayout(headers.ETHERNET))
        m.d.comb += ethernet.destination.eq(port.next_hop_mac)
        m.d.comb += ethernet.source.eq(port.own_mac)
        m.d.comb += ethernet.ether_type.eq(EtherType.IPV6)

        outer = Signal(HeaderLayout(headers.IPV6))
        inner = Signal(HeaderLayout(headers.IPV6))
        for header in (outer, inner):
            m.d.comb += header.version.eq(6)
            m.d.comb += header.dscp.eq(self.settings.dscp[taken.role])
            m.d.comb += header.ecn.eq(Ecn.ECT0)
            m.d.comb += header.hop_limit.eq(self.settings.hop_limit)
        m.d.comb += outer.payload_length.eq(inner_octets)
        m.d.comb += outer.next_header.eq(NextHeader.IPV6)
        m.d.comb += outer.source.eq(port.underlay)
        m.d.comb += outer.destination.eq(taken.carrier)
        udp_octets = (inner_octets - headers.IPV6.octets)[:16]
        m.d.comb += inner.flow_label.eq(Mux(self.settings.swap_ev, entropy_high, entropy_low))
        m.d.comb += inner.payload_length.eq(udp_octets)
        m.d.comb += inner.next_header.eq(NextHeader.UDP)
        m.d.comb += inner.source.eq(self.settings.loopback)
        m.d.comb += inner.destination.eq(taken.destination)

        udp = Signal(HeaderLayout(headers.UDP))
        m.d.comb += udp.source_port.eq(Mux(self.settings.swap_ev, entropy_low, entropy_high))
        m.d.comb += udp.destination_port.eq(self.settings.udp_port)
        m.d.comb += udp.length.eq(udp_octets)

        bth = Signal(HeaderLayout(headers.BTH))
        m.d.comb += bth.opcode.eq(taken.opcode)
        m.d.comb += bth.pad.eq(-taken.octets[:2])
        m.d.comb += bth.p_key.eq(0xFFFF)
        m.d.comb += bth.dqp.eq(taken.dqp)
        m.d.comb += bth.ack_request.eq(taken.ack_request)
        m.d.comb += bth.retransmission.eq(taken.retransmission)
        m.d.comb += bth.psn.eq(taken.psn)
        for opcodes, names in _EXTENSIONS.items():
            with m.If(_is_any(taken.opcode, opcodes)):
                m.d.comb += bth.timestamped.eq(headers.TSETH in names)

        rest = Cat(_to_octets(inner), _to_octets(udp), _to_octets(bth), extension)
        octets = Signal(8 * HEADER_OCTETS_MAX)
        m.d.comb += octets.eq(
            Cat(_to_octets(ethernet), Mux(taken.srv6, Cat(_to_octets(outer), rest), rest))
        )
        return octets


def _to_octets(view):
    return view.shape().to_octets(view)


def _is_any(opcode, opcodes):
    return sum((opcode == number for number in opcodes), start=0) != 0
