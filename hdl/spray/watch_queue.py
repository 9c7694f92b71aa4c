"""Where EVs wait to be watched."""

from amaranth.hdl import Module, ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

__all__ = ["WatchQueue"]

#: Entries that fit, and how many may come after ``room`` was looked at.
_DEPTH = 16
_MARGIN = 8


class WatchQueue(wiring.Component):
    """Queue that tells early when it gets full.

    Parameters
    ----------
    shape : :ref:`shape-like <lang-shapelike>`
        Shape of an entry.

    Members
    -------
    valid, i : ``In(1)``, ``In(shape)``
        Entry; at most 8 since ``room`` was set.
    room : ``Out(1)``
        There is room for 8 of them.
    o : ``Out(stream.Signature(shape))``
        Entries, in order.
    """

    def __init__(self, shape: ShapeLike):
        super().__init__({
            "valid": In(1),
            "i": In(shape),
            "room": Out(1),
            "o": Out(stream.Signature(shape)),
        })

    def elaborate(self, platform):
        m = Module()

        width = len(self.i.as_value())
        m.submodules.queue = queue = SyncFIFOBuffered(width=width, depth=_DEPTH)
        m.d.comb += [
            queue.w_data.eq(self.i),
            queue.w_en.eq(self.valid),
            queue.r_en.eq(self.o.ready),
            self.room.eq(queue.level <= _DEPTH - _MARGIN),
            self.o.valid.eq(queue.r_rdy),
            self.o.payload.eq(queue.r_data),
        ]
        return m
