"""One stream into several."""

from operator import index

from amaranth.hdl import Cat, Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["StreamFork"]


class StreamFork(wiring.Component):
    """Give every transfer to all outputs, each in its own time.

    A transfer is taken from ``i`` in the cycle in which the last output takes it. No latency;
    one transfer per cycle passes while all outputs are ready.

    Parameters
    ----------
    shape : :ref:`shape-like <lang-shapelike>`
        Shape of the payload.
    outputs : :class:`int`
        Number of outputs, at least 1.

    Members
    -------
    i : ``In(stream.Signature(shape))``
        Input.
    o : ``Out(stream.Signature(shape)).array(outputs)``
        Outputs.

    Raises
    ------
    ValueError
        If there is no output.
    """

    def __init__(self, shape: ShapeLike, *, outputs: int):
        self.shape = shape
        self.outputs = index(outputs)
        if self.outputs < 1:
            raise ValueError(f"outputs must be at least 1, not {outputs}")
        super().__init__({
            "i": In(stream.Signature(shape)),
            "o": Out(stream.Signature(shape)).array(self.outputs),
        })

    def elaborate(self, platform):
        m = Module()

        taken = Signal(self.outputs)  # outputs that have the transfer that `i` offers
        takes = Signal(self.outputs)
        m.d.comb += takes.eq(Cat(output.valid & output.ready for output in self.o))
        m.d.comb += self.i.ready.eq((taken | Cat(output.ready for output in self.o)).all())
        for n, output in enumerate(self.o):
            m.d.comb += output.valid.eq(self.i.valid & ~taken[n])
            m.d.comb += output.payload.eq(self.i.payload)

        with m.If(self.i.valid & self.i.ready):
            m.d.sync += taken.eq(0)
        with m.Else():
            m.d.sync += taken.eq(taken | takes)

        return m
