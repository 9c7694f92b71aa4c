"""From a descriptor to the headers of its packet."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import TxDescriptor
from mrcnic.hdl.descriptor.settings import Settings
from mrcnic.hdl.descriptor.sizes import NOW_BITS
from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.layout import HeaderLayout
from mrcnic.hdl.wire.opcodes import Ecn, EtherType, NextHeader, Opcode, Role

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
        probe = {name: body.probe[name] for name in headers.PETH.fields}
        built = {
            headers.METH: _to_octets(body.write.meth),
            headers.TSETH: _build(headers.TSETH, tx_timestamp=timestamp, ftype=_FTYPE),
            headers.RETH: _to_octets(body.write.reth),
            headers.IMMDT: _build(headers.IMMDT, immediate=body.write.immediate),
            headers.SETH: _to_octets(body.sack.seth),
            headers.CC_STATE: _to_octets(body.sack.cc_state),
            headers.NETH: _to_octets(body.nack),
            headers.PETH: _build(
                headers.PETH, **{**probe, "tx_timestamp": timestamp, "ftype": _FTYPE}
            ),
            headers.AETH: _to_octets(body.ack),
        }

        octets = Signal(8 * max(_EXTENSION_OCTETS.values()))
        count = Signal(range(len(octets) // 8 + 1))
        with m.Switch(taken.opcode):
            for opcodes, extension in _EXTENSIONS.items():
                with m.Case(*opcodes):
                    m.d.comb += octets.eq(Cat(built[header] for header in extension))
                    m.d.comb += count.eq(_EXTENSION_OCTETS[opcodes])
        return octets, count

    def _octets(self, m, taken, inner_octets, extension):
        """Return all headers, as octets; ``inner_octets`` counts from the inner IPv6 header on."""
        port = self.settings.port[self.port]
        flow_label, source_port = Signal(16), Signal(16)
        m.d.comb += Cat(flow_label, source_port).eq(taken.ev)
        with m.If(self.settings.swap_ev):
            m.d.comb += Cat(source_port, flow_label).eq(taken.ev)
        payload_length, udp_length = Signal(16), Signal(16)
        m.d.comb += payload_length.eq(inner_octets)
        m.d.comb += udp_length.eq(inner_octets - headers.IPV6.octets)
        pad = Signal(2)
        m.d.comb += pad.eq(-taken.octets[:2])
        dscp = Signal(6)
        with m.Switch(taken.role):
            for role in Role:
                with m.Case(role):
                    m.d.comb += dscp.eq(self.settings.dscp[role])
        timestamped = Signal()
        with m.Switch(taken.opcode):
            for opcodes, extension_headers in _EXTENSIONS.items():
                with m.Case(*opcodes):
                    m.d.comb += timestamped.eq(headers.TSETH in extension_headers)

        ethernet = _build(
            headers.ETHERNET,
            destination=port.next_hop_mac,
            source=port.own_mac,
            ether_type=EtherType.IPV6,
        )
        common = {
            "version": 6,
            "dscp": dscp,
            "ecn": Ecn.ECT0,
            "hop_limit": self.settings.hop_limit,
        }
        outer = _build(
            headers.IPV6,
            **common,
            payload_length=payload_length,
            next_header=NextHeader.IPV6,
            source=port.underlay,
            destination=taken.carrier,
        )
        inner = _build(
            headers.IPV6,
            **common,
            flow_label=Cat(flow_label, Const(0, 4)),
            payload_length=udp_length,
            next_header=NextHeader.UDP,
            source=self.settings.loopback,
            destination=taken.destination,
        )
        udp = _build(
            headers.UDP,
            source_port=source_port,
            destination_port=self.settings.udp_port,
            length=udp_length,
        )
        bth = _build(
            headers.BTH,
            opcode=taken.opcode,
            pad=pad,
            p_key=0xFFFF,
            dqp=taken.dqp,
            ack_request=taken.ack_request,
            retransmission=taken.retransmission,
            timestamped=timestamped,
            psn=taken.psn,
        )
        packet = Cat(inner, udp, bth, extension)
        octets = Signal(8 * HEADER_OCTETS_MAX)
        m.d.comb += octets.eq(Cat(ethernet, Mux(taken.srv6, Cat(outer, packet), packet)))
        return octets


def _to_octets(view):
    return view.shape().to_octets(view)


def _build(header, **fields):
    """Return the octets of a header; fields left out are zero, the others of their exact width."""
    layout = HeaderLayout(header)
    values = [
        Const(field, width) if isinstance(field, int) else Value.cast(field)
        for name, width in reversed(header.fields.items())
        for field in [fields.get(name, 0)]
    ]
    return layout.to_octets(data.View(layout, Cat(values)))
