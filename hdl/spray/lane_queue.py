"""Where packets wait for a lane."""

from operator import index

from amaranth.hdl import Module, ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

__all__ = ["LaneQueue"]


class LaneQueue(wiring.Component):
    """Queue that nobody overfills. What comes in when it is empty goes out in the next cycle.

    Parameters
    ----------
    shape : :ref:`shape-like <lang-shapelike>`
        Shape of an entry.
    depth : :class:`int`
        Entries that fit.

    Members
    -------
    valid, i : ``In(1)``, ``In(shape)``
        Entry; there is room for it.
    o : ``Out(stream.Signature(shape))``
        Entries, in order.
    """

    def __init__(self, shape: ShapeLike, *, depth: int):
        self.depth = index(depth)
        super().__init__({"valid": In(1), "i": In(shape), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()

        width = len(self.i.as_value())
        m.submodules.later = later = SyncFIFOBuffered(width=width, depth=self.depth)
        vacant = ~self.o.valid | self.o.ready
        direct = vacant & (later.level == 0)
        m.d.comb += [
            later.w_data.eq(self.i),
            later.w_en.eq(self.valid & ~direct),
            later.r_en.eq(vacant),
        ]
        with m.If(vacant):
            m.d.sync += self.o.valid.eq(later.r_rdy | (self.valid & direct))
            with m.If(later.r_rdy):
                m.d.sync += self.o.payload.eq(later.r_data)
            with m.Else():
                m.d.sync += self.o.payload.eq(self.i)

        return m
