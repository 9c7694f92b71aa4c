"""One stream past several places, one after the other."""

from operator import index

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["StreamRelay"]


class StreamRelay(wiring.Component):
    """Give every transfer to all outputs in turn: to the next when the one before has taken it.

    A transfer is taken from ``i`` in the cycle in which the last output takes it, so whoever offers
    it knows that everybody has it. Takes a cycle for each output, if all are ready.

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
        Outputs, in their order.

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

        turn = Signal(self.outputs, init=1)  # one hot: whose turn it is
        taken = Signal()
        last = self.o[self.outputs - 1]
        m.d.comb += self.i.ready.eq(turn[-1] & last.ready)
        for n, output in enumerate(self.o):
            m.d.comb += output.valid.eq(self.i.valid & turn[n])
            m.d.comb += output.payload.eq(self.i.payload)
            with m.If(output.valid & output.ready):
                m.d.comb += taken.eq(1)
        with m.If(taken):
            m.d.sync += turn.eq(turn.rotate_left(1))

        return m
