"""ICRC of packets on their way out."""

from collections.abc import Iterable
from operator import index

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.packet.beat import Beat, packet_signature
from mrcnic.hdl.packet.crc_pipeline import CrcBeat, CrcPipeline
from mrcnic.hdl.packet.delay_line import DelayLine
from mrcnic.hdl.packet.keep import keep_to_end
from mrcnic.hdl.wire.headers import ICRC
from mrcnic.hdl.wire.icrc import ICRC_INITIAL, ICRC_MASK

__all__ = ["IcrcMaker"]


class IcrcMaker(wiring.Component):
    """Write the ICRC into the last four octets of each packet.

    The CRC is made of the octets from the inner IPv6 header on, with ones for the fields that
    :data:`~mrcnic.hdl.wire.icrc.ICRC_MASK` says, up to the ICRC. There is no back-pressure: room
    for a packet is made before it is started.

    Latency is ``latency`` cycles, for the last beat; another beat comes out with the next one, or
    after that time, if that is later. One beat per cycle passes, and packets may follow each other
    without a gap.

    Parameters
    ----------
    octets : :class:`int`
        Octets per beat; a power of two, at least 4.
    starts : iterable of :class:`int`
        Where the inner IPv6 header may start in a packet: without an outer header, and with it.

    Attributes
    ----------
    latency : :class:`int`
        4, 5 or 6 cycles with 8, 64 or 128 octets per beat.

    Members
    -------
    i : ``In(packet_signature(octets, user_shape=1))``
        Packets with four octets of zero at the end, and zero where ``keep`` is not set. ``user``
        says whether there is an outer header. Always ready.
    o : ``Out(stream.Signature(Beat(octets), always_ready=True))``
        The same packets with their ICRC.
    """

    def __init__(self, *, octets: int, starts: Iterable[int]):
        self.octets = index(octets)
        self.starts = tuple(starts)
        self._crc = CrcPipeline(octets=self.octets, trailer_octets=ICRC.octets)
        self.latency = self._crc.latency + 1
        super().__init__({
            "i": In(packet_signature(self.octets, user_shape=1)),
            "o": Out(stream.Signature(Beat(self.octets), always_ready=True)),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.crc = crc = self._crc
        m.d.comb += self.i.ready.eq(1)
        m.d.comb += crc.i.eq(self._counted(m))

        # The beats wait for the CRC.
        m.submodules.delay = delay = DelayLine(Beat(self.octets), delay=crc.latency)
        for name in ("data", "keep", "first", "last"):
            m.d.comb += delay.i[name].eq(self.i.payload[name])
        passed = Signal(crc.latency)
        m.d.sync += passed.eq(Cat(self.i.valid, passed))
        beat, valid = delay.o, passed[-1]

        here, before = self._place(m, beat, crc.o.crc)

        # A beat stays until it is known whether the ICRC starts in it, that is until the next.
        held = Signal(Beat(self.octets), reset_less=True)
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
        """Return the beat as the CRC counts it."""
        counted = Signal(CrcBeat(self.octets))
        octets = self.i.payload.data.as_value()
        m.d.comb += counted.valid.eq(self.i.valid)
        m.d.comb += counted.first.eq(self.i.payload.first)
        m.d.comb += counted.last.eq(self.i.payload.last)
        m.d.comb += counted.spare.eq(~keep_to_end(self.i.payload.keep))

        # In the first beats, some octets are left out, read as ones, or hold the initial state.
        beats = -(-(max(self.starts) + len(ICRC_MASK)) // self.octets)
        number = Signal(range(beats + 1))
        later = Signal.like(number)
        m.d.comb += number.eq(later)
        with m.If(self.i.payload.first):
            m.d.comb += number.eq(0)
        with m.If(self.i.valid & (number != beats)):
            m.d.sync += later.eq(number + 1)
        m.d.comb += counted.data.eq(octets)
        for user, start in enumerate(self.starts):
            ones, count, initial = _patterns(start)
            for beat in range(beats):
                shift = 8 * self.octets * beat
                cut = (1 << 8 * self.octets) - 1
                with m.If((number == beat) & (self.i.payload.user == user)):
                    m.d.comb += counted.data.eq(
                        ((octets | ones >> shift & cut) & (count >> shift & cut))
                        ^ (initial >> shift & cut)
                    )
        return counted

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


def _patterns(start):
    """Return bits that read as ones, bits that count, and the initial state, as octets."""
    ones = int.from_bytes(ICRC_MASK, "little") << 8 * start
    initial = ICRC_INITIAL << 8 * start
    return ones, ~((1 << 8 * start) - 1), initial
