"""From the plan of headers to their octets."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import LaneSettings
from mrcnic.hdl.packet.turning import chosen, turned
from mrcnic.hdl.rows import ROUTE_ROW
from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.opcodes import Ecn, EtherType, NextHeader
from mrcnic.hdl.wire.srv6 import SEGMENTS_MAX

from .header_block import WORD_OCTETS, FrameNote, HeaderBlock
from .header_plan import HeaderPlan, Sizes
from .laying import lay
from .ones_complement import WORD_BITS, add_halves, compress, join_halves

__all__ = ["HeaderLayer"]

_WORD_BITS = 8 * WORD_OCTETS
_IPV6_WORDS = headers.IPV6.octets // WORD_OCTETS
_BLANK = headers.ETHERNET.octets % WORD_OCTETS  # octets in front of the variable part

#: Routing type of a segment routing header (RFC 8754, section 2).
_SRH_TYPE = 4


class HeaderLayer(wiring.Component):
    """Lay headers out, a beat at a time.

    The variable part, from the list of segments on, is as long as it can be. Its words for a beat
    are chosen, each from its row, then turned by the place that the inner header comes to. What
    stands in front and what is behind the end is masked. All this is word by word: the headers'
    lengths are multiples of a word but for Ethernet's.

    Latency is one cycle; one beat per cycle passes.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(HeaderPlan(config)))``
        Beats to be laid out.
    o : ``Out(stream.Signature(HeaderBlock(...)))``
        Beats of headers.
    segments : ``In(ArrayLayout(128, SEGMENTS_MAX))``
        Entries of the list, as :class:`~.segment_table.SegmentTable` has them.
    settings : ``In(LaneSettings(config))``
        Addresses and ports.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        self.sizes = Sizes(config)
        block = HeaderBlock(config.beat_octets, self.sizes.packet_octets, FrameNote())
        super().__init__({
            "i": In(stream.Signature(HeaderPlan(config))),
            "o": Out(stream.Signature(block)),
            "segments": In(data.ArrayLayout(headers.IPV6.fields["destination"], SEGMENTS_MAX)),
            "settings": In(LaneSettings(config)),
        })

    def elaborate(self, platform):
        m = Module()

        plan, block = self.i.payload, self.o.payload
        words_per_beat = self.config.beat_octets // WORD_OCTETS
        low = (words_per_beat - 1).bit_length()
        m.d.comb += self.i.ready.eq(self.o.ready | ~self.o.valid)

        fixed = self._beat_of(m, self._prefix(m, plan), plan.number)
        moved = self._moved(m, self._variable(m, plan), plan)

        octets = Signal(8 * self.config.beat_octets)
        laid = Signal.like(octets, reset_less=True)
        m.d.comb += block.octets.eq(laid | self._checksum(m, plan))
        before = self._compared(m, plan, plan.prefix, "prefix")
        inside = self._compared(m, plan, plan.words, "words")
        half = _WORD_BITS // 2
        for lane in range(words_per_beat):
            # The low half of a word belongs to the one before it, as all start two octets later.
            for n in range(2):
                part = slice(_WORD_BITS * lane + half * n, _WORD_BITS * lane + half * (n + 1))
                front = Mux(before[lane + n], fixed[part], 0)
                behind = inside[lane + n] & ~before[lane + n]
                m.d.comb += octets[part].eq(front | Mux(behind, moved[part], 0))

        with m.If(self.i.ready):
            m.d.sync += self.o.valid.eq(self.i.valid)
            m.d.sync += laid.eq(octets)
            m.d.sync += block.more.eq(plan.more)
            m.d.sync += block.length.eq(Cat(Const(_BLANK, 2), plan.words[:low]))
            m.d.sync += block.payload.eq(plan.payload)
            m.d.sync += block.end.eq(Cat(Const(_BLANK - 1, 2), plan.words + plan.rest_words))
            m.d.sync += block.user.eq(plan.note)

        return m

    def _compared(self, m, plan, word, name):
        """Return for each lane, and the next one, whether this beat's word is at most ``word``."""
        lanes = self.config.beat_octets // WORD_OCTETS
        low = (lanes - 1).bit_length()
        above, same = Signal(name=f"above_{name}"), Signal(name=f"same_{name}")
        m.d.comb += above.eq(plan.number < word >> low)
        m.d.comb += same.eq(plan.number == word >> low)
        results = Signal(lanes + 1, name=f"upto_{name}")
        for lane in range(lanes + 1):
            reached = word[:low] >= lane if 0 < lane < lanes else Const(lane == 0)
            m.d.comb += results[lane].eq(above | (same & reached))
        return results

    def _beat_of(self, m, octets, number):
        """Return the beat of so many octets that has this number."""
        bits = 8 * self.config.beat_octets
        beat = Signal(bits)
        with m.Switch(number):
            for n in range(-(-len(octets) // bits)):
                with m.Case(n):
                    m.d.comb += beat.eq(octets[bits * n : bits * (n + 1)])
        return beat

    def _moved(self, m, octets, plan):
        """Return the words of the variable part that belong into this beat, where they belong."""
        bits = 8 * self.config.beat_octets
        words_per_beat = self.config.beat_octets // WORD_OCTETS
        low = (words_per_beat - 1).bit_length()
        rows = HeaderPlan.rows(self.config)
        place = plan.note.place[:low]

        lanes = Signal(bits)
        for lane in range(words_per_beat):
            part = slice(_WORD_BITS * lane, _WORD_BITS * (lane + 1))
            words = [octets[bits * n : bits * (n + 1)][part] for n in range(rows)]
            m.d.comb += lanes[part].eq(chosen(words, plan.rows[lane]))
        return turned(m, lanes, place, unit=_WORD_BITS, name="moved", flat=True)

    def _prefix(self, m, plan):
        """Return what stands in front of the list of segments, whether it is wanted or not."""
        port = self.settings.port
        last_entry, next_header, inner_next = Signal(3), Signal(8), Signal(8)
        m.d.comb += last_entry.eq(plan.entries - 1)
        m.d.comb += inner_next.eq(Mux(plan.ipv4, NextHeader.IPV4, NextHeader.IPV6))
        m.d.comb += next_header.eq(Mux(plan.srh, NextHeader.ROUTING, inner_next))
        outer = lay(
            headers.IPV6,
            **self._common(plan),
            payload_length=Cat(Const(0, 2), plan.outer_words),
            next_header=next_header,
            source=port.underlay,
            destination=plan.carrier,
        )
        routing = lay(
            headers.SRH,
            next_header=NextHeader.IPV6,
            header_length=Cat(Const(0, 1), plan.entries, Const(0, 3)),  # in units of 8 octets
            routing_type=_SRH_TYPE,
            segments_left=Cat(plan.segments_left, Const(0, 5)),
            last_entry=Cat(last_entry, Const(0, 5)),
        )

        ip = Signal(16)
        m.d.comb += ip.eq(Mux(plan.ipv4 & ~plan.srv6, EtherType.IPV4, EtherType.IPV6))
        links = (
            [_ethernet(port, ip)],
            [_ethernet(port, EtherType.VLAN), _tag(port.inner_tag, ip)],
            [
                _ethernet(port, EtherType.SERVICE_VLAN),
                _tag(port.outer_tag, EtherType.VLAN),
                _tag(port.inner_tag, ip),
            ],
        )
        octets = Signal(len(Cat(*links[-1], outer, routing)))
        m.d.comb += octets.eq(Cat(*links[-1], outer, routing))
        with m.Switch(port.tags):
            for tags in range(len(links) - 1):
                with m.Case(tags):
                    m.d.comb += octets.eq(Cat(*links[tags], outer, routing))
        return octets

    def _variable(self, m, plan):
        """Return what stands behind, as if the list were the longest, in whole beats."""
        entries = list(self.segments) if self.sizes.list_words else []
        if entries:
            entries[-1] = Mux(plan.reduced, entries[-1], plan.carrier)

        source_port, flow_label = Signal(16), Signal(16)
        m.d.comb += Cat(flow_label, source_port).eq(plan.ev)
        with m.If(self.settings.swap_ev):
            m.d.comb += Cat(source_port, flow_label).eq(plan.ev)
        udp_length, total_length = Signal(16), Signal(16)
        m.d.comb += udp_length.eq(plan.udp_words << 2)
        m.d.comb += total_length.eq(plan.ip_words << 2)

        ipv6 = lay(
            headers.IPV6,
            **self._common(plan),
            flow_label=Cat(flow_label, Const(0, 4)),
            payload_length=udp_length,
            next_header=NextHeader.UDP,
            source=self.settings.loopback,
            destination=plan.destination,
        )
        ipv4 = lay(
            headers.IPV4,
            version=4,
            header_length=headers.IPV4.octets // WORD_OCTETS,
            dscp=plan.dscp,
            ecn=Ecn.ECT0,
            total_length=total_length,
            do_not_fragment=1,
            time_to_live=self.settings.hop_limit,
            protocol=NextHeader.UDP,
            source=self.settings.loopback_ipv4,
            destination=plan.destination[: headers.IPV4.fields["destination"]],
        )
        udp = lay(
            headers.UDP,
            source_port=source_port,
            destination_port=self.settings.udp_port,
            length=udp_length,
        )
        bth = lay(
            headers.BTH,
            p_key=0xFFFF,
            **{
                name: plan[name]
                for name in (
                    "opcode", "pad", "dqp", "ack_request", "retransmission", "timestamped", "psn",
                )
            },
        )  # fmt: skip
        ip = Mux(plan.ipv4, Cat(Const(0, len(ipv6) - len(ipv4)), ipv4), ipv6)
        octets = Signal(8 * self.config.beat_octets * HeaderPlan.rows(self.config))
        listed = [lay(ROUTE_ROW, segment=entry) for entry in entries]
        blank = Const(0, 8 * _BLANK)
        m.d.comb += octets.eq(Cat(blank, *listed, ip, udp, bth, plan.extension))
        return octets

    def _checksum(self, m, plan):
        """Return a beat with the checksum of the IPv4 header, if that belongs there, a cycle later.

        Its sum is made in two steps, of which the second is short and behind the register.
        """
        numbers = compress(*plan.sums, Cat(Const(0, 2), plan.ip_words))
        sums = add_halves(m, *numbers, name="sum")
        halves = Signal.like(sums, reset_less=True)
        lanes = self.config.beat_octets // WORD_OCTETS
        here = Signal(lanes)
        at_most = self._compared(m, plan, plan.checksum_word, "checksum")
        with m.If(self.i.ready):
            m.d.sync += halves.eq(sums)
            for lane in range(lanes):
                m.d.sync += here[lane].eq(plan.ipv4 & at_most[lane] & ~at_most[lane + 1])
        checksum = Signal(WORD_BITS)
        m.d.comb += checksum.eq(~join_halves(halves))
        word = Cat(checksum[8:], checksum[:8], Const(0, _WORD_BITS - WORD_BITS))
        return Cat(Mux(here[lane], word, 0) for lane in range(lanes))

    def _common(self, plan):
        """Return fields of both IPv6 headers."""
        return {
            "version": 6,
            "dscp": plan.dscp,
            "ecn": Ecn.ECT0,
            "hop_limit": self.settings.hop_limit,
        }


def _ethernet(port, ether_type):
    return lay(
        headers.ETHERNET,
        destination=port.next_hop_mac,
        source=port.own_mac,
        ether_type=ether_type,
    )


def _tag(tag, ether_type):
    priority, drop_eligible, vid = tag[13:], tag[12], tag[:12]
    return lay(
        headers.VLAN,
        priority=priority,
        drop_eligible=drop_eligible,
        vid=vid,
        ether_type=ether_type,
    )
