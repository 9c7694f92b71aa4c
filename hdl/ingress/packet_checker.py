"""Checks of everything in a packet but its ICRC."""

from operator import index

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import Settings
from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.opcodes import NextHeader, Opcode

from .frame import INNER_SKEW, InnerBeat, max_frame_octets
from .header_collector import BTH_AT, HEADER_OCTETS, HeaderView, is_write, with_immediate
from .reasons import CHECKS

__all__ = ["Findings", "PacketChecker"]

#: Shortest Ethernet frame without its check sequence (IEEE 802.3, section 4A.4.2). No MRC packet is
#: so short that it would be padded up to this length.
_MIN_FRAME_OCTETS = 60

_P_KEY = 0xFFFF

_OUTER_OCTETS = headers.ETHERNET.octets + headers.IPV6.octets

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
    octets : payload octets
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "failed": data.StructLayout(dict.fromkeys(CHECKS, 1)),
            "bad": 1,
            "octets": range(config.mtu + 1),
        })


class PacketChecker(wiring.Component):
    """Check a packet: addresses, lengths, numbers, pad.

    A packet has to be exactly as long as each of its headers says. Its payload is as long as the
    UDP length says, without headers, pad and ICRC; it may be empty.

    One packet per cycle. Nothing here is deeper than a comparison of 128 bits.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    latency : :class:`int`
        Cycles from the last beat to ``o``; at least 4.

    Members
    -------
    i : ``In(InnerBeat(config))``, ``headers``
        Inner packets, as they come out of a :class:`.HeaderCollector`.
    settings : ``In(Settings(config))``
        Settings.
    o : ``Out(Findings(config))``
        What was found of the packet that ended ``latency`` cycles ago.

    Raises
    ------
    ValueError
        If ``latency`` is less than 4.
    """

    def __init__(self, config: NicConfig, *, latency: int):
        self.config = config
        self.latency = index(latency)
        if self.latency < 4:
            raise ValueError(f"latency must be at least 4, not {latency}")
        super().__init__({
            "i": In(InnerBeat(config)),
            "headers": In(8 * HEADER_OCTETS),
            "settings": In(Settings(config)),
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
        m.d.comb += self._fields(header, first)
        failed = delayed(first, "failed_1")
        notes = delayed(self.i.notes, "notes_1")
        claimed = delayed(header.ipv6.payload_length, "claimed_1")
        claimed_udp = delayed(header.udp.length, "claimed_udp_1")
        opcode = delayed(header.bth.opcode, "opcode_1")
        pad = delayed(header.bth.pad, "pad_1")
        inner = Signal(range(-1 << 15, 1 << 15))
        outer = Signal.like(inner)
        start = INNER_SKEW + (self.i.notes.start << 3)
        m.d.sync += inner.eq(self.i.octets - start - headers.IPV6.octets)
        m.d.sync += outer.eq(self.i.octets - _OUTER_OCTETS)
        wanted = Signal(7)
        m.d.sync += self._wanted(header, wanted)

        # Second cycle: they are compared, and what is left is payload and pad.
        second = Signal(checks)
        m.d.comb += second.eq(failed)
        m.d.comb += second.no_ipv6.eq(inner < 0)
        m.d.comb += second.no_bth.eq(inner < BTH_AT + headers.BTH.octets - headers.IPV6.octets)
        m.d.comb += second.length.eq(
            (inner != claimed)
            | (claimed_udp != claimed)
            | (notes.tunnel & (outer != notes.payload_length))
        )
        failed = delayed(second, "failed_2")
        rest = Signal(range(-1 << 16, 1 << 16))
        m.d.sync += rest.eq(claimed - wanted)
        has_payload = delayed(is_write(opcode), "has_payload_2")
        pad = delayed(pad, "pad_2")

        # Third cycle. The rest is a multiple of 4 where all is well, and so is the MTU: for which
        # of them is larger, the pad makes no difference.
        third = Signal(checks)
        m.d.comb += third.eq(failed)
        m.d.comb += third.no_extension.eq((rest < 0) | (~has_payload & (rest != 0)))
        m.d.comb += third.pad.eq((rest[:2] != 0) | (pad > rest))
        m.d.comb += third.long_payload.eq(rest > self.config.mtu)
        failed = delayed(third.as_value(), "failed_3")
        octets = Signal.like(self.o.octets)
        m.d.sync += octets.eq(rest - pad)

        # Fourth cycle: the first one that failed.
        found = Signal(Findings(self.config))
        m.d.sync += found.failed.eq(failed & ~(failed - 1))
        m.d.sync += found.bad.eq(failed.any())
        m.d.sync += found.octets.eq(octets)
        for cycle in range(4, self.latency):
            found = delayed(found, f"found_{cycle}")
        m.d.comb += self.o.eq(found)

        return m

    def _fields(self, header, check):
        notes, settings = self.i.notes, self.settings
        known = Cat(header.bth.opcode == opcode for opcode in _EXTENSIONS).any()
        port = header.udp.destination_port

        yield check.disabled.eq(notes.disabled)
        yield check.bad_frame.eq(self.i.bad)
        yield check.runt.eq(self.i.octets < _MIN_FRAME_OCTETS)
        yield check.long_frame.eq(self.i.octets > max_frame_octets(self.config))
        yield check.ether_type.eq(notes.not_ipv6)
        yield check.outermost_version.eq(notes.bad_version)
        yield check.outer_destination.eq(notes.foreign)
        yield check.srh.eq(notes.bad_srh)
        yield check.srh_support.eq(notes.srh_unsupported)
        yield check.srh_next_header.eq(notes.bad_next_header)
        yield check.version.eq(header.ipv6.version != 6)
        yield check.destination.eq(header.ipv6.destination != settings.loopback)
        yield check.next_header.eq(header.ipv6.next_header != NextHeader.UDP)
        yield check.udp_port.eq(
            (port != settings.udp_port) & (port != settings.udp_port_alternative)
        )
        yield check.trimmed.eq(notes.trimmed)
        yield check.tver.eq(header.bth.tver != 0)
        yield check.pkey.eq(header.bth.p_key != _P_KEY)
        yield check.opcode.eq(~known & ~is_write(header.bth.opcode))

    def _wanted(self, header, wanted):
        # IPv6 payload without that of the packet. What is no known opcode is dropped before.
        fixed = headers.UDP.octets + headers.BTH.octets + headers.ICRC.octets
        options = header.bth.timestamped + with_immediate(header.bth.opcode)
        total = fixed + headers.METH.octets + headers.RETH.octets + 4 * options
        for opcode, octets in _EXTENSIONS.items():
            total = Mux(header.bth.opcode == opcode, fixed + octets, total)
        yield wanted.eq(total)
