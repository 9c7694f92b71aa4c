"""Memories with one writer and several readers, however deep."""

from operator import index
from pathlib import Path

from amaranth.hdl import ClockSignal, Instance, Module, ShapeLike, Value
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["DEEP_MEMORY", "DEEP_ROWS", "DeepMemory", "RowWrite", "with_deep_memory"]

#: A memory of more rows than these takes Amaranth too long to write out, initial values and all.
DEEP_ROWS = 4096

#: The hand-written module, in a file of its name.
DEEP_MEMORY = Path(__file__).with_name("mrcnic_deep_memory.v")


class RowWrite(data.StructLayout):
    """Write ``data`` to ``row`` in each cycle in which ``valid`` is set."""

    def __init__(self, shape: ShapeLike, depth: int):
        super().__init__({"valid": 1, "row": range(depth), "data": shape})


class DeepMemory(wiring.Component):
    """Memory with one write port and any number of read ports.

    Data read arrives one cycle after its row number. A read in the cycle in which its row is
    written gives nothing to rely on; contents are undefined until written.

    Up to :data:`DEEP_ROWS` rows this is Amaranth's own memory. A deeper one is Amaranth's in its
    simulator and in proofs, which elaborate with no platform or with ``"formal"``; for any other
    platform, such as the ``"generate"`` of ``verilog.convert(..., platform="generate")``, it is
    an instance of the hand-written :data:`DEEP_MEMORY` for each reader, which
    :func:`with_deep_memory` adds to the Verilog.

    Parameters
    ----------
    shape : :ref:`shape-like <lang-shapelike>`
        Shape of a row.
    depth : :class:`int`
        Number of rows, at least 2.
    readers : :class:`int`
        Number of read ports, at least 1.

    Members
    -------
    write : ``In(RowWrite(shape, depth))``
    enable : ``In(1, init=1).array(readers)``
        Without it, ``data`` stays as it is.
    row : ``In(range(depth)).array(readers)``
        What to read.
    data : ``Out(shape).array(readers)``
        What was read.

    Raises
    ------
    ValueError
        If ``depth`` or ``readers`` is too small.
    """

    def __init__(self, shape: ShapeLike, *, depth: int, readers: int = 1):
        self.shape = shape
        self.depth = index(depth)
        self.readers = index(readers)
        for name, least in (("depth", 2), ("readers", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, not {getattr(self, name)}")
        row = range(self.depth)
        super().__init__({
            "write": In(RowWrite(shape, self.depth)),
            "enable": In(1, init=1).array(self.readers),
            "row": In(row).array(self.readers),
            "data": Out(shape).array(self.readers),
        })

    def elaborate(self, platform):
        m = Module()

        if self.depth > DEEP_ROWS and platform not in (None, "formal"):
            for n in range(self.readers):
                m.submodules[f"replica_{n}"] = Instance(
                    DEEP_MEMORY.stem,
                    p_WIDTH=len(Value.cast(self.data[n])),
                    p_DEPTH=self.depth,
                    p_ROW_BITS=len(self.row[n]),
                    i_clk=ClockSignal(),
                    i_write_valid=self.write.valid,
                    i_write_row=self.write.row,
                    i_write_data=Value.cast(self.write.data),
                    i_read_enable=self.enable[n],
                    i_read_row=self.row[n],
                    o_read_data=Value.cast(self.data[n]),
                )
            return m

        m.submodules.rows = rows = memory.Memory(shape=self.shape, depth=self.depth, init=[])
        write = rows.write_port()
        m.d.comb += [
            write.en.eq(self.write.valid),
            write.addr.eq(self.write.row),
            write.data.eq(self.write.data),
        ]
        for n in range(self.readers):
            read = rows.read_port()
            m.d.comb += [
                read.en.eq(self.enable[n]),
                read.addr.eq(self.row[n]),
                self.data[n].eq(read.data),
            ]

        return m


def with_deep_memory(verilog: str) -> str:
    """Add the memory module to generated ``verilog``, if that makes use of it."""
    return verilog + DEEP_MEMORY.read_text() if DEEP_MEMORY.stem in verilog else verilog
