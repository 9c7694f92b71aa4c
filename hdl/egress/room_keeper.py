"""Room in a lane's FIFO, kept for what is on its way there."""

from operator import index

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["RoomKeeper"]


class RoomKeeper(wiring.Component):
    """Tell whether a packet of any length can be started, so that nothing behind it ever waits.

    A packet that is started takes room for the longest one; what it does not need comes back when
    its length is known; the rest comes back beat by beat as beats leave. ``room`` falls one cycle
    after its cause and rises two after, and once set stays until a packet is started.

    Parameters
    ----------
    depth : :class:`int`
        Beats that fit.
    beats_max : :class:`int`
        Beats of the longest packet, at most ``depth``.

    Attributes
    ----------
    free, unused, went : :class:`~amaranth.hdl.Signal`
        State, for proofs.

    Members
    -------
    start : ``In(1)``
        A packet is started; only with ``room``.
    measured : ``In(StructLayout({"valid": 1, "beats": range(beats_max + 1)}))``
        The oldest packet not measured yet has so many beats.
    left : ``In(1)``
        A beat left the FIFO.
    room : ``Out(1)``
        There is room for a packet of any length.

    Raises
    ------
    ValueError
        If ``beats_max`` is not from 1 to ``depth``.
    """

    def __init__(self, *, depth: int, beats_max: int):
        self.depth = index(depth)
        self.beats_max = index(beats_max)
        if not 1 <= self.beats_max <= self.depth:
            raise ValueError(f"beats_max must be from 1 to {depth}, not {beats_max}")
        self.free = Signal(range(self.depth + 1), init=self.depth)
        self.unused = Signal(range(self.beats_max + 1))
        self.went = Signal()
        super().__init__({
            "start": In(1),
            "measured": In(
                data.StructLayout({"valid": 1, "beats": range(self.beats_max + 1)}),
            ),
            "left": In(1),
            "room": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        unused = Mux(self.measured.valid, self.beats_max - self.measured.beats, 0)
        m.d.sync += self.unused.eq(unused)
        m.d.sync += self.went.eq(self.left)

        kept = Mux(self.start, self.beats_max, 0)
        m.d.sync += self.free.eq(self.free + self.unused + self.went - kept)
        m.d.comb += self.room.eq(self.free >= self.beats_max)

        return m
