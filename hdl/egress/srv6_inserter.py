"""Headers in front of payload."""

from collections.abc import Iterable
from math import gcd
from operator import index

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.packet.beat import packet_signature
from mrcnic.hdl.packet.keep import end_to_keep
from mrcnic.hdl.packet.turning import turned

from .header_block import HeaderBlock

__all__ = ["Srv6Inserter"]


class Srv6Inserter(wiring.Component):
    """Put headers in front of payload, which moves behind them, whatever their length.

    Cut-through: headers leave before the payload is there, and a beat waits only for the payload
    that is in it. Octets behind the payload, the pad and the trailer, are zero. The end of a packet
    follows from its own ``end``; a residue that does not fit in the beat of the last payload
    octets goes into one more beat, which needs no further input.

    Latency is one cycle. One beat per cycle passes, without a bubble between packets. Payload is
    turned by as many octets as headers have in their last beat; the more ``starts`` have in common,
    the less there is to choose from. With multiples of four octets and a constant, a beat of 64
    octets takes two choices of four, and the deepest path is 5 LUTs.

    Parameters
    ----------
    octets : :class:`int`
        Octets per beat; a power of two.
    packet_octets : :class:`int`
        Octets of the longest packet.
    starts : iterable of :class:`int`
        Lengths of headers behind which there may be payload. Where there is none, headers may
        have any length.
    user_shape : :ref:`shape-like <lang-shapelike>`, optional
        Shape of ``user``.

    Attributes
    ----------
    inside, header_left, payload_left, tail, tail_mask, distance, end, beats_left : \
        :class:`~amaranth.hdl.Signal`
        State, for proofs.

    Members
    -------
    i : ``In(stream.Signature(HeaderBlock(octets, packet_octets, user_shape)))``
        Headers.
    payload : ``In(packet_signature(octets))``
        One packet for each one whose headers have ``payload`` set.
    o : ``Out(packet_signature(octets, user_shape))``
        Whole packets.

    Raises
    ------
    ValueError
        If there are no ``starts``, or one is less than 1.
    """

    def __init__(
        self,
        *,
        octets: int,
        packet_octets: int,
        starts: Iterable[int],
        user_shape: ShapeLike = 1,
    ):
        self.octets = index(octets)
        self.packet_octets = index(packet_octets)
        self.starts = tuple(starts)
        if not self.starts or min(self.starts) < 1:
            raise ValueError(f"starts must be at least 1 each, not {self.starts}")
        self._low = (self.octets - 1).bit_length()
        # Of the packet under way: what its next beat starts with.
        self.inside = Signal()
        self.header_left = Signal()
        self.payload_left = Signal()
        self.tail = Signal(8 * self.octets, reset_less=True)
        self.tail_mask = Signal(self.octets)  # octets that did not fit in the beat before
        self.distance = Signal(range(self.octets))
        self.end = Signal(self._low)
        self.beats_left = Signal(max(1, (self.packet_octets - 1).bit_length() - self._low))
        super().__init__({
            "i": In(stream.Signature(HeaderBlock(self.octets, self.packet_octets, user_shape))),
            "payload": In(packet_signature(self.octets)),
            "o": Out(packet_signature(self.octets, user_shape)),
        })

    def elaborate(self, platform):
        m = Module()

        block = self.i.payload
        inside, beats_left, end = self.inside, self.beats_left, self.end
        user = Signal.like(block.user)

        # The same for this beat, if it has headers.
        headed = Signal()
        now_payload_left = Signal()
        now_distance = Signal.like(self.distance)
        now_beats_left = Signal.like(beats_left)
        now_end = Signal.like(end)
        m.d.comb += headed.eq(~inside | self.header_left)
        m.d.comb += now_payload_left.eq(Mux(headed, block.payload, self.payload_left))
        m.d.comb += now_distance.eq(Mux(inside, self.distance, block.length))
        m.d.comb += Cat(now_end, now_beats_left).eq(Mux(inside, Cat(end, beats_left), block.end))

        takes = Signal()  # this beat has octets from a beat of payload
        moves = Signal()
        last = Signal()
        full = 0 if all(start % self.octets for start in self.starts) else ~block.length.any()
        m.d.comb += takes.eq(now_payload_left & ~(headed & (block.more | full)))
        m.d.comb += moves.eq(
            (self.o.ready | ~self.o.valid)
            & (~headed | self.i.valid)
            & (self.payload.valid | ~takes)
        )
        m.d.comb += last.eq(~now_beats_left.any())
        m.d.comb += self.i.ready.eq(moves & headed)
        m.d.comb += self.payload.ready.eq(moves & takes)

        # Only payload in the first beat of a packet cannot wait for the distance to be kept.
        early = min(self.starts) < self.octets
        octets, here, later = self._split(m, takes, now_distance if early else self.distance)

        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(moves):
            beat = self.o.payload
            m.d.sync += self.o.valid.eq(1)
            headers = Mux(headed, block.octets, 0)
            tail = _masked(self.tail, self.tail_mask)
            m.d.sync += beat.data.eq(headers | tail | _masked(octets, here))
            m.d.sync += beat.first.eq(~inside)
            m.d.sync += beat.last.eq(last)
            m.d.sync += beat.keep.eq(
                end_to_keep(now_end, self.octets) | (~last).replicate(self.octets)
            )
            with m.If(headed):
                m.d.sync += beat.user.eq(block.user)
                m.d.sync += user.eq(block.user)
            with m.Else():
                m.d.sync += beat.user.eq(user)

            m.d.sync += inside.eq(~last)
            m.d.sync += self.header_left.eq(headed & block.more)
            m.d.sync += self.payload_left.eq(
                now_payload_left & ~(takes & self.payload.payload.last)
            )
            m.d.sync += self.tail.eq(octets)
            m.d.sync += self.tail_mask.eq(later)
            m.d.sync += self.distance.eq(now_distance)
            m.d.sync += Cat(end, beats_left).eq(Cat(now_end, now_beats_left - 1))

        return m

    def _split(self, m, takes, distance):
        """Return turned payload, and masks: of what goes into this beat, and what into the next."""
        payload = self.payload.payload
        distances = [start % self.octets for start in self.starts]
        step = gcd(self.octets, *(n - distances[0] for n in distances))
        rest = distances[0] % step
        steps = distance[step.bit_length() - 1 :]

        kept = Cat(Mux(payload.keep[n], payload.data[n], 0) for n in range(self.octets))
        octets = kept.rotate_left(8 * rest)
        octets = turned(m, octets, steps, unit=8 * step, name="octets")

        is_here = Signal(self.octets)
        for place in range(self.octets):
            if rest <= place < self.octets - step + rest:
                m.d.comb += is_here[place].eq((place - rest) // step >= steps)
            else:
                m.d.comb += is_here[place].eq(place >= rest)
        here = is_here & takes.replicate(self.octets)
        later = ~is_here & takes.replicate(self.octets)
        return octets, here, later


def _masked(octets, mask):
    """Return octets, with zero for those whose bit is not set."""
    return octets & Cat(bit.replicate(8) for bit in mask)
