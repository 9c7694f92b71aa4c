"""Neighbour advertisements, for solicitations that deserve one."""

from operator import index

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.descriptor.settings import PortSettings
from mrcnic.hdl.packet.beat import packet_signature
from mrcnic.hdl.packet.keep import end_to_keep
from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.layout import HeaderLayout

from .checksum import Icmpv6Sum
from .neighbour_filter import Candidate
from .solicitation import (
    ADVERTISED_OCTETS,
    ADVERTISEMENT,
    ICMPV6,
    IPV6_TYPE,
    NEIGHBOUR_START,
    PACKET_OCTETS,
    Findings,
    all_good,
    find,
)

__all__ = ["Advertiser"]

#: All nodes: where a node is answered that has no address yet (RFC 4861, section 7.2.4).
_ALL_NODES = 0xFF02_0000_0000_0000_0000_0000_0000_0001
_ALL_NODES_MAC = 0x3333_0000_0001

_BITS = 8 * PACKET_OCTETS


class Advertiser(wiring.Component):
    """Judge a frame, and make the reply if it is a good solicitation for this port.

    The verdict comes 44 cycles after ``start``, of which the checksum takes 43. The reply is
    offered 44 cycles later, beat by beat without a pause. In the meantime ``free`` is not set.

    Parameters
    ----------
    octets : :class:`int`
        Octets per beat; from 8 to 128.

    Members
    -------
    settings : ``In(PortSettings())``
        Addresses of the port.
    free : ``Out(1)``
        Nothing is being judged, and no reply waits.
    start : ``In(1)``
        Judge ``candidate``; only with ``free``.
    candidate : ``In(Candidate())``
        A frame that looks like a solicitation.
    judged, consume : ``Out(1)``
        The verdict is there: whether the frame is going to be answered.
    o : ``Out(packet_signature(octets))``
        Replies.
    """

    def __init__(self, *, octets: int):
        self.octets = index(octets)
        super().__init__({
            "settings": In(PortSettings()),
            "free": Out(1, init=1),
            "start": In(1),
            "candidate": In(Candidate()),
            "judged": Out(1),
            "consume": Out(1),
            "o": Out(packet_signature(self.octets)),
        })

    def elaborate(self, platform):
        m = Module()

        ethernet = HeaderLayout(headers.ETHERNET)
        packet = Signal(_BITS, reset_less=True)  # from the IPv6 header on
        length = Signal(7, reset_less=True)  # of the frame
        link = Signal(ethernet, reset_less=True)
        tags = Signal(2, reset_less=True)
        tag_octets = Signal(64, reset_less=True)

        m.submodules.summer = summer = Icmpv6Sum(octets=PACKET_OCTETS)
        findings = Signal(Findings())
        found = Signal(Findings(), reset_less=True)
        fits = Signal(reset_less=True)
        good = Signal()
        looking = Signal()  # the first cycle with the packet in place
        making = Signal()  # the packet is the reply
        m.d.comb += summer.word.eq(packet[:16])
        m.d.sync += fits.eq(all_good(found))  # long before the sum is there
        m.d.comb += good.eq(fits & (summer.sum == 0xFFFF))
        rest = Signal(7)  # octets behind the IPv6 header
        with m.Switch(tags):
            for count in range(3):
                with m.Case(count):
                    start = headers.ETHERNET.octets + count * headers.VLAN.octets
                    m.d.comb += rest.eq(length - start - NEIGHBOUR_START)
        find(m, findings, packet=packet, octets=rest, link=link, settings=self.settings)

        m.d.sync += looking.eq(self.start)
        with m.If(looking):
            m.d.sync += found.eq(findings)
        m.d.comb += summer.start.eq(looking | (self.judged & self.consume))
        m.d.comb += self.judged.eq(summer.done & ~making)
        m.d.comb += self.consume.eq(good)

        with m.If(self.start):
            m.d.sync += self.free.eq(0)
            self._take(m, packet, length, link, tags, tag_octets)
        with m.Elif(looking):
            m.d.sync += packet.eq(self._cut(packet, rest))
        with m.Elif(summer.using):
            m.d.sync += packet.eq(Cat(packet[16:], packet[:16]))  # all the way round
        with m.Elif(self.judged):
            m.d.sync += making.eq(good)
            m.d.sync += self.free.eq(~good)
            m.d.sync += packet.eq(self._advertisement(packet, found))

        nobody = found.from_nobody
        front = Signal(ethernet)
        m.d.comb += front.destination.eq(Mux(nobody, _ALL_NODES_MAC, link.source))
        m.d.comb += front.source.eq(self.settings.own_mac)
        m.d.comb += front.ether_type.eq(IPV6_TYPE)
        self._send(m, summer.done & making, packet, ~summer.sum, front, tags, tag_octets)
        with m.If(self.o.valid & self.o.ready & self.o.payload.last):
            m.d.sync += making.eq(0)
            m.d.sync += self.free.eq(1)

        return m

    def _take(self, m, packet, length, link, tags, tag_octets):
        """Bring the packet to the start of its register."""
        octets = self.candidate.octets
        behind = headers.ETHERNET.octets
        m.d.sync += link.eq(HeaderLayout(headers.ETHERNET).from_octets(octets))
        m.d.sync += tags.eq(self.candidate.tags)
        m.d.sync += length.eq(self.candidate.length)
        m.d.sync += tag_octets.eq(octets[8 * (behind - 2) :])
        with m.Switch(self.candidate.tags):
            for count in range(3):
                with m.Case(count):
                    m.d.sync += packet.eq(octets[8 * (behind + count * headers.VLAN.octets) :])

    def _cut(self, packet, rest):
        """Return ``packet`` without what is behind its end, if it is of a length that is good."""
        options = 8 * (NEIGHBOUR_START + headers.NEIGHBOUR.octets)
        return Cat(
            packet[:options],
            Mux(rest > 24, packet[options : options + 64], 0),
            Mux(rest > 32, packet[options + 64 :], 0),
        )

    def _advertisement(self, packet, found):
        """Return the reply to ``packet``, without its checksum, as the octets of a packet."""
        asked = HeaderLayout(headers.IPV6).from_octets(packet)
        target = HeaderLayout(headers.NEIGHBOUR).from_octets(packet[8 * NEIGHBOUR_START :]).target
        nobody = found.from_nobody
        parts = (
            (
                headers.IPV6,
                {
                    "version": Const(6, 4),
                    "payload_length": Const(ADVERTISED_OCTETS - NEIGHBOUR_START, 16),
                    "next_header": Const(ICMPV6, 8),
                    "hop_limit": Const(255, 8),
                    "source": target,
                    "destination": Mux(nobody, Const(_ALL_NODES, 128), asked.source),
                },
            ),
            (
                headers.NEIGHBOUR,
                {
                    "type": Const(ADVERTISEMENT, 8),
                    "solicited": ~nobody,
                    "override": Const(1, 1),
                    "target": target,
                },
            ),
            (
                headers.LINK_ADDRESS,
                {"type": Const(2, 8), "length": Const(1, 8), "address": self.settings.own_mac},
            ),
        )
        return Cat(_octets_of(header, fields) for header, fields in parts)

    def _send(self, m, start, packet, checksum, front, tags, tag_octets):
        """Send the reply from the cycle after ``start`` on."""
        longest = headers.ETHERNET.octets + 2 * headers.VLAN.octets + ADVERTISED_OCTETS
        beats = -(-longest // self.octets)
        frame = Signal(8 * self.octets * beats, reset_less=True)
        left = Signal(range(beats + 1), reset_less=True)  # beats behind this one
        end = Signal(range(self.octets), reset_less=True)
        place = 8 * NEIGHBOUR_START + 16
        reply = Cat(
            packet[:place], checksum[8:16], checksum[:8], packet[place + 16 : 8 * ADVERTISED_OCTETS]
        )
        addresses = HeaderLayout(headers.ETHERNET).to_octets(front)
        with m.If(start):
            m.d.sync += self.o.valid.eq(1)
            m.d.sync += self.o.payload.first.eq(1)
            with m.Switch(tags):
                for count in range(3):
                    with m.Case(count):
                        total = longest - (2 - count) * headers.VLAN.octets
                        m.d.sync += left.eq(-(-total // self.octets) - 1)
                        m.d.sync += end.eq((total - 1) % self.octets)
                        m.d.sync += frame.eq(
                            Cat(addresses[:96], tag_octets[: 32 * count], addresses[96:], reply)
                        )
        with m.Elif(self.o.valid & self.o.ready):
            m.d.sync += self.o.valid.eq(left != 0)
            m.d.sync += self.o.payload.first.eq(0)
            m.d.sync += left.eq(left - 1)
            m.d.sync += frame.eq(frame >> (8 * self.octets))
        m.d.comb += self.o.payload.data.as_value().eq(frame)
        m.d.comb += self.o.payload.last.eq(left == 0)
        m.d.comb += self.o.payload.keep.eq(
            end_to_keep(end, self.octets) | (left != 0).replicate(self.octets)
        )


def _octets_of(header, fields):
    """Return a header with these fields, and zeros elsewhere, as octets."""
    layout = HeaderLayout(header)
    number = Cat(
        fields.get(name, Const(0, width)) for name, width in reversed(header.fields.items())
    )
    return layout.to_octets(data.View(layout, number))
