"""The host's own frames, which wait for their turn."""

from operator import index

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.packet.beat import Beat, packet_signature
from mrcnic.hdl.packet.commit_fifo import CommitFifo

__all__ = ["HOST_FRAME_OCTETS_MAX", "HostStore"]

#: Octets of the longest frame, without frame check sequence.
HOST_FRAME_OCTETS_MAX = 9216

#: Frames of the greatest length that there is room for.
_FRAMES = 2


class HostStore(wiring.Component):
    """Store frames until they are whole, and drop those that are too long.

    There is room for two frames of the greatest length. Latency is three cycles behind the last
    beat; one beat per cycle passes, without a bubble between frames.

    Parameters
    ----------
    octets : :class:`int`
        Octets per beat.

    Members
    -------
    i : ``In(packet_signature(octets))``
        Frames, which may have idle beats inside.
    o : ``Out(packet_signature(octets))``
        The same frames, without.
    too_long : ``Out(1)``
        Set for one cycle: a frame was dropped.
    """

    def __init__(self, *, octets: int):
        self.octets = index(octets)
        self.beats_max = HOST_FRAME_OCTETS_MAX // self.octets
        self.depth = 1 << (_FRAMES * self.beats_max - 1).bit_length()
        super().__init__({
            "i": In(packet_signature(self.octets)),
            "o": Out(packet_signature(self.octets)),
            "too_long": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.fifo = fifo = CommitFifo(Beat(self.octets), depth=self.depth)
        connect(m, flipped(self.i), fifo.i)
        connect(m, fifo.o, flipped(self.o))

        before = Signal(range(self.beats_max + 1))  # beats of the frame, up to too many
        place = Signal.like(before)
        moved = Signal()
        m.d.comb += place.eq(Mux(self.i.payload.first, 0, before))
        m.d.comb += moved.eq(self.i.valid & self.i.ready)
        m.d.comb += fifo.abort.eq(place == self.beats_max)
        m.d.comb += self.too_long.eq(moved & self.i.payload.last & fifo.abort)
        with m.If(moved & ~fifo.abort):
            m.d.sync += before.eq(place + 1)

        return m
