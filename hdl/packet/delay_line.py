"""A fixed number of cycles between two points of a pipeline."""

from operator import index

from amaranth.hdl import Module, Mux, ShapeLike, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["DelayLine"]

#: Shortest delay that is worth a memory.
_RING_DELAY = 4


class DelayLine(wiring.Component):
    """Hand on a value some cycles later.

    A long one is a ring in a small memory, which takes a fraction of what as many registers would.
    What comes out before ``delay`` cycles have passed since reset has no meaning: let whatever
    says that the value is valid go through registers with a reset.

    Parameters
    ----------
    shape : :ref:`shape-like <lang-shapelike>`
        Shape of the value.
    delay : :class:`int`
        Cycles, at least 1.

    Members
    -------
    i : ``In(shape)``
        Value.
    o : ``Out(shape)``
        The value ``i`` had ``delay`` cycles ago; a register.

    Raises
    ------
    ValueError
        If ``delay`` is less than 1.
    """

    def __init__(self, shape: ShapeLike, *, delay: int):
        self.shape = shape
        self.delay = index(delay)
        if self.delay < 1:
            raise ValueError(f"delay must be at least 1, not {delay}")
        super().__init__({"i": In(shape), "o": Out(shape)})

    def elaborate(self, platform):
        m = Module()

        if self.delay < _RING_DELAY:
            value = self.i
            for cycle in range(self.delay):
                is_last = cycle == self.delay - 1
                register = self.o if is_last else Signal(self.shape, name=f"cycle_{cycle}")
                m.d.sync += register.eq(value)
                value = register
            return m

        rows = self.delay - 1  # the output register is one of the cycles
        m.submodules.ring = ring = Memory(shape=self.shape, depth=rows, init=[])
        write_port = ring.write_port()
        read_port = ring.read_port(domain="comb")

        # A row is read in the very cycle in which it is written again.
        row = Signal(range(rows))
        m.d.sync += row.eq(Mux(row == rows - 1, 0, row + 1))
        m.d.comb += [write_port.addr.eq(row), read_port.addr.eq(row), write_port.en.eq(1)]
        m.d.comb += write_port.data.eq(self.i)
        m.d.sync += self.o.eq(read_port.data)

        return m
