"""ICRC of packets on their way out."""

from operator import index

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.packet.beat import Beat, packet_signature
from mrcnic.hdl.packet.crc_pipeline import CrcPipeline
from mrcnic.hdl.packet.crc_state import CrcBeat
from mrcnic.hdl.packet.delay_line import DelayLine
from mrcnic.hdl.packet.keep import keep_to_end
from mrcnic.hdl.wire.headers import ETHERNET, ICRC, IPV4, IPV6
from mrcnic.hdl.wire.icrc import ICRC_INITIAL, ICRC_MASK, ICRC_MASK_IPV4

from .header_block import WORD_OCTETS, FrameNote

__all__ = ["IcrcMaker"]

#: A frame's first octets, in front of its first word.
_BLANK = ETHERNET.octets % WORD_OCTETS

#: Bits of a place that are compared at once.
_DIGIT_BITS = 4

#: How far behind a place the inner header of IPv4 starts, and that of IPv6.
_START = {1: IPV6.octets - IPV4.octets, 0: 0}
_MASK = {1: ICRC_MASK_IPV4, 0: ICRC_MASK}
_INITIAL = ICRC_INITIAL.to_bytes(4, "little")


class IcrcMaker(wiring.Component):
    """Write the ICRC into the last four octets of each packet.

    The CRC is made of the octets from the inner IP header on, with ones for the fields that
    :data:`~mrcnic.hdl.wire.icrc.ICRC_MASK` and its fellow say, up to the ICRC. The header may start
    at any place: each octet looks how far behind it is. There is no back-pressure: room for a
    packet is made before it is started.

    Latency is ``latency`` cycles, for the last beat; another beat comes out with the next one, or
    after that time, if that is later. One beat per cycle passes, and packets may follow each other
    without a gap.

    Parameters
    ----------
    octets : :class:`int`
        Octets per beat; a power of two, at least 4.

    Attributes
    ----------
    latency : :class:`int`
        5, 6 or 7 cycles with 8, 64 or 128 octets per beat.

    Members
    -------
    i : ``In(packet_signature(octets, user_shape=FrameNote()))``
        Packets with four octets of zero at the end, and zero where ``keep`` is not set. Always
        ready.
    o : ``Out(stream.Signature(Beat(octets, user_shape=1), always_ready=True))``
        The same packets with their ICRC. ``user`` is ``control`` of the note.
    """

    def __init__(self, *, octets: int):
        self.octets = index(octets)
        self._crc = CrcPipeline(octets=self.octets, trailer_octets=ICRC.octets)
        self._delay = 1 + self._crc.latency  # a cycle for the masks
        self.latency = self._delay + 1
        self._beat = Beat(self.octets, user_shape=1)
        super().__init__({
            "i": In(packet_signature(self.octets, user_shape=FrameNote())),
            "o": Out(stream.Signature(self._beat, always_ready=True)),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.crc = crc = self._crc
        m.d.comb += self.i.ready.eq(1)
        m.d.comb += crc.i.eq(self._counted(m))

        # The beats wait for the CRC.
        m.submodules.delay = delay = DelayLine(self._beat, delay=self._delay)
        for name in ("data", "keep", "first", "last"):
            m.d.comb += delay.i[name].eq(self.i.payload[name])
        m.d.comb += delay.i.user.eq(self.i.payload.user.control)
        passed = Signal(self._delay)
        m.d.sync += passed.eq(Cat(self.i.valid, passed))
        beat, valid = delay.o, passed[-1]

        here, before = self._place(m, beat, crc.o.crc)

        # A beat stays until it is known whether the ICRC starts in it, that is until the next.
        held = Signal(self._beat, reset_less=True)
        held_valid = Signal()
        leaves = held_valid & (held.last | valid)
        m.d.comb += self.o.valid.eq(leaves)
        m.d.comb += self.o.payload.eq(held)
        with m.If(~held.last):
            m.d.comb += self.o.payload.data.eq(held.data.as_value() | before)
        with m.If(valid):
            m.d.sync += held_valid.eq(1)
            m.d.sync += held.eq(beat)
            m.d.sync += held.data.eq(beat.data.as_value() | here)
        with m.Elif(leaves):
            m.d.sync += held_valid.eq(0)

        return m

    def _counted(self, m):
        """Return the beat as the CRC counts it, a cycle later."""
        counted = Signal(CrcBeat(self.octets))
        known = Signal(CrcBeat(self.octets))
        beat = self.i.payload
        m.d.sync += known.valid.eq(self.i.valid)
        m.d.sync += known.first.eq(beat.first)
        m.d.sync += known.last.eq(beat.last)
        m.d.sync += known.spare.eq(~keep_to_end(beat.keep))
        m.d.sync += known.data.eq(beat.data)
        m.d.comb += counted.eq(known)
        all_ones, all_counts, all_initial = (
            Signal(8 * self.octets, name=f"all_{name}") for name in ("ones", "counts", "initial")
        )
        m.d.comb += counted.data.eq(((known.data | all_ones) & all_counts) ^ all_initial)

        at, reached = self._places(m)
        ipv4 = beat.user.ipv4
        for n in range(self.octets):
            words, phase = divmod(n - _BLANK, WORD_OCTETS)  # of this octet, behind place 0
            ones, initial, counts = 0, 0, 0
            for version, mask in _MASK.items():
                holds = ipv4 == version
                start = _START[version] // WORD_OCTETS
                for offset in range(phase, len(mask), WORD_OCTETS):
                    here = at.get(words - start - offset // WORD_OCTETS)
                    if here is not None and mask[offset]:
                        ones = ones | Mux(holds & here, mask[offset], 0)
                    if here is not None and offset < len(_INITIAL):
                        initial = initial | Mux(holds & here, _INITIAL[offset], 0)
                counts = counts | (holds & reached[words - start])
            octet = slice(8 * n, 8 * n + 8)
            m.d.sync += all_ones[octet].eq(ones)
            m.d.sync += all_counts[octet].eq(counts.replicate(8))
            m.d.sync += all_initial[octet].eq(initial)
        return counted

    def _places(self, m):
        """Return whether the note's place, counted from this beat, is any or at most any."""
        beat = self.i.payload
        words = self.octets // WORD_OCTETS
        lowest = -2 - max(
            (_START[version] + len(mask)) // WORD_OCTETS for version, mask in _MASK.items()
        )
        place = Signal(signed(max(8, words.bit_length() + 2)))
        later = Signal.like(place)
        m.d.comb += place.eq(Mux(beat.first, beat.user.place, later))
        with m.If(self.i.valid):
            m.d.sync += later.eq(Mux(place < lowest + words, lowest, place - words))
        # By digits, which keeps the path short: what a digit is compared with is one LUT.
        high, low = place[_DIGIT_BITS:], place[:_DIGIT_BITS]
        lows = [low == digit for digit in range(1 << _DIGIT_BITS)]
        reaches = [_any(lows[: digit + 1]) for digit in range(1 << _DIGIT_BITS)]
        highs = range(-1 << len(high) - 1, words >> _DIGIT_BITS)
        at, reached = {}, {}
        for number in range(lowest, words):
            of_high, of_low = divmod(number, 1 << _DIGIT_BITS)
            same = high == of_high % (1 << len(high))
            below = [high == n % (1 << len(high)) for n in highs if n < of_high]
            at[number] = Signal(name=f"at_{number - lowest}")
            reached[number] = Signal(name=f"reached_{number - lowest}")
            m.d.comb += at[number].eq(same & lows[of_low])
            m.d.comb += reached[number].eq(_any(below) | (same & reaches[of_low]))
        return at, reached

    def _place(self, m, beat, crc):
        """Return the ICRC where it belongs in the last beat, and in the one before it."""
        # Places from here on are those of the beat before and this one, one after the other.
        ends = Signal(self.octets)  # one-hot: where the packet ends
        with m.If(beat.last):
            m.d.comb += ends.eq(beat.keep & ~(beat.keep >> 1))
        placed = [0] * (2 * self.octets)
        for end in range(self.octets):
            for n in range(ICRC.octets):
                place = self.octets + end - (ICRC.octets - 1) + n
                octet = crc[8 * n : 8 * n + 8] & ends[end].replicate(8)
                placed[place] = placed[place] | octet
        before = Signal(8 * self.octets)
        here = Signal(8 * self.octets)
        for place in range(self.octets):
            octet = slice(8 * place, 8 * place + 8)
            m.d.comb += before[octet].eq(placed[place])
            m.d.comb += here[octet].eq(placed[self.octets + place])
        return here, before


def _any(bits):
    return Cat(bits).any()
