"""Payload of writes, without what stands around it."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.wire import headers

from .frame import InnerBeat, Piece
from .header_collector import (
    BTH_AT,
    HEADER_OCTETS,
    IP_SAVING,
    HeaderView,
    is_write,
    with_immediate,
)

__all__ = ["PayloadExtractor"]

#: Shortest headers before the payload of a write; a timestamp and immediate data add four each.
_HEADERS = BTH_AT + headers.BTH.octets + headers.METH.octets + headers.RETH.octets
_OPTIONS = 3

#: Where the payload starts, by whether it is IPv4 and by the number of options.
_STARTS = {
    (ipv4, options): _HEADERS - ipv4 * IP_SAVING + 4 * options
    for ipv4 in range(2)
    for options in range(_OPTIONS)
}


class PayloadExtractor(wiring.Component):
    """Move the payload of writes to the start of a beat, without headers, pad and ICRC.

    How much there is, its headers say: a packet whose length they get wrong leads to some payload,
    with a last beat nonetheless, and is to be aborted. A packet without payload makes no beat.

    The last beat comes :attr:`latency` cycles after the last beat of the inner packet, wherever
    in it the payload ends, so that it meets the verdict on the packet. One beat per cycle passes,
    without a bubble between packets.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Attributes
    ----------
    latency : :class:`int`
        Cycles from the last beat of the inner packet to that of its payload.

    Members
    -------
    i : ``In(InnerBeat(config))``, ``index``, ``headers``
        Inner packets, as they come out of a :class:`.HeaderCollector`.
    o_valid : ``Out(1)``
        There is a piece.
    o : ``Out(Piece(config))``
        Pieces of payload.
    """

    latency = 2

    def __init__(self, config: NicConfig):
        self.config = config
        beats = -(-HEADER_OCTETS // config.beat_octets)
        super().__init__({
            "i": In(InnerBeat(config)),
            "index": In(range(beats + 1)),
            "headers": In(8 * HEADER_OCTETS),
            "o_valid": Out(1),
            "o": Out(Piece(config)),
        })

    def elaborate(self, platform):
        m = Module()

        octets = self.config.beat_octets
        place_bits = octets.bit_length() - 1
        now = self.i

        # How long the headers are, known from the beat on that has the last octet of the BTH.
        header = HeaderView(self.headers)
        options = Signal(range(_OPTIONS))
        m.d.comb += options.eq(header.bth.timestamped + with_immediate(header.bth.opcode))
        known = [(BTH_AT - saving + headers.BTH.octets - 1) // octets for saving in (0, IP_SAVING)]
        ipv4 = now.notes.ipv4
        kind = Cat(options, ipv4)

        # Pieces to come after the next one, and place of the last octet in the last of them:
        # together the number of octets, less one. Negative: nothing to come.
        around = _HEADERS - headers.IPV6.octets + headers.ICRC.octets
        length = Signal(range(-1 << 16, 1 << 16))
        m.d.comb += length.eq(header.udp.length - (around + 1 + 4 * options + header.bth.pad))
        left = Signal(range(-1 << 16 - place_bits, 1 << 16 - place_bits))
        last_end = Signal(place_bits)

        # The beat before, if payload is in it or may follow right behind it.
        held = Signal()
        before = Signal(data.StructLayout({"last": 1, "data": 8 * octets, "kind": len(kind)}))
        starts_in = Signal(range(HEADER_OCTETS))
        with m.Switch(kind):
            for (is_ipv4, option), start in _STARTS.items():
                with m.Case(is_ipv4 << len(options) | option):
                    m.d.comb += starts_in.eq(start // octets)
        with m.If(now.valid):
            m.d.sync += before.last.eq(now.last)
            m.d.sync += before.data.eq(now.data)
            m.d.sync += before.kind.eq(kind)
            m.d.sync += held.eq(is_write(header.bth.opcode) & (self.index >= starts_in))
        with m.Elif(before.last):
            m.d.sync += [held.eq(0), before.last.eq(0)]

        made = Signal()
        m.d.comb += made.eq(held & (now.valid | before.last) & (left >= 0))
        with m.If(now.valid & (self.index == Mux(ipv4, known[1], known[0]))):
            m.d.sync += left.eq(length >> place_bits)
            m.d.sync += last_end.eq(length)
        with m.Elif(made):
            m.d.sync += left.eq(left - 1)

        # One piece is kept back, for the last one to leave at its time.
        kept = Signal()
        piece = Signal(Piece(self.config))
        final = Signal()
        m.d.sync += final.eq(before.last)
        both = Cat(before.data, now.data)
        with m.If(made):
            m.d.sync += kept.eq(1)
            m.d.sync += piece.end.eq(Mux(left == 0, last_end, octets - 1))
            with m.Switch(before.kind):
                for (is_ipv4, option), start in _STARTS.items():
                    with m.Case(is_ipv4 << len(options) | option):
                        at = 8 * (start % octets)
                        m.d.sync += piece.data.eq(both[at : at + 8 * octets])
        with m.Elif(final):
            m.d.sync += kept.eq(0)
        m.d.comb += self.o_valid.eq(kept & (made | final))
        m.d.comb += self.o.eq(piece)
        m.d.comb += self.o.last.eq(final)

        return m
