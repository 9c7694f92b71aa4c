"""What a MAC may get wrong about the shape of a frame."""

from operator import index

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.packet.beat import packet_signature
from mrcnic.hdl.packet.keep import keep_to_end

from .frame_limits import MAX_FRAME_OCTETS, MIN_FRAME_OCTETS

__all__ = ["SHAPE_EVENTS", "FrameChecker"]

#: Reasons to drop a frame for its shape, each of them an event.
SHAPE_EVENTS = ("rx_line_runt", "rx_line_oversize", "rx_line_malformed", "rx_line_torn")


class FrameChecker(wiring.Component):
    """Tell frames of a good shape from others, as they pass.

    A frame is dropped with one event: ``rx_line_malformed`` if it has a beat that is empty, or one
    before the last that is not full; else ``rx_line_oversize`` if it is longer than 9,216 octets,
    in which case it ends, for those behind, with the first beat beyond; else ``rx_line_runt`` if it
    is shorter than 60. ``rx_line_torn`` counts frames that are cut by the start of another, and
    beats up to a ``last`` that had no start: a MAC, or this block, was reset within a frame.

    Latency is one cycle; a beat per cycle passes. There is no back-pressure.

    Parameters
    ----------
    octets : :class:`int`
        Octets per beat; from 8 to 128.

    Members
    -------
    i : ``In(packet_signature(octets, user_shape=1))``
        Frames. ``ready`` is always set.
    o : ``Out(packet_signature(octets, user_shape=1))``
        The same frames; ``ready`` is not looked at. A cut frame has no last beat; another one
        follows it.
    abort : ``Out(1)``
        With a last beat: drop the frame.
    events : ``Out(StructLayout(...))``
        One-cycle pulses, named in :data:`SHAPE_EVENTS`.

    Raises
    ------
    ValueError
        If ``octets`` is out of its limits.
    """

    def __init__(self, *, octets: int):
        self.octets = index(octets)
        if not (8 <= self.octets <= 128 and self.octets.bit_count() == 1):
            raise ValueError(f"octets must be a power of two from 8 to 128, not {octets}")
        self.beats_max = MAX_FRAME_OCTETS // self.octets
        super().__init__({
            "i": In(packet_signature(self.octets, user_shape=1)),
            "o": Out(packet_signature(self.octets, user_shape=1)),
            "abort": Out(1),
            "events": Out(data.StructLayout(dict.fromkeys(SHAPE_EVENTS, 1))),
        })

    def elaborate(self, platform):
        m = Module()

        # Look at the beat alone.
        beat = Signal.like(self.i.payload, reset_less=True)
        valid = Signal()
        end = Signal(range(self.octets), reset_less=True)
        gappy = Signal(reset_less=True)
        keep = self.i.payload.keep
        m.d.comb += self.i.ready.eq(1)
        m.d.sync += valid.eq(self.i.valid)
        m.d.sync += beat.eq(self.i.payload)
        m.d.sync += end.eq(keep_to_end(keep))
        m.d.sync += gappy.eq(~keep[0] | (~self.i.payload.last & ~keep[-1]))

        # Look at its frame.
        outside = Signal(init=1)
        cut = Signal()  # what comes until the next start belongs to a frame that was ended early
        count = Signal(range(self.beats_max + 1))
        broken = Signal()
        place = Signal.like(count)
        bad = Signal()
        stray = Signal()
        long = Signal()
        ends = Signal()
        m.d.comb += place.eq(Mux(beat.first, 0, count))
        m.d.comb += bad.eq((broken & ~beat.first) | gappy)
        m.d.comb += stray.eq(outside & ~beat.first)
        m.d.comb += long.eq(place == self.beats_max)
        m.d.comb += ends.eq(valid & ~stray & (beat.last | long))
        with m.If(valid & ~stray):
            m.d.sync += count.eq(place + 1)
            m.d.sync += broken.eq(bad)
            m.d.sync += outside.eq(ends)
            m.d.sync += cut.eq(long & ~beat.last)
        with m.Elif(valid & beat.last):
            m.d.sync += cut.eq(0)

        short = Cat(end, place) < MIN_FRAME_OCTETS - 1
        m.d.comb += self.abort.eq(bad | long | short)
        m.d.comb += self.o.valid.eq(valid & ~stray)
        m.d.comb += self.o.payload.eq(beat)
        m.d.comb += self.o.payload.last.eq(beat.last | long)

        events = self.events
        m.d.comb += events.rx_line_malformed.eq(ends & bad)
        m.d.comb += events.rx_line_oversize.eq(ends & ~bad & long)
        m.d.comb += events.rx_line_runt.eq(ends & ~bad & ~long & short)
        m.d.comb += events.rx_line_torn.eq(
            valid & Mux(beat.first, ~outside, stray & beat.last & ~cut)
        )

        return m
