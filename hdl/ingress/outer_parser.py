"""Ethernet, VLAN tags, outermost IP header and routing header of a received frame."""

from itertools import pairwise

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import LaneSettings
from mrcnic.hdl.packet.beat import packet_signature
from mrcnic.hdl.packet.keep import keep_to_end
from mrcnic.hdl.packet.turning import chosen
from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.layout import HeaderLayout
from mrcnic.hdl.wire.opcodes import Ecn, NextHeader, Role

from .frame import START_SKEW, START_UNIT, FrameBeat
from .tag_reader import TAGS_MAX, TagNotes, TagReader

__all__ = ["OuterParser"]

#: Octets from the IP header on that the notes are made of.
_LOOK_OCTETS = headers.IPV6.octets + headers.SRH.octets

#: Where the outermost IP header is in an untagged frame, and the octets that it may end at.
_IP_AT = headers.ETHERNET.octets
_WINDOW = _IP_AT + TAGS_MAX * headers.VLAN.octets + _LOOK_OCTETS

#: Beats that are looked at together at the least: the tags are read from all but the oldest.
_BEATS_MIN = 2


def _starts(octet):
    return (octet - START_SKEW) // START_UNIT


class OuterParser(wiring.Component):
    """Find out what stands in front of the inner packet of a frame, and where that starts.

    A frame whose outermost IPv6 header says next header 41, or 43 for a routing header, is a
    tunnel. Any other frame is its own inner packet. Nothing is refused here.

    Whether the port is enabled is looked at in the first beat of a frame and at no other time.

    A beat leaves when the next one comes, one cycle later at the soonest; with beats of less than
    64 octets, when the 70 octets from it on are there. The rest of a frame never waits. One beat
    per cycle passes. The input is looked at as it comes, so it should come out of a register.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(packet_signature(config.beat_octets, user_shape=1))``
        Frames from the MAC, without frame check sequence; ``user`` of the last beat says that the
        frame is bad. ``ready`` is always set.
    settings : ``In(LaneSettings(config))``
        Settings.
    o : ``Out(FrameBeat(config))``
        The same with notes; combinational.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "i": In(packet_signature(config.beat_octets, user_shape=1)),
            "settings": In(LaneSettings(config)),
            "o": Out(FrameBeat(config)),
        })

    def elaborate(self, platform):
        m = Module()

        octets = self.config.beat_octets
        entry = data.StructLayout({
            "valid": 1,
            "first": 1,
            "last": 1,
            "data": 8 * octets,
            "end": range(octets),
            "bad": 1,
            "enabled": 1,
        })
        beats = max(_BEATS_MIN, -(-_WINDOW // octets))
        line = [Signal(entry, name=f"entry_{n}") for n in range(beats)]
        head, newest, arriving = line[0], line[-2], line[-1]  # the last one is the input

        beat = self.i.payload
        inside = Signal()  # within a frame
        with m.If(self.i.valid):
            m.d.sync += inside.eq(~beat.last)
        m.d.comb += self.i.ready.eq(1)
        m.d.comb += [
            arriving.valid.eq(self.i.valid),
            arriving.first.eq(~inside),
            arriving.last.eq(beat.last),
            arriving.data.eq(beat.data),
            arriving.end.eq(keep_to_end(beat.keep)),
            arriving.bad.eq(beat.user),
            arriving.enabled.eq(self.settings.port.enable),
        ]

        # Beats move up when another one comes, and when no more is to come of this frame.
        moves = Signal()
        m.d.comb += moves.eq(arriving.valid | ~newest.valid | newest.last)
        with m.If(moves):
            m.d.sync += [older.eq(newer) for older, newer in pairwise(line)]

        # The tags are read a cycle ahead of the rest, which stands behind them.
        m.submodules.tag_reader = tag_reader = TagReader(self.config)
        tags = Signal(TagNotes())
        m.d.comb += tag_reader.octets.eq(Cat(entry.data for entry in line[1:]))
        m.d.comb += tag_reader.settings.eq(self.settings)
        with m.If(moves):
            m.d.sync += tags.eq(tag_reader.o)

        window = Cat(entry.data for entry in line)
        packet = Signal(8 * _LOOK_OCTETS)
        with m.Switch(tags.count):
            for count in range(TAGS_MAX + 1):
                with m.Case(count) if count < TAGS_MAX else m.Default():
                    start = 8 * (_IP_AT + count * headers.VLAN.octets)
                    m.d.comb += packet.eq(window[start : start + len(packet)])

        # How many beats have gone before.
        beat_index = Signal.like(self.o.index)
        highest = dict(self.o.shape())["index"].shape.stop - 1
        with m.If(self.o.valid):
            with m.If(head.last):
                m.d.sync += beat_index.eq(0)
            with m.Elif(beat_index != highest):
                m.d.sync += beat_index.eq(beat_index + 1)

        m.d.comb += [
            self.o[name].eq(head[name]) for name in ("first", "last", "data", "end", "bad")
        ]
        m.d.comb += self.o.valid.eq(head.valid & moves)
        m.d.comb += self.o.index.eq(beat_index)
        m.d.comb += self._look(packet, tags, self.o.notes)
        m.d.comb += self.o.notes.disabled.eq(~head.enabled)

        return m

    def _look(self, packet, tags, notes):
        ipv6 = HeaderLayout(headers.IPV6).from_octets(packet)
        ipv4 = HeaderLayout(headers.IPV4).from_octets(packet)
        srh = HeaderLayout(headers.SRH).from_octets(packet[8 * headers.IPV6.octets :])

        is_ipv4 = tags.ipv4
        is_routed = ~is_ipv4 & (ipv6.next_header == NextHeader.ROUTING)
        is_tunnel = is_routed | (~is_ipv4 & (ipv6.next_header == NextHeader.IPV6))
        dscp = Mux(is_ipv4, ipv4.dscp, ipv6.dscp)
        ecn = Mux(is_ipv4, ipv4.ecn, ipv6.ecn)
        is_last_hop = dscp == self.settings.dscp[Role.TRIMMED_LASTHOP]
        # What the tags add is looked up with the rest, so that there is one adder in the path.
        plain, tunnel, routing = (
            chosen([Const(_starts(at) + count, 7) for count in range(TAGS_MAX + 1)], tags.count)
            for at in (
                _IP_AT,
                _IP_AT + headers.IPV6.octets,
                _IP_AT + headers.IPV6.octets + headers.SRH.octets,
            )
        )

        yield notes.tags.eq(tags.count)
        yield notes.other_vlan.eq(tags.other)
        yield notes.not_ip.eq(tags.not_ip)
        yield notes.ipv4.eq(is_ipv4)
        yield notes.own.eq(tags.own)
        yield notes.bad_version.eq(ipv6.version != Mux(is_ipv4, 4, 6))
        yield notes.tunnel.eq(is_tunnel)
        yield notes.routed.eq(is_routed)
        yield notes.trimmed.eq((dscp == self.settings.dscp[Role.TRIMMED]) | is_last_hop)
        yield notes.last_hop.eq(is_last_hop)
        yield notes.ce.eq(ecn == Ecn.CE)
        yield notes.payload_length.eq(ipv6.payload_length)
        yield notes.srh.eq(srh)
        # A routing header goes in units of 8 octets; a longer one than is skipped is refused.
        behind = ((srh.header_length[:5] << 1) + routing)[:7]
        yield notes.start.eq(Mux(is_routed, behind, Mux(is_tunnel, tunnel, plain)))
