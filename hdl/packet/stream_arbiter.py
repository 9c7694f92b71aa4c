"""Several streams into one."""

from operator import index

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["StreamArbiter"]


class StreamArbiter(wiring.Component):
    """Merge streams of single transfers, fairly or by priority.

    An output register keeps what was chosen until it is taken, so ``o`` obeys the stream rules
    whatever the inputs do. Latency is one cycle; one transfer per cycle passes.

    Parameters
    ----------
    shape : :ref:`shape-like <lang-shapelike>`
        Shape of the payloads.
    inputs : :class:`int`
        Number of inputs, at least 1.
    priority : :class:`bool`
        Input 0 goes before input 1, and so on. Otherwise the input served last goes last.

    Members
    -------
    i : ``In(stream.Signature(shape)).array(inputs)``
        Inputs.
    o : ``Out(stream.Signature(shape))``
        Output.

    Raises
    ------
    ValueError
        If there is no input.
    """

    def __init__(self, shape: ShapeLike, *, inputs: int, priority: bool = False):
        self.shape = shape
        self.inputs = index(inputs)
        self.priority = bool(priority)
        if self.inputs < 1:
            raise ValueError(f"inputs must be at least 1, not {inputs}")
        super().__init__({
            "i": In(stream.Signature(shape)).array(self.inputs),
            "o": Out(stream.Signature(shape)),
        })

    def elaborate(self, platform):
        m = Module()

        last = Signal(range(max(2, self.inputs)))
        chosen = Signal(range(max(2, self.inputs)))

        # The later of these assignments wins: first the inputs from the top down, then those
        # after the last one served.
        for n in reversed(range(self.inputs)):
            with m.If(self.i[n].valid):
                m.d.comb += chosen.eq(n)
        if not self.priority:
            for n in reversed(range(1, self.inputs)):
                with m.If(self.i[n].valid & (n > last)):
                    m.d.comb += chosen.eq(n)

        with m.If(self.o.ready | ~self.o.valid):
            m.d.sync += self.o.valid.eq(0)
            with m.Switch(chosen):
                for n in range(self.inputs):
                    with m.Case(n):
                        m.d.comb += self.i[n].ready.eq(1)
                        m.d.sync += self.o.valid.eq(self.i[n].valid)
                        m.d.sync += self.o.payload.eq(self.i[n].payload)
                        with m.If(self.i[n].valid):
                            m.d.sync += last.eq(n)

        return m
