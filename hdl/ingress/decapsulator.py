"""Inner packets without what stands before them."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig

from .frame import START_SKEW, START_UNIT, FrameBeat, InnerBeat

__all__ = ["Decapsulator"]


class Decapsulator(wiring.Component):
    """Move the inner packet of each frame to the start of a beat.

    A beat is made of the end of a beat and the start of the next one: first the pair of them is
    moved by 4 octets or not, then a multiplexer has one input for each 8 octets of a beat. Where
    the last beat of a frame leaves octets over, they follow a cycle later, which is when the next
    frame's first beat makes nothing yet.

    The output is combinational, for whoever takes it to keep it where it is needed: a beat comes
    out in the cycle in which the last octet comes in that it needs. One beat per cycle passes,
    without a bubble between frames.

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
        unit_bits = (octets // START_UNIT).bit_length() - 1
        now = self.i

        # The beat before: valid until it is replaced, or for a cycle if it is the last one.
        before = Signal.like(self.i)
        with m.If(now.valid):
            m.d.sync += [before[n].eq(now[n]) for n, _ in FrameBeat(self.config) if n != "notes"]
            with m.If(now.first):
                m.d.sync += before.notes.eq(now.notes)
        with m.Elif(before.last):
            m.d.sync += before.valid.eq(0)

        # Its rest alone, or joined with the start of this beat. A frame that ends before its inner
        # packet starts makes a beat as well.
        start = before.notes.start
        place = START_SKEW + START_UNIT * start[:unit_bits]
        starts_in = start[unit_bits:]
        reached = before.index >= starts_in
        begins = before.index <= starts_in
        flushes = before.last & (begins | (before.end >= place))
        joins = ~before.last & reached & now.valid
        ends = now.last & (now.end < place)
        ended = before.last | ends
        end = (Mux(before.last, before.end, now.end) - place)[: len(self.o.end)]
        of_last = {name: Mux(before.last, before[name], now[name]) for name in ("bad", "index")}
        length = Cat(Mux(before.last, before.end, now.end), of_last["index"]) + 1
        m.d.comb += [
            self.o.valid.eq(before.valid & (flushes | joins)),
            self.o.first.eq(begins),
            self.o.last.eq(ended),
            self.o.late.eq(before.last),
            self.o.end.eq(Mux(ended, end, octets - 1)),
            self.o.bad.eq(of_last["bad"]),
            self.o.octets.eq(length),
            self.o.notes.eq(before.notes),
        ]

        both = Cat(before.data, now.data)
        moved = Signal(16 * octets - 8 * START_UNIT)
        m.d.comb += moved.eq(Mux(start[0], both[8 * START_UNIT :], both[: len(moved)]))
        joined = Signal(8 * octets)
        with m.Switch(start[1:unit_bits]):
            for number, at in enumerate(range(START_SKEW, octets, 2 * START_UNIT)):
                with m.Case(number) if unit_bits > 1 else m.Default():
                    m.d.comb += joined.eq(moved[8 * at : 8 * (at + octets)])
        m.d.comb += self.o.data.eq(joined)

        return m
