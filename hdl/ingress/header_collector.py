"""Inner headers, side by side."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.layout import HeaderLayout
from mrcnic.hdl.wire.opcodes import Opcode

from .frame import InnerBeat

__all__ = [
    "BTH_AT",
    "HEADER_OCTETS",
    "IP_SAVING",
    "HeaderCollector",
    "HeaderView",
    "is_write",
    "with_immediate",
]

UDP_AT = headers.IPV6.octets

#: By so much an IPv4 header is shorter than one of IPv6.
IP_SAVING = headers.IPV6.octets - headers.IPV4.octets

#: Offset of the BTH in an inner packet of IPv6.
BTH_AT = UDP_AT + headers.UDP.octets

_EXTENSION_AT = BTH_AT + headers.BTH.octets

#: Longest inner headers: those of a SACK.
HEADER_OCTETS = _EXTENSION_AT + headers.SETH.octets + headers.CC_STATE.octets


def is_write(opcode):
    """Return whether ``opcode`` is one of the RDMA writes, whose packets have payload."""
    return (opcode >= Opcode.WRITE_FIRST) & (opcode <= Opcode.WRITE_ONLY_IMM)


def with_immediate(opcode):
    """Return whether the packets of ``opcode`` carry immediate data."""
    return (opcode == Opcode.WRITE_LAST_IMM) | (opcode == Opcode.WRITE_ONLY_IMM)


class HeaderView:
    """The fields of inner headers, at their places. Which of them there are, the opcode says.

    Parameters
    ----------
    octets : :class:`~amaranth.hdl.Value`
        First octets of an inner packet, as :class:`HeaderCollector` puts them.

    Attributes
    ----------
    ipv6, ipv4, udp, bth, meth, tseth, reth, immediate : views
    seth, cc_state, nack, ack, probe, request, response : views
        Headers. ``reth`` and ``immediate`` are where the flag of the BTH says that they are.
    """

    def __init__(self, octets):
        def at(header, offset):
            return HeaderLayout(header).from_octets(octets[8 * offset :])

        def behind(header, offset):
            # Behind the timestamp, where there is one.
            layout = HeaderLayout(header)
            late, early = at(header, offset + headers.TSETH.octets), at(header, offset)
            return data.View(layout, Mux(self.bth.timestamped, late.as_value(), early.as_value()))

        self.ipv6 = at(headers.IPV6, 0)
        self.ipv4 = at(headers.IPV4, 0)
        self.udp = at(headers.UDP, UDP_AT)
        self.bth = at(headers.BTH, BTH_AT)
        self.meth = at(headers.METH, _EXTENSION_AT)
        behind_meth = _EXTENSION_AT + headers.METH.octets
        self.tseth = at(headers.TSETH, behind_meth)
        self.reth = behind(headers.RETH, behind_meth)
        self.immediate = behind(headers.IMMDT, behind_meth + headers.RETH.octets).immediate
        self.seth = at(headers.SETH, _EXTENSION_AT)
        self.cc_state = at(headers.CC_STATE, _EXTENSION_AT + headers.SETH.octets)
        self.nack = at(headers.NETH, _EXTENSION_AT)
        self.ack = at(headers.AETH, _EXTENSION_AT)
        self.probe = at(headers.PETH, _EXTENSION_AT)
        self.request = at(headers.ERTH, _EXTENSION_AT)
        self.response = at(headers.EETH, _EXTENSION_AT)


class HeaderCollector(wiring.Component):
    """Keep the first octets of each inner packet, and hand on its beats.

    In the cycle in which a beat is at ``o``, its octets are among the headers already. With beats
    of 64 octets the headers are complete at most three cycles after the beat of the frame with the
    last of them; so four after the first beat of a frame without routing header. What a short
    packet does not have is left over from others.

    All headers from the UDP header on are where an IPv6 header would leave them, also behind an
    IPv4 header.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(InnerBeat(config))``
        Inner packets.
    o : ``Out(InnerBeat(config))``
        The same, one cycle later.
    index : ``Out(...)``
        Number of the beat at ``o`` within its packet, up to the first one without headers.
    headers : ``Out(8 * HEADER_OCTETS)``
        Octets, the first in the least significant bits.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        self.beats = -(-HEADER_OCTETS // config.beat_octets)
        super().__init__({
            "i": In(InnerBeat(config)),
            "o": Out(InnerBeat(config)),
            "index": Out(range(self.beats + 1)),
            "headers": Out(8 * HEADER_OCTETS),
        })

    def elaborate(self, platform):
        m = Module()

        width = 8 * self.config.beat_octets
        rows = [Signal(width, name=f"row_{n}", reset_less=True) for n in range(self.beats)]
        index = Signal.like(self.index)
        with m.If(self.i.first):
            m.d.comb += index.eq(0)
        with m.Elif(self.index != self.beats):
            m.d.comb += index.eq(self.index + 1)
        with m.Else():
            m.d.comb += index.eq(self.beats)

        m.d.sync += self.o.eq(self.i)
        with m.If(self.i.valid):
            m.d.sync += self.index.eq(index)
            with m.Switch(index):
                for number, row in enumerate(rows):
                    with m.Case(number):
                        m.d.sync += row.eq(self.i.data)
        octets = Cat(rows)[: 8 * HEADER_OCTETS]
        behind_ipv4 = octets[8 * (UDP_AT - IP_SAVING) : 8 * (HEADER_OCTETS - IP_SAVING)]
        behind = Mux(self.o.notes.ipv4, behind_ipv4, octets[8 * UDP_AT :])
        m.d.comb += self.headers.eq(Cat(octets[: 8 * UDP_AT], behind))

        return m
