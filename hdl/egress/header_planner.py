"""From a descriptor to the plan of its headers."""

from operator import index

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import TxDescriptor
from mrcnic.hdl.descriptor.settings import Settings
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
_SHORTER = _IPV6_WORDS - headers.IPV4.octets // WORD_OCTETS


class HeaderPlanner(wiring.Component):
    """Compute all that headers' lengths and places depend on, and offer a plan for each beat.

    Latency is one cycle; one beat per cycle passes, without a bubble between packets.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    port : :class:`int`
        Whose VLAN tags count.

    Members
    -------
    i : ``In(stream.Signature(TxDescriptor(config)))``
        Packets to be built.
    o : ``Out(stream.Signature(HeaderPlan(config)))``
        Beats of their headers.
    settings : ``In(Settings(config))``
        VLAN tags, DSCP values, and what the checksum is made of.
    now : ``In(NOW_BITS)``
        Time.
    """

    def __init__(self, config: NicConfig, *, port: int):
        self.config = config
        self.port = index(port)
        super().__init__({
            "i": In(stream.Signature(TxDescriptor(config))),
            "o": Out(stream.Signature(HeaderPlan(config))),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
        })

    def elaborate(self, platform):
        m = Module()

        descriptor, plan = self.i.payload, self.o.payload
        words_per_beat = self.config.beat_octets // WORD_OCTETS
        low = (words_per_beat - 1).bit_length()
        list_words = Sizes(self.config).list_words

        extension, extension_words, timestamped = build_extension(
            m, descriptor, self.now[: headers.TSETH.fields["tx_timestamp"]]
        )
        segments, entries, srh = self._segments(m, descriptor)

        dscp = Signal(6)
        control = Signal()
        with m.Switch(descriptor.role):
            for role in Role:
                with m.Case(role):
                    m.d.comb += dscp.eq(self.settings.dscp[role])
                    m.d.comb += control.eq(role == Role.CONTROL)

        prefix = Signal.like(plan.prefix)
        place = Signal.like(plan.note.place)
        words = Signal.like(plan.words)
        rest_words = Signal.like(plan.rest_words)
        tags = self.settings.port[self.port].tags
        m.d.comb += prefix.eq(
            place_of(headers.ETHERNET.octets)
            + Mux(tags > TAGS_MAX, TAGS_MAX, tags)
            + Mux(descriptor.srv6, _IPV6_WORDS, 0)
            + Mux(srh, headers.SRH.octets // WORD_OCTETS, 0)
        )
        m.d.comb += place.eq(prefix + (entries << 2) - Mux(descriptor.ipv4, _SHORTER, 0))
        behind = _IPV6_WORDS + (headers.UDP.octets + headers.BTH.octets) // WORD_OCTETS
        m.d.comb += words.eq(place + (behind + extension_words))
        m.d.comb += rest_words.eq((descriptor.octets + 3 + headers.ICRC.octets) >> 2)

        m.d.comb += self.i.ready.eq(~self.o.valid | (self.o.ready & ~plan.more))
        with m.If(self.i.ready):
            m.d.sync += self.o.valid.eq(self.i.valid)
            m.d.sync += plan.number.eq(0)
            m.d.sync += plan.more.eq(words >> low != 0)
            m.d.sync += plan.row.eq((list_words >> low) - (place >> low))
            m.d.sync += plan.prefix.eq(prefix)
            m.d.sync += plan.words.eq(words)
            m.d.sync += plan.rest_words.eq(rest_words)
            m.d.sync += plan.udp_words.eq(rest_words + (extension_words + behind - _IPV6_WORDS))
            m.d.sync += [plan.srh.eq(srh), plan.entries.eq(entries), plan.segments.eq(segments)]
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
            m.d.sync += plan.more.eq(plan.number + 1 != plan.words >> low)
            m.d.sync += plan.row.eq(plan.row + 1)

        return m

    def _segments(self, m, descriptor):
        """Return the number of segments, that of entries in the list, and whether there is one."""
        segments = Signal(range(SEGMENTS_MAX + 1))
        entries = Signal.like(segments)
        if self.config.routes:
            m.d.comb += segments.eq(descriptor.segments)
            with m.If(descriptor.segments > SEGMENTS_MAX):
                m.d.comb += segments.eq(SEGMENTS_MAX)
            with m.If(descriptor.srv6 & ~descriptor.ipv4 & (segments != 0)):
                m.d.comb += entries.eq(segments - descriptor.reduced)
        return segments, entries, entries != 0

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
