"""Frames that could be neighbour solicitations, picked out of a stream."""

from operator import index

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.packet.beat import Beat, packet_signature
from mrcnic.hdl.packet.commit_fifo import CommitFifo
from mrcnic.hdl.packet.keep import keep_to_end

from .solicitation import LOOK_OCTETS, MAX_SOLICITATION_OCTETS, looks_like_one

__all__ = ["Candidate", "NeighbourFilter"]


class Candidate(data.StructLayout):
    """A frame that may be a solicitation.

    Members
    -------
    octets : ``8 * MAX_SOLICITATION_OCTETS``
        The frame, first octet in the low bits; what is behind its end is undefined.
    tags : 2
        How many VLAN tags it has.
    length : 7
        Its length, in octets.
    """

    def __init__(self):
        super().__init__({"octets": 8 * MAX_SOLICITATION_OCTETS, "tags": 2, "length": 7})


class NeighbourFilter(wiring.Component):
    """Pass frames in order; hold each that could be a solicitation until somebody has judged it.

    A frame is shown as soon as its IPv6 next header and ICMPv6 type, or its length, say that it is
    none, which latest its 102nd octet does. A possible solicitation waits with its last beat at
    the input: for as long as that one takes to be judged, and the frames behind it do.

    Latency is three cycles, after the beat with octet 62 of a frame. One beat per cycle passes.

    Parameters
    ----------
    octets : :class:`int`
        Octets per beat; from 8 to 128.

    Members
    -------
    i : ``In(packet_signature(octets))``
        Frames.
    o : ``Out(packet_signature(octets))``
        Frames that nobody has consumed.
    enable : ``In(1)``
        Have frames judged.
    free : ``In(1)``
        There is a judge for a candidate.
    start : ``Out(1)``
        ``candidate`` is to be judged; it holds in this cycle only.
    candidate : ``Out(Candidate())``
        The frame.
    judged, consume : ``In(1)``
        The verdict on the frame that was started last, and whether it disappears.
    passed : ``Out(1)``
        A candidate has passed because there was no judge.
    """

    def __init__(self, *, octets: int):
        self.octets = index(octets)
        if not (8 <= self.octets <= 128 and self.octets.bit_count() == 1):
            raise ValueError(f"octets must be a power of two from 8 to 128, not {octets}")
        #: Beats of the longest solicitation, and the number of the beat that tells of its type.
        self.beats_max = -(-MAX_SOLICITATION_OCTETS // self.octets)
        self.look_beat = (LOOK_OCTETS - 1) // self.octets
        super().__init__({
            "i": In(packet_signature(self.octets)),
            "o": Out(packet_signature(self.octets)),
            "enable": In(1),
            "free": In(1),
            "start": Out(1),
            "candidate": Out(Candidate()),
            "judged": In(1),
            "consume": In(1),
            "passed": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        depth = max(8, 1 << (self.beats_max - 1).bit_length())
        m.submodules.fifo = fifo = CommitFifo(Beat(self.octets), depth=depth)
        connect(m, fifo.o, flipped(self.o))

        beat = self.i.payload
        moved = Signal()
        count = Signal(range(self.beats_max + 1))  # beats before this one, up to too many
        place = Signal.like(count)
        m.d.comb += moved.eq(self.i.valid & self.i.ready)
        m.d.comb += place.eq(Mux(beat.first, 0, count))
        with m.If(moved):
            m.d.sync += count.eq(Mux(place == self.beats_max, place, place + 1))

        # Does this frame look like one? The type stands in the look beat.
        octets = self._collect(m, place, moved)
        looks = Signal(3)
        seen = Signal(3)
        likely = Signal(3)
        m.d.comb += looks.eq(looks_like_one(octets))
        m.d.comb += likely.eq(Mux(place == self.look_beat, looks, seen))
        with m.If(moved):
            m.d.sync += seen.eq(likely)

        # Unless a beat holds a whole solicitation, its last beat is a later one than the look beat,
        # and what was seen there is in a register.
        at_once = self.beats_max == self.look_beat + 1
        known = likely if at_once else seen
        complete = (place < self.beats_max) & ~_below(place, self.look_beat + (not at_once))
        candidate = Signal()
        m.d.comb += candidate.eq(self.i.valid & beat.last & known.any() & complete)
        self._judge(m, candidate, moved, fifo)

        # Show what is known to be something else.
        early = _below(place, self.look_beat)
        more = _below(place, self.beats_max - 1)
        m.d.comb += fifo.release.eq(~early & ~(more & likely.any()))
        m.d.comb += fifo.i.payload.eq(beat)

        m.d.comb += self.candidate.octets.eq(octets)
        m.d.comb += self.candidate.tags.eq(Cat(known[1], known[2]))
        m.d.comb += self.candidate.length.eq(Cat(keep_to_end(beat.keep), place) + 1)

        return m

    def _collect(self, m, place, moved):
        """Return the first octets of the frame, up to and with the beat at the input."""
        octets = Signal(8 * MAX_SOLICITATION_OCTETS)
        width = 8 * self.octets
        stored = Signal(width * (self.beats_max - 1), reset_less=True)
        arriving = self.i.payload.data.as_value()
        slices = []
        for number in range(self.beats_max):
            if number == self.beats_max - 1:
                slices.append(arriving)  # where it is not this one's turn, nobody looks
                continue
            old = stored[width * number : width * (number + 1)]
            slices.append(Mux(place == number, arriving, old))
            with m.If(moved & (place == number)):
                m.d.sync += old.eq(arriving)
        m.d.comb += octets.eq(Cat(slices))
        return octets

    def _judge(self, m, candidate, moved, fifo):
        """Let frames through, but a candidate only with a verdict, or without a judge."""
        asked = Signal()
        settled = Signal()
        consume = Signal()
        stall = Signal()
        offered = candidate & self.enable & self.free
        begins = Signal()  # the frame stays where it is in the next cycle, too
        m.d.comb += begins.eq(offered & ~asked & ~settled)
        m.d.sync += self.start.eq(begins)
        m.d.comb += stall.eq(candidate & ~settled & (asked | offered))
        m.d.comb += fifo.i.valid.eq(self.i.valid & ~stall)
        m.d.comb += self.i.ready.eq(fifo.i.ready & ~stall)
        m.d.comb += fifo.abort.eq(consume)
        m.d.comb += self.passed.eq(moved & candidate & self.enable & ~asked)
        with m.If(begins):
            m.d.sync += asked.eq(1)
        with m.If(self.judged):
            m.d.sync += settled.eq(1)
            m.d.sync += consume.eq(self.consume)
        with m.If(moved & settled):
            m.d.sync += asked.eq(0)
            m.d.sync += settled.eq(0)
            m.d.sync += consume.eq(0)


def _below(place: Value, limit: int) -> Value:
    """Return whether ``place`` is below ``limit``; never, without a comparison, if that is 0."""
    return place < limit if limit else Const(0)
