"""Inner packets without what stands before them."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig

from .frame import INNER_SKEW, FrameBeat, InnerBeat

__all__ = ["Decapsulator"]


class Decapsulator(wiring.Component):
    """Move the inner packet of each frame to the start of a beat.

    A beat is made of the end of a beat and the start of the next one, so a multiplexer of one
    input for each 8 octets of a beat does it. Where the last beat of a frame leaves octets over,
    they follow a cycle later, which is when the next frame's first beat makes nothing yet.

    Latency is two cycles from the beat with the last octet that is needed; one beat per cycle
    passes, without a bubble between frames.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(FrameBeat(config))``
        Frames.
    o : ``Out(InnerBeat(config))``
        Inner packets: of each frame at least one beat.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({"i": In(FrameBeat(config)), "o": Out(InnerBeat(config))})

    def elaborate(self, platform):
        m = Module()

        octets = self.config.beat_octets
        word_bits = (octets // 8).bit_length() - 1
        now = self.i
        octets_now = Signal(len(self.o.octets))
        m.d.comb += octets_now.eq(Cat(now.end, now.index) + 1)

        def place(notes):
            return INNER_SKEW + 8 * notes.start[:word_bits] if word_bits else INNER_SKEW

        # The beat before, as long as octets of it are to be used.
        held = Signal()
        before = Signal.like(self.i)
        before_octets = Signal.like(octets_now)
        is_start = Signal()  # the inner packet starts in it
        is_empty = Signal()  # the frame ended before the inner packet started

        # A beat that is not needed any more is not held: too early, or used up in this cycle.
        starts_in = now.notes.start[word_bits:]
        remains = now.end >= place(now.notes)
        with m.If(now.valid):
            m.d.sync += [before.eq(now), before_octets.eq(octets_now)]
            m.d.sync += is_start.eq(now.index <= starts_in)
            m.d.sync += is_empty.eq((now.index < starts_in) | ((now.index == starts_in) & ~remains))
            with m.If(now.last):
                m.d.sync += held.eq((now.index <= starts_in) | remains)
            with m.Else():
                m.d.sync += held.eq(now.index >= starts_in)
        with m.Elif(before.last):
            m.d.sync += held.eq(0)

        # Its rest alone, or joined with the start of this beat.
        flushes = Signal()
        joins = Signal()
        m.d.comb += flushes.eq(held & before.last)
        m.d.comb += joins.eq(held & ~before.last & now.valid)
        ends = now.last & (now.end < place(before.notes))
        end = Mux(flushes, before.end, now.end) - place(before.notes)
        both = Cat(before.data, now.data)
        joined = [
            both[8 * at : 8 * (at + octets)] for at in range(INNER_SKEW, INNER_SKEW + octets, 8)
        ]
        with m.Switch(before.notes.start[:word_bits]):
            for word, beat in enumerate(joined):
                with m.Case(word) if word_bits else m.Default():
                    m.d.sync += self.o.data.eq(beat)

        m.d.sync += [
            self.o.valid.eq(flushes | joins),
            self.o.first.eq(is_start),
            self.o.last.eq(flushes | ends),
            self.o.end.eq(Mux(flushes | ends, end[: len(self.o.end)], octets - 1)),
            self.o.empty.eq(flushes & is_empty),
            self.o.bad.eq(Mux(flushes, before.bad, now.bad)),
            self.o.octets.eq(Mux(flushes, before_octets, octets_now)),
            self.o.notes.eq(before.notes),
        ]

        return m
