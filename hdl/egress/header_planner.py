"""From a descriptor to the plan of its headers."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import TxDescriptor
from mrcnic.hdl.descriptor.settings import LaneSettings
from mrcnic.hdl.descriptor.sizes import NOW_BITS
from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.opcodes import Ecn, NextHeader, Role
from mrcnic.hdl.wire.srv6 import SEGMENTS_MAX

from .extension import build_extension
from .header_block import WORD_OCTETS, place_of
from .header_plan import TAGS_MAX, HeaderPlan, Sizes
from .ones_complement import WORD_BITS, add_with_wrap, compress, words_with

__all__ = ["HeaderPlanner"]

_IPV6_WORDS = headers.IPV6.octets // WORD_OCTETS
_IPV4_WORDS = headers.IPV4.octets // WORD_OCTETS
#: Words of an IPv4 header up to the one whose low half, in a frame, is its checksum.
_CHECKSUM_WORDS = 3
_SRH_WORDS = headers.SRH.octets // WORD_OCTETS
_SEGMENT_WORDS = headers.IPV6.fields["destination"] // 8 // WORD_OCTETS


class HeaderPlanner(wiring.Component):
    """Compute all that headers' lengths and places depend on, and offer a plan for each beat.

    Latency is one cycle; one beat per cycle passes, without a bubble between packets.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(TxDescriptor(config)))``
        Packets to be built.
    o : ``Out(stream.Signature(HeaderPlan(config)))``
        Beats of their headers.
    settings : ``In(LaneSettings(config))``
        VLAN tags, DSCP values, and what the checksum is made of.
    now : ``In(NOW_BITS)``
        Time.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(TxDescriptor(config))),
            "o": Out(stream.Signature(HeaderPlan(config))),
            "settings": In(LaneSettings(config)),
            "now": In(NOW_BITS),
        })

    def elaborate(self, platform):
        m = Module()

        descriptor = self.i.payload
        plan = Signal.like(self.o.payload, reset_less=True)
        words_per_beat = self.config.beat_octets // WORD_OCTETS
        low = (words_per_beat - 1).bit_length()
        list_words = Sizes(self.config).list_words
        more = Signal()
        m.d.comb += more.eq(plan.number != plan.words >> low)
        m.d.comb += self.o.payload.eq(plan)
        m.d.comb += self.o.payload.more.eq(more)

        extension, extension_words, timestamped = build_extension(
            m, descriptor, self.now[: headers.TSETH.fields["tx_timestamp"]]
        )
        route = self._route(m, descriptor)

        dscp = Signal(6)
        control = Signal()
        with m.Switch(descriptor.role):
            for role in Role:
                with m.Case(role):
                    m.d.comb += dscp.eq(self.settings.dscp[role])
                    m.d.comb += control.eq(role == Role.CONTROL)

        # Sums are kept short: words in front of the inner header that depend on the descriptor
        # are looked up, and those that depend on settings are there before.
        link = Signal.like(plan.prefix, init=place_of(headers.ETHERNET.octets))
        tags = self.settings.port.tags
        m.d.sync += link.eq(place_of(headers.ETHERNET.octets) + Mux(tags[1], TAGS_MAX, tags))
        place = Signal.like(plan.note.place)
        m.d.comb += place.eq(link + route.place)
        first_row, row_before = Signal.like(plan.rows[0]), Signal.like(plan.rows[0])
        m.d.comb += first_row.eq((list_words >> low) - (place >> low))
        m.d.comb += row_before.eq((list_words >> low) - 1 - (place >> low))
        behind = (headers.UDP.octets + headers.BTH.octets) // WORD_OCTETS
        words = link + (extension_words + (_IPV6_WORDS + behind)) + route.place
        rest = descriptor.octets + (WORD_OCTETS - 1 + headers.ICRC.octets)
        udp = descriptor.octets + Cat(Const(3, 2), extension_words + (behind + 1))
        ip_words = extension_words + Mux(descriptor.ipv4, behind + 1 + _IPV4_WORDS, behind + 1)
        ip = descriptor.octets + Cat(Const(3, 2), ip_words)

        m.d.comb += self.i.ready.eq(~self.o.valid | (self.o.ready & ~more))
        with m.If(self.i.ready):
            m.d.sync += self.o.valid.eq(self.i.valid)
            m.d.sync += plan.number.eq(0)
            for lane, row in enumerate(plan.rows):
                moved_on = place[:low] >= words_per_beat - lane if lane else 0
                m.d.sync += row.eq(Mux(moved_on, row_before, first_row))
            m.d.sync += plan.prefix.eq(link + route.prefix)
            m.d.sync += plan.words.eq(words)
            m.d.sync += plan.rest_words.eq(rest >> 2)
            m.d.sync += plan.udp_words.eq(udp >> 2)
            m.d.sync += plan.ip_words.eq(ip >> 2)
            m.d.sync += plan.outer_words.eq(route.outer)
            m.d.sync += plan.checksum_word.eq(link + route.checksum)
            for name in ("srh", "segments_left", "last_entry"):
                m.d.sync += plan[name].eq(route[name])
            m.d.sync += Cat(plan.sums).eq(Cat(self._sums(m, descriptor, dscp)))
            m.d.sync += plan.extension.eq(extension)
            m.d.sync += plan.timestamped.eq(timestamped)
            m.d.sync += plan.dscp.eq(dscp)
            m.d.sync += plan.pad.eq(-descriptor.octets[:2])
            m.d.sync += plan.payload.eq(descriptor.octets != 0)
            m.d.sync += plan.note.place.eq(place)
            m.d.sync += plan.note.ipv4.eq(descriptor.ipv4)
            m.d.sync += plan.note.control.eq(control)
            for name in (
                "opcode", "psn", "ack_request", "retransmission", "dqp", "ev", "ipv4",
                "destination", "srv6", "carrier", "reduced",
            ):  # fmt: skip
                m.d.sync += plan[name].eq(descriptor[name])
        with m.Elif(self.o.ready):
            m.d.sync += plan.number.eq(plan.number + 1)
            for row in plan.rows:
                m.d.sync += row.eq(row + 1)

        return m

    def _route(self, m, descriptor):
        """Return words in front of the inner header, and fields of the segment routing header."""
        route = Signal(
            data.StructLayout({
                "prefix": range(_IPV6_WORDS + _SRH_WORDS + 1),
                "place": signed(8),
                "checksum": range(_IPV6_WORDS + _CHECKSUM_WORDS + 1),
                "outer": range(_IPV6_WORDS + _SRH_WORDS + SEGMENTS_MAX * _SEGMENT_WORDS + 1),
                "srh": 1,
                "segments_left": range(SEGMENTS_MAX),
                "last_entry": range(SEGMENTS_MAX),
            })
        )
        kind = Cat(descriptor.ipv4, descriptor.srv6)
        if self.config.routes:
            kind = Cat(kind, descriptor.reduced, descriptor.segments)
        with m.Switch(kind):
            for number in range(1 << len(kind)):
                with m.Case(number):
                    m.d.comb += route.eq(route.shape().const(_fields_of(number)))
        return route

    def _sums(self, m, descriptor, dscp):
        """Return two numbers whose sum is that of the IPv4 header, but for its length."""
        fixed = headers.IPV4.pack(
            version=4,
            header_length=headers.IPV4.octets // WORD_OCTETS,
            ecn=Ecn.ECT0,
            do_not_fragment=1,
            protocol=NextHeader.UDP,
        )
        # What settings say is added up as they come: they stand still while packets are sent.
        of_source, of_rest, of_settings = (
            Signal(WORD_BITS, name=f"of_{name}") for name in ("source", "rest", "settings")
        )
        source = words_with(headers.IPV4, source=self.settings.loopback_ipv4)
        (hop_limit,) = words_with(headers.IPV4, time_to_live=self.settings.hop_limit)
        total = sum(int.from_bytes(fixed[n : n + 2], "big") for n in range(0, len(fixed), 2))
        total = total % 0xFFFF
        m.d.sync += of_source.eq(add_with_wrap(m, *source, name="source"))
        m.d.sync += of_rest.eq(add_with_wrap(m, hop_limit, Const(total, WORD_BITS), name="rest"))
        m.d.sync += of_settings.eq(add_with_wrap(m, of_source, of_rest, name="settings"))

        destination = words_with(headers.IPV4, destination=descriptor.destination[:32])
        (traffic_class,) = words_with(headers.IPV4, dscp=dscp)
        return compress(*compress(*destination, of_settings), traffic_class)


def _fields_of(kind):
    """Return what follows from ``ipv4``, ``srv6``, ``reduced`` and ``segments``, in that order."""
    ipv4, srv6, reduced, segments = kind & 1, kind >> 1 & 1, kind >> 2 & 1, kind >> 3
    segments = min(segments, SEGMENTS_MAX) if srv6 and not ipv4 else 0
    entries = max(0, segments - reduced)
    routing = _SRH_WORDS + entries * _SEGMENT_WORDS if entries else 0
    inner = _IPV4_WORDS if ipv4 else _IPV6_WORDS
    outer = _IPV6_WORDS if srv6 else 0
    return {
        "prefix": outer + (_SRH_WORDS if entries else 0),
        "place": outer + routing + inner - _IPV6_WORDS,
        "checksum": outer + _CHECKSUM_WORDS,
        "outer": routing + inner,
        "srh": entries > 0,
        "segments_left": max(0, segments - 1),
        "last_entry": max(0, entries - 1),
    }
