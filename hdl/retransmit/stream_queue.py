"""Queues between the parts of this room."""

from operator import index

from amaranth.hdl import Module, ShapeLike, Value
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["StreamQueue"]


class StreamQueue(wiring.Component):
    """Keep up to ``depth`` transfers. Latency is two cycles; one per cycle passes.

    Parameters
    ----------
    shape : :ref:`shape-like <lang-shapelike>`
        Shape of the payload.
    depth : :class:`int`
        How many transfers fit; at least 2.

    Members
    -------
    i, o : ``In(stream.Signature(shape))``, ``Out(stream.Signature(shape))``

    Raises
    ------
    ValueError
        If ``depth`` is too small.
    """

    def __init__(self, shape: ShapeLike, *, depth: int):
        self.shape = shape
        self.depth = index(depth)
        if self.depth < 2:
            raise ValueError(f"depth must be at least 2, not {depth}")
        super().__init__({
            "i": In(stream.Signature(shape)),
            "o": Out(stream.Signature(shape)),
        })

    def elaborate(self, platform):
        m = Module()

        i, o = Value.cast(self.i.payload), Value.cast(self.o.payload)
        m.submodules.kept = kept = fifo.SyncFIFOBuffered(width=len(i), depth=self.depth)
        m.d.comb += [
            kept.w_data.eq(i),
            kept.w_en.eq(self.i.valid),
            self.i.ready.eq(kept.w_rdy),
            o.eq(kept.r_data),
            self.o.valid.eq(kept.r_rdy),
            kept.r_en.eq(self.o.ready),
        ]

        return m
