"""Checks of everything in a packet but its ICRC."""

from operator import index

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import LaneSettings
from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.opcodes import Ecn, NextHeader, Opcode
from mrcnic.hdl.wire.srv6 import SEGMENTS_MAX

from .frame import (
    MAX_FRAME_OCTETS,
    MAX_SRH_UNITS,
    START_SKEW,
    START_UNIT,
    InnerBeat,
)
from .header_collector import HEADER_OCTETS, HeaderView, is_write, with_immediate
from .ipv4_sum import Ipv4Sum
from .reasons import CHECKS

__all__ = ["Findings", "PacketChecker"]

#: Shortest Ethernet frame without its check sequence (IEEE 802.3, section 4A.4.2). No MRC packet is
#: so short that it would be padded up to this length.
_MIN_FRAME_OCTETS = 60

_P_KEY = 0xFFFF

_OUTER_OCTETS = headers.ETHERNET.octets + headers.IPV6.octets

#: QP that endpoint packets are for.
_ENDPOINT_QP = 2

_SRH_TYPE = 4  # RFC 8754, section 2

#: Headers behind the BTH, of packets without payload.
_EXTENSIONS = {
    Opcode.SACK: headers.SETH.octets + headers.CC_STATE.octets,
    Opcode.NACK: headers.NETH.octets,
    Opcode.ACK: headers.AETH.octets,
    Opcode.PROBE: headers.PETH.octets,
    Opcode.ENDPOINT_REQUEST: headers.ERTH.octets,
    Opcode.ENDPOINT_RESPONSE: headers.EETH.octets,
}


class Findings(data.StructLayout):
    """What was found of a packet.

    Members
    -------
    failed : one bit for each of :data:`.CHECKS`, at most one of which is set
    bad : 1
        Some bit of ``failed`` is set.
    octets : payload octets, of a packet that is not trimmed
    late : as in :class:`.InnerBeat`
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "failed": data.StructLayout(dict.fromkeys(CHECKS, 1)),
            "bad": 1,
            "octets": range(config.mtu + 1),
            "late": 1,
        })


class PacketChecker(wiring.Component):
    """Check a packet: addresses, lengths, numbers, pad.

    A packet has to be exactly as long as each of its headers says. Its payload is as long as the
    UDP length says, without headers, pad and ICRC; it may be empty. A trimmed packet may be shorter
    than its IP headers say, but has its METH, and TSETH if there was one.

    One packet per cycle. Nothing here is deeper than a comparison of 128 bits.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    latency : :class:`int`
        Cycles from the last beat to ``o``; at least 5.

    Members
    -------
    i : ``In(InnerBeat(config))``, ``headers``
        Inner packets, as they come out of a :class:`.HeaderCollector`.
    settings : ``In(LaneSettings(config))``
        Settings.
    o : ``Out(Findings(config))``
        What was found of the packet that ended ``latency`` cycles ago.

    Raises
    ------
    ValueError
        If ``latency`` is less than 5.
    """

    def __init__(self, config: NicConfig, *, latency: int):
        self.config = config
        self.latency = index(latency)
        if self.latency < 5:
            raise ValueError(f"latency must be at least 5, not {latency}")
        super().__init__({
            "i": In(InnerBeat(config)),
            "headers": In(8 * HEADER_OCTETS),
            "settings": In(LaneSettings(config)),
            "o": Out(Findings(config)),
        })

    def elaborate(self, platform):
        m = Module()

        def delayed(signal, name):
            register = Signal.like(signal, name=name)
            m.d.sync += register.eq(signal)
            return register

        checks = data.StructLayout(dict.fromkeys(CHECKS, 1))

        # First cycle: fields alone; what lengths there are, and what they should be.
        header = HeaderView(self.headers)
        first = Signal(checks)
        m.d.comb += self._frame(first)
        m.d.comb += self._routing(first)
        m.d.comb += self._fields(header, first)
        failed = delayed(first, "failed_1")
        notes = delayed(self.i.notes, "notes_1")
        late = delayed(self.i.late, "late_1")
        claimed = Signal(signed(17))
        is_ipv4 = self.i.notes.ipv4
        of_ipv4 = header.ipv4.total_length - headers.IPV4.octets
        m.d.sync += claimed.eq(Mux(is_ipv4, of_ipv4, header.ipv6.payload_length))
        claimed_udp = delayed(header.udp.length, "claimed_udp_1")
        opcode = delayed(header.bth.opcode, "opcode_1")
        pad = delayed(header.bth.pad, "pad_1")
        inner = Signal(signed(16))
        outer = Signal(signed(16))
        before = START_SKEW + START_UNIT * self.i.notes.start
        ip_header = Mux(is_ipv4, headers.IPV4.octets, headers.IPV6.octets)
        m.d.sync += inner.eq(self.i.octets - (before + ip_header))
        tags = headers.VLAN.octets * self.i.notes.tags
        m.d.sync += outer.eq(self.i.octets - (_OUTER_OCTETS + tags))
        wanted = Signal(7)
        m.d.sync += self._wanted(header, wanted)
        m.submodules.ipv4_sum = ipv4_sum = Ipv4Sum()
        m.d.comb += ipv4_sum.i.eq(header.ipv4.as_value())

        # Second cycle: they are compared, and what is left is payload and pad.
        second = Signal(checks)
        m.d.comb += second.eq(failed)
        m.d.comb += second.no_ip.eq(inner < 0)
        m.d.comb += second.no_udp.eq(inner < headers.UDP.octets)
        m.d.comb += second.no_bth.eq(inner < headers.UDP.octets + headers.BTH.octets)
        is_off = (inner != claimed) | (claimed_udp != claimed)
        is_off_outside = outer != notes.payload_length
        with m.If(notes.trimmed):
            is_longer = (inner > claimed) | (notes.tunnel & (outer > notes.payload_length))
            m.d.comb += second.length.eq(is_longer)
        with m.Else():
            m.d.comb += second.length.eq(is_off | (notes.tunnel & is_off_outside))
        failed = delayed(second, "failed_2")
        trimmed = delayed(notes.trimmed, "trimmed_2")
        is_ipv4 = delayed(notes.ipv4, "ipv4_2")
        late = delayed(late, "late_2")
        rest = Signal(signed(17))
        m.d.sync += rest.eq(Mux(notes.trimmed, inner, claimed) - wanted)
        has_payload = delayed(is_write(opcode), "has_payload_2")
        pad = delayed(pad, "pad_2")

        # Third cycle. The rest is a multiple of 4 where all is well, and so is the MTU: for which
        # of them is larger, the pad makes no difference.
        third = Signal(checks)
        m.d.comb += third.eq(failed)
        m.d.comb += third.no_extension.eq((rest < 0) | (~has_payload & (rest != 0)))
        m.d.comb += third.pad.eq(~trimmed & ((rest[:2] != 0) | (pad > rest)))
        m.d.comb += third.long_payload.eq(~trimmed & (rest > self.config.mtu))
        failed = delayed(third, "failed_3")
        is_ipv4 = delayed(is_ipv4, "ipv4_3")
        late = delayed(late, "late_3")
        octets = Signal.like(self.o.octets, name="octets_3")
        m.d.sync += octets.eq(rest - pad)

        # Fourth cycle: the sum of an IPv4 header is known.
        fourth = Signal(checks)
        m.d.comb += fourth.eq(failed)
        m.d.comb += fourth.checksum.eq(is_ipv4 & ~ipv4_sum.good)
        failed = delayed(fourth.as_value(), "failed_4")
        octets = delayed(octets, "octets_4")
        late = delayed(late, "late_4")

        # Fifth cycle: the first one that failed.
        found = Signal(Findings(self.config))
        m.d.sync += found.failed.eq(failed & ~(failed - 1))
        m.d.sync += found.bad.eq(failed.any())
        m.d.sync += found.octets.eq(octets)
        m.d.sync += found.late.eq(late)
        for cycle in range(5, self.latency):
            found = delayed(found, f"found_{cycle}")
        m.d.comb += self.o.eq(found)

        return m

    def _frame(self, check):
        notes = self.i.notes

        yield check.disabled.eq(notes.disabled)
        yield check.bad_frame.eq(self.i.bad)
        yield check.runt.eq(self.i.octets < _MIN_FRAME_OCTETS)
        yield check.long_frame.eq(self.i.octets > MAX_FRAME_OCTETS)
        yield check.vlan.eq(notes.other_vlan)
        yield check.ether_type.eq(notes.not_ip)
        yield check.outermost_version.eq(notes.bad_version)
        yield check.outer_destination.eq(notes.tunnel & ~notes.own)

    def _routing(self, check):
        # Each entry takes two units. Segments left may be one more than the last entry, for the
        # one that a reduced header leaves out.
        notes, srh = self.i.notes, self.i.notes.srh
        is_srh = srh.routing_type == _SRH_TYPE
        is_malformed = Mux(
            is_srh,
            (srh.last_entry * 2 + 2 > srh.header_length) | (srh.segments_left > srh.last_entry + 1),
            srh.segments_left != 0,
        )
        is_beyond = (is_srh & ((srh.segments_left != 0) | (srh.last_entry >= SEGMENTS_MAX))) | (
            srh.header_length > MAX_SRH_UNITS
        )

        ends_at = _OUTER_OCTETS + headers.SRH.octets + headers.VLAN.octets * notes.tags
        yield check.no_srh.eq(notes.routed & (self.i.octets < ends_at))
        yield check.srh.eq(notes.routed & is_malformed)
        yield check.srh_support.eq(notes.routed & is_beyond)
        yield check.srh_next_header.eq(notes.routed & (srh.next_header != NextHeader.IPV6))

    def _fields(self, header, check):
        notes, settings = self.i.notes, self.settings
        ipv6, ipv4, bth = header.ipv6, header.ipv4, header.bth
        opcode = bth.opcode
        known = Cat(opcode == other for other in _EXTENSIONS).any()
        is_endpoint = (opcode == Opcode.ENDPOINT_REQUEST) | (opcode == Opcode.ENDPOINT_RESPONSE)
        port = header.udp.destination_port
        is_other = ipv6.destination != settings.loopback
        is_other_ipv4 = ipv4.destination != settings.loopback_ipv4
        protocol = Mux(notes.ipv4, ipv4.protocol, ipv6.next_header)
        has_options = ipv4.header_length != headers.IPV4.octets // 4
        is_fragment = ipv4.more_fragments | (ipv4.fragment_offset != 0)

        yield check.version.eq(~notes.ipv4 & (ipv6.version != 6))
        yield check.destination.eq(Mux(notes.ipv4, is_other_ipv4, is_other))
        yield check.next_header.eq(protocol != NextHeader.UDP)
        yield check.options.eq(notes.ipv4 & has_options)
        yield check.fragment.eq(notes.ipv4 & is_fragment)
        yield check.udp_port.eq(
            (port != settings.udp_port) & (port != settings.udp_port_alternative)
        )
        yield check.ecn.eq(notes.tunnel & notes.ce & (ipv6.ecn == Ecn.NOT_ECT))
        yield check.tver.eq(bth.tver != 0)
        yield check.pkey.eq(bth.p_key != _P_KEY)
        yield check.opcode.eq(~is_write(opcode) & (~known | notes.trimmed))
        yield check.qp.eq(is_endpoint & (bth.dqp != _ENDPOINT_QP))

    def _wanted(self, header, wanted):
        # IPv6 payload without that of the packet. What is no known opcode is dropped before.
        fixed = headers.UDP.octets + headers.BTH.octets + headers.ICRC.octets
        stamp = headers.TSETH.octets * header.bth.timestamped
        immediate = headers.IMMDT.octets * with_immediate(header.bth.opcode)
        total = fixed + headers.METH.octets + headers.RETH.octets + stamp + immediate
        for opcode, octets in _EXTENSIONS.items():
            total = Mux(header.bth.opcode == opcode, fixed + octets, total)
        kept = headers.UDP.octets + headers.BTH.octets + headers.METH.octets + stamp
        yield wanted.eq(Mux(self.i.notes.trimmed, kept, total))
