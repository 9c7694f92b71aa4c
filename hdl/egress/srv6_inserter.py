"""Headers in front of payload."""

from collections.abc import Iterable
from operator import index

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.packet.beat import packet_signature

from .header_builder import HeaderBlock

__all__ = ["Srv6Inserter"]


class Srv6Inserter(wiring.Component):
    """Put headers in front of payload, which moves behind them, whatever their length.

    Cut-through: headers leave before the payload is there, and a beat waits only for the payload
    that is in it. Octets behind the payload, the pad and the trailer, are zero. The end of a packet
    follows from its own ``total``; a residue that does not fit in the beat of the last payload
    octets goes into one more beat, which needs no further input.

    Latency is one cycle. One beat per cycle passes, without a bubble between packets. Payload is
    rotated by one of the distances that ``starts`` asks for, in one choice.

    Parameters
    ----------
    octets : :class:`int`
        Octets per beat; a power of two.
    header_octets, packet_octets : :class:`int`
        As of :class:`~mrcnic.hdl.egress.header_builder.HeaderBlock`.
    starts : iterable of :class:`int`
        Lengths of headers behind which there may be payload. Where there is none, headers may
        have any length.

    Members
    -------
    i : ``In(stream.Signature(HeaderBlock(header_octets, packet_octets)))``
        Headers.
    payload : ``In(packet_signature(octets))``
        One packet for each header with ``payload`` set.
    o : ``Out(packet_signature(octets, user_shape=1))``
        Whole packets.

    Raises
    ------
    ValueError
        If one of ``starts`` is not from 1 to ``header_octets``.
    """

    def __init__(
        self, *, octets: int, header_octets: int, packet_octets: int, starts: Iterable[int]
    ):
        self.octets = index(octets)
        self.header_octets = index(header_octets)
        self.starts = tuple(starts)
        for start in self.starts:
            if not 1 <= start <= self.header_octets:
                raise ValueError(f"starts must be from 1 to {header_octets}, not {start}")
        super().__init__({
            "i": In(stream.Signature(HeaderBlock(self.header_octets, packet_octets))),
            "payload": In(packet_signature(self.octets)),
            "o": Out(packet_signature(self.octets, user_shape=1)),
        })

    def elaborate(self, platform):
        m = Module()

        bits = 8 * self.octets
        low = (self.octets - 1).bit_length()
        block = self.i.payload

        # Of the packet under way: what its next beat starts with.
        inside = Signal()
        headers = Signal(max(8 * self.header_octets, 2 * bits) - bits, reset_less=True)
        tail = Signal(bits)  # zero between packets: what does not fit in a beat makes another
        distance = Signal(low)
        header_beats = Signal(range(self.header_octets // self.octets + 1))
        payload_left = Signal()
        remaining = Signal.like(block.total)
        user = Signal()

        # The same for this beat, if it is the first of its packet.
        now_headers = Mux(inside, headers, block.octets)
        now_distance = Mux(inside, distance, block.length[:low])
        now_header_beats = Signal.like(header_beats)
        now_payload_left = Signal()
        now_remaining = Signal.like(remaining)
        m.d.comb += now_header_beats.eq(Mux(inside, header_beats, block.length >> low))
        m.d.comb += now_payload_left.eq(Mux(inside, payload_left, block.payload))
        m.d.comb += now_remaining.eq(Mux(inside, remaining, block.total))

        takes = Signal()  # this beat has octets from a beat of payload
        moves = Signal()
        last = Signal()
        m.d.comb += takes.eq((now_header_beats == 0) & now_payload_left)
        m.d.comb += moves.eq(
            (self.o.ready | ~self.o.valid) & (inside | self.i.valid) & (self.payload.valid | ~takes)
        )
        m.d.comb += last.eq(now_remaining <= self.octets)
        m.d.comb += self.i.ready.eq(moves & ~inside)
        m.d.comb += self.payload.ready.eq(moves & takes)

        here, later = self._split(m, takes, now_distance)

        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(moves):
            m.d.sync += self.o.valid.eq(1)
            beat = self.o.payload
            m.d.sync += beat.data.eq(now_headers[:bits] | tail | here)
            m.d.sync += beat.first.eq(~inside)
            m.d.sync += beat.last.eq(last)
            m.d.sync += beat.user.eq(Mux(inside, user, block.user))
            for place in range(self.octets):
                m.d.sync += beat.keep[place].eq(~last | (now_remaining[: low + 1] > place))

            m.d.sync += inside.eq(~last)
            m.d.sync += headers.eq(now_headers >> bits)
            m.d.sync += tail.eq(later)
            m.d.sync += distance.eq(now_distance)
            m.d.sync += remaining.eq(now_remaining - self.octets)
            m.d.sync += payload_left.eq(now_payload_left & ~(takes & self.payload.payload.last))
            with m.If(now_header_beats == 0):
                m.d.sync += header_beats.eq(0)
            with m.Else():
                m.d.sync += header_beats.eq(now_header_beats - 1)
            with m.If(~inside):
                m.d.sync += user.eq(block.user)

        return m

    def _split(self, m, takes, distance):
        """Return the payload in place: what goes into this beat, and what into the next."""
        bits = 8 * self.octets
        payload = Signal(bits)
        here = Signal(bits)
        later = Signal(bits)
        for place in range(self.octets):
            with m.If(takes & self.payload.payload.keep[place]):
                m.d.comb += payload[8 * place : 8 * place + 8].eq(self.payload.payload.data[place])
        with m.Switch(distance):
            for places in sorted({start % self.octets for start in self.starts}):
                with m.Case(places):
                    m.d.comb += here.eq(payload << 8 * places)
                    m.d.comb += later.eq(payload >> bits - 8 * places)
        return here, later
