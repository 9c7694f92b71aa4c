"""Ethernet, outer IPv6 and segment routing header of a received frame."""

from itertools import pairwise
from operator import index

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import Settings
from mrcnic.hdl.packet.beat import packet_signature
from mrcnic.hdl.packet.keep import keep_to_end
from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.layout import HeaderLayout
from mrcnic.hdl.wire.opcodes import Ecn, EtherType, NextHeader, Role

from .frame import INNER_SKEW, MAX_SRH_UNITS, FrameBeat, FrameNotes

__all__ = ["OuterParser"]

#: Octets that the notes are made of: up to the fixed part of a segment routing header.
_WINDOW = 64

_IPV6_AT = headers.ETHERNET.octets
_SRH_AT = _IPV6_AT + headers.IPV6.octets

#: Where inner packets start, in the units of ``FrameNotes.start``.
_START_PLAIN = (_IPV6_AT - INNER_SKEW) // 8
_START_TUNNEL = (_SRH_AT - INNER_SKEW) // 8

_SRH_TYPE = 4  # RFC 8754, section 2
_MAX_LAST_ENTRY = 7


class OuterParser(wiring.Component):
    """Find out whether a frame is for this port, and where the inner packet starts.

    A frame whose outermost IPv6 header says next header 41, or 43 for a routing header, is a
    tunnel: it is taken if the first 48 bits of the destination are the block and the uSID of this
    port (docs/protocol.md, "EV and uSID layout"). Any other frame is its own inner packet, and
    its destination is checked elsewhere.

    Of a segment routing header (RFC 8754), what is malformed is refused; what is well-formed is
    skipped by its length if no segment is left. Well-formed ones with segments left, with more
    than eight segments, or with ``header_length`` above 24 are refused as not supported. Routing
    headers of other types are skipped if no segment is left (RFC 8200, section 4.4).

    Whether the port is enabled is looked at in the first beat of a frame and at no other time.

    Latency is two cycles with beats of 64 octets or more; with smaller ones, a beat leaves when
    the 64 octets from it on are there, or the rest of the frame. One beat per cycle passes.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    port : :class:`int`
        Number of the port.

    Members
    -------
    i : ``In(packet_signature(config.beat_octets, user_shape=1))``
        Frames from the MAC, without frame check sequence; ``user`` of the last beat says that the
        frame is bad. ``ready`` is always set.
    settings : ``In(Settings(config))``
        Settings.
    o : ``Out(FrameBeat(config))``
        The same with notes.
    """

    def __init__(self, config: NicConfig, *, port: int):
        self.config = config
        self.port = index(port)
        super().__init__({
            "i": In(packet_signature(config.beat_octets, user_shape=1)),
            "settings": In(Settings(config)),
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
        line = [Signal(entry, name=f"entry_{n}") for n in range(max(1, _WINDOW // octets))]
        head, newest = line[0], line[-1]

        m.d.comb += self.i.ready.eq(1)

        # Beats move up when another one comes, and when no more is to come of this frame.
        moves = Signal()
        m.d.comb += moves.eq(self.i.valid | ~newest.valid | newest.last)

        beat = self.i.payload
        inside = Signal()  # within a frame
        with m.If(self.i.valid):
            m.d.sync += inside.eq(~beat.last)
        with m.If(moves):
            m.d.sync += [older.eq(newer) for older, newer in pairwise(line)]
            m.d.sync += [
                newest.valid.eq(self.i.valid),
                newest.first.eq(~inside),
                newest.last.eq(beat.last),
                newest.data.eq(beat.data),
                newest.end.eq(keep_to_end(beat.keep)),
                newest.bad.eq(beat.user),
                newest.enabled.eq(self.settings.port[self.port].enable),
            ]

        notes = Signal(FrameNotes())
        m.d.comb += self._look(Cat(older.data for older in line)[: 8 * _WINDOW], notes)
        m.d.comb += notes.disabled.eq(~head.enabled)

        m.d.sync += self.o.valid.eq(head.valid & moves)
        with m.If(head.valid & moves):
            m.d.sync += [self.o[name].eq(head[name]) for name in ("last", "data", "end", "bad")]
            limit = len(self.o.index)
            highest = dict(self.o.shape())["index"].shape.stop - 1
            with m.If(head.first):
                m.d.sync += self.o.index.eq(0)
                m.d.sync += self.o.notes.eq(notes)
            with m.Elif(self.o.index != highest):
                m.d.sync += self.o.index.eq((self.o.index + 1)[:limit])

        return m

    def _look(self, window, notes):
        ethernet = HeaderLayout(headers.ETHERNET).from_octets(window)
        ipv6 = HeaderLayout(headers.IPV6).from_octets(window[8 * _IPV6_AT :])
        srh = HeaderLayout(headers.SRH).from_octets(window[8 * _SRH_AT :])

        is_routed = ipv6.next_header == NextHeader.ROUTING
        is_tunnel = is_routed | (ipv6.next_header == NextHeader.IPV6)
        is_srh = srh.routing_type == _SRH_TYPE
        own = Cat(self.settings.port[self.port].usid, self.settings.block)
        # Each entry takes two units. Segments left may be one more than the last entry, for the
        # one that a reduced header leaves out.
        is_malformed = Mux(
            is_srh,
            (srh.last_entry * 2 + 2 > srh.header_length) | (srh.segments_left > srh.last_entry + 1),
            srh.segments_left != 0,
        )
        is_beyond = (is_srh & ((srh.segments_left != 0) | (srh.last_entry > _MAX_LAST_ENTRY))) | (
            srh.header_length > MAX_SRH_UNITS
        )
        dscp = self.settings.dscp

        yield notes.not_ipv6.eq(ethernet.ether_type != EtherType.IPV6)
        yield notes.bad_version.eq(ipv6.version != 6)
        yield notes.tunnel.eq(is_tunnel)
        yield notes.foreign.eq(is_tunnel & (ipv6.destination[80:] != own))
        yield notes.bad_srh.eq(is_routed & is_malformed)
        yield notes.srh_unsupported.eq(is_routed & is_beyond)
        yield notes.bad_next_header.eq(is_routed & (srh.next_header != NextHeader.IPV6))
        yield notes.trimmed.eq(
            (ipv6.dscp == dscp[Role.TRIMMED]) | (ipv6.dscp == dscp[Role.TRIMMED_LASTHOP])
        )
        yield notes.last_hop.eq(ipv6.dscp == dscp[Role.TRIMMED_LASTHOP])
        yield notes.ce.eq(ipv6.ecn == Ecn.CE)
        yield notes.payload_length.eq(ipv6.payload_length)
        yield notes.start.eq(
            Mux(
                is_routed,
                _START_TUNNEL + 1 + srh.header_length[:5],
                Mux(is_tunnel, _START_TUNNEL, _START_PLAIN),
            )
        )
