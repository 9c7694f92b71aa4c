"""From a descriptor to the plan of its headers."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import TxDescriptor
from mrcnic.hdl.descriptor.settings import LaneSettings
from mrcnic.hdl.descriptor.sizes import NOW_BITS
from mrcnic.hdl.packet.turning import chosen
from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.opcodes import Ecn, NextHeader, Role
from mrcnic.hdl.wire.srv6 import SEGMENTS_MAX

from .extension import EXTENSION_OCTETS, build_extension
from .header_block import WORD_OCTETS, place_of
from .header_plan import TAGS_MAX, HeaderPlan, Sizes
from .ones_complement import WORD_BITS, add_with_wrap, compress, words_with

__all__ = ["HeaderPlanner"]

_IPV6_WORDS = headers.IPV6.octets // WORD_OCTETS
_IPV4_WORDS = headers.IPV4.octets // WORD_OCTETS
#: Words of an IPv4 header up to the one whose low half, in a frame, is its checksum.
_CHECKSUM_WORDS = 3
#: Opcodes are different in so many bits; all are from this number on.
_OPCODE_BITS = 5
_OPCODES = min(EXTENSION_OCTETS) >> _OPCODE_BITS << _OPCODE_BITS

#: Bits of a number of words that others are added to; what is carried counts on.
_CARRY_BITS = 6
_ICRC_WORDS = headers.ICRC.octets // WORD_OCTETS
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

        extension, timestamped = build_extension(
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

        # Sums are kept short: what depends on the descriptor is looked up with all constants in
        # it, and what depends on settings is there before.
        link = Signal.like(plan.prefix, init=place_of(headers.ETHERNET.octets))
        tags = Signal(range(TAGS_MAX + 1))
        set_tags = self.settings.port.tags
        at_most = Mux(set_tags[1], TAGS_MAX, set_tags)
        m.d.sync += tags.eq(at_most)
        m.d.sync += link.eq(place_of(headers.ETHERNET.octets) + at_most)
        place = Signal.like(plan.note.place)
        m.d.comb += place.eq(chosen(list(route.places), tags))
        first_row, row_before = Signal.like(plan.rows[0]), Signal.like(plan.rows[0])
        m.d.comb += first_row.eq((list_words >> low) - (place >> low))
        m.d.comb += row_before.eq((list_words >> low) - 1 - (place >> low))
        behind = self._behind(m, descriptor)
        m.d.comb += self.i.ready.eq(~self.o.valid | (self.o.ready & ~more))
        with m.If(self.i.ready):
            m.d.sync += self.o.valid.eq(self.i.valid)
            m.d.sync += plan.number.eq(0)
            for lane, row in enumerate(plan.rows):
                moved_on = place[:low] >= words_per_beat - lane if lane else 0
                m.d.sync += row.eq(Mux(moved_on, row_before, first_row))
            m.d.sync += plan.prefix.eq(link + route.prefix)
            m.d.sync += plan.words.eq(place + behind.words)
            octets = descriptor.octets
            m.d.sync += plan.rest_words.eq(_words(octets, Const(_ICRC_WORDS)))
            m.d.sync += plan.udp_words.eq(_words(octets, behind.udp))
            m.d.sync += plan.ip_words.eq(_words(octets, behind.ip))
            m.d.sync += plan.outer_words.eq(_words(octets, behind.udp, route.outer))
            m.d.sync += plan.checksum_word.eq(link + route.checksum)
            for name in ("srh", "segments_left", "entries"):
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

    def _behind(self, m, descriptor):
        """Return words behind the place, and those that UDP and IPv4 headers tell, by opcode."""
        behind = Signal(data.StructLayout({"words": 6, "udp": 5, "ip": 5}))
        opcodes = range(1 << _OPCODE_BITS)
        rows = [_lengths_of(EXTENSION_OCTETS.get(_OPCODES + low, 0)) for low in opcodes]
        m.d.comb += behind.eq(_looked_up(rows, behind, descriptor.opcode[:_OPCODE_BITS]))
        return behind

    def _route(self, m, descriptor):
        """Return words in front of the inner header, and fields of the segment routing header."""
        route = Signal(
            data.StructLayout({
                "prefix": range(_IPV6_WORDS + _SRH_WORDS + 1),
                "places": data.ArrayLayout(signed(8), TAGS_MAX + 1),
                "checksum": range(_IPV6_WORDS + _CHECKSUM_WORDS + 1),
                "outer": range(_IPV6_WORDS + _SRH_WORDS + SEGMENTS_MAX * _SEGMENT_WORDS + 1),
                "srh": 1,
                "segments_left": range(SEGMENTS_MAX),
                "entries": range(SEGMENTS_MAX + 1),
            })
        )
        kind = Cat(descriptor.ipv4, descriptor.srv6)
        if self.config.routes:
            kind = Cat(kind, descriptor.reduced, descriptor.segments)
        m.d.comb += route.eq(
            _looked_up([_fields_of(n) for n in range(1 << len(kind))], route, kind)
        )
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


def _looked_up(rows, view, number):
    """Return the row of this number as bits of ``view``, one LUT deep for each six bits."""
    shape = view.shape()
    return chosen([Const(shape.const(row).as_bits(), shape.size) for row in rows], number)


def _words(octets, *others):
    """Return the sum of words that so many octets take and of others.

    Others come late and are few: the high bits wait for what is carried with their sums ready.
    """
    start = (WORD_OCTETS - 1).bit_length()
    middle = start + _CARRY_BITS
    low = sum(others, octets[start:middle] + octets[:start].any())
    high = octets[middle:]
    carried = low[_CARRY_BITS:]
    sums = [(high + number)[: len(high) + 1] for number in range(1 << len(carried))]
    return Cat(low[:_CARRY_BITS], chosen(sums, carried))


def _lengths_of(extension_octets):
    """Return what follows from the octets behind the BTH."""
    transport = (headers.UDP.octets + headers.BTH.octets + extension_octets) // WORD_OCTETS
    udp = transport + _ICRC_WORDS
    return {"words": _IPV6_WORDS + transport, "udp": udp, "ip": _IPV4_WORDS + udp}


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
        "places": [
            place_of(headers.ETHERNET.octets) + tags + outer + routing + inner - _IPV6_WORDS
            for tags in range(TAGS_MAX + 1)
        ],
        "checksum": outer + _CHECKSUM_WORDS,
        "outer": routing + inner,
        "srh": entries > 0,
        "segments_left": max(0, segments - 1),
        "entries": entries,
    }
