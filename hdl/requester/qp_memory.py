"""A value for each QP."""

from operator import index

from amaranth.hdl import Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.descriptor.sizes import index_bits

__all__ = ["QpMemory"]


class QpMemory(wiring.Component):
    """Keep a value for each QP; all are zero after a walk that follows reset.

    A value is there the cycle after its index, and in that cycle only as long as the index stays.
    Whoever reads a QP in the very cycle in which it is written gets the old value.

    Parameters
    ----------
    shape : :ref:`shape-like <lang-shapelike>`
        Shape of a value.
    count : :class:`int`
        Number of QPs; a power of two.
    reads : :class:`int`
        Number of read ports.

    Members
    -------
    write : ``In(StructLayout({"valid": 1, "index": ..., "value": shape}))``
        Write in each cycle in which ``valid`` is set, once ``clearing`` is over.
    index, value : arrays of ``reads``
        Read ports.
    clearing : ``Out(1)``
        The walk, which takes ``count`` cycles, goes on.
    """

    def __init__(self, shape: ShapeLike, *, count: int, reads: int = 1):
        self.shape = shape
        self.count = index(count)
        self.reads = index(reads)
        bits = index_bits(self.count)
        super().__init__({
            "write": In(data.StructLayout({"valid": 1, "index": bits, "value": shape})),
            "index": In(bits).array(self.reads),
            "value": Out(shape).array(self.reads),
            "clearing": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        value = Value.cast(self.write.value)
        m.submodules.memory = store = memory.Memory(shape=len(value), depth=self.count, init=[])

        row = Signal(range(self.count + 1))
        m.d.comb += self.clearing.eq(~row[-1])
        with m.If(self.clearing):
            m.d.sync += row.eq(row + 1)

        write = store.write_port()
        m.d.comb += [
            write.en.eq(self.clearing | self.write.valid),
            write.addr.eq(Mux(self.clearing, row[:-1], self.write.index)),
            write.data.eq(Mux(self.clearing, 0, value)),
        ]
        for n in range(self.reads):
            read = store.read_port()
            m.d.comb += read.addr.eq(self.index[n])
            m.d.comb += Value.cast(self.value[n]).eq(read.data)

        return m
