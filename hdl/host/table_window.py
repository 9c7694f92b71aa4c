"""The window through which the host writes rows of tables."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import TableWrite
from mrcnic.hdl.packet.deep_memory import DeepMemory
from mrcnic.hdl.rows import ROW_BITS, ROWS

from .registers import row_counts

__all__ = ["TableWindow"]


class TableWindow(wiring.Component):
    """Hand rows to those who use them, and keep a copy for the host to read.

    The copies of all rows are zero after a walk that follows reset, for as many cycles as the
    largest table has rows; nothing is written before. Then a write takes 2 cycles, and as long as
    it takes until ``table`` is ready. ``row`` follows ``select`` and ``row_index`` by 2 cycles.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    select, row_index, row_data : ``In(4)``, ``In(16)``, ``In(512)``
        Row, and what to write there.
    write : ``In(1)``
        Write the row.
    busy, done, refused : ``Out(1)``
        A row is being written, or the copies are cleared; the last write is done; it was refused,
        because there is no such row, or another write was not yet done.
    row : ``Out(512)``
        Copy of the row. Bits that are reserved at the top of a row, or beyond it, are zero.
    table : ``Out(stream.Signature(TableWrite()))``
        Rows.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "select": In(4),
            "row_index": In(16),
            "row_data": In(ROW_BITS),
            "write": In(1),
            "busy": Out(1, init=1),
            "done": Out(1),
            "refused": Out(1),
            "row": Out(ROW_BITS),
            "table": Out(stream.Signature(TableWrite())),
        })

    def elaborate(self, platform):
        m = Module()

        counts = {table: count for table, count in row_counts(self.config).items() if count}
        offered = self.table.payload
        exists = Signal()
        m.d.comb += exists.eq(
            Cat(
                (offered.table == table) & (offered.index < count)
                for table, count in counts.items()
            ).any()
        )

        clearing = Signal(init=1)
        walk = Signal(range(max(counts.values())))
        with m.If(clearing):
            m.d.sync += walk.eq(walk + 1)
            with m.If(walk == max(counts.values()) - 1):
                m.d.sync += clearing.eq(0)

        checking = Signal()
        taken = Signal()
        m.d.comb += taken.eq(self.table.valid & self.table.ready)
        m.d.sync += self.busy.eq(clearing | checking | (self.table.valid & ~taken))
        with m.If(self.write):
            m.d.sync += self.done.eq(0)
            m.d.sync += self.refused.eq(self.busy)
            with m.If(~self.busy):
                m.d.sync += self.busy.eq(1)
                m.d.sync += checking.eq(1)
                m.d.sync += offered.table.eq(self.select)
                m.d.sync += offered.index.eq(self.row_index)
                m.d.sync += offered.row.eq(self.row_data)
        with m.If(checking):
            m.d.sync += checking.eq(0)
            m.d.sync += self.table.valid.eq(exists)
            m.d.sync += self.refused.eq(~exists)
            m.d.sync += self.busy.eq(exists)
        with m.If(taken):
            m.d.sync += self.table.valid.eq(0)
            m.d.sync += self.done.eq(1)

        # Copies.
        select = Signal.like(self.select)
        m.d.sync += select.eq(self.select)
        m.d.sync += self.row.eq(0)
        for table, count in counts.items():
            fields = ROWS[table].fields
            width = sum(fields.values()) - fields.get("reserved", 0)
            m.submodules[f"copy_{table.name.lower()}"] = copy = DeepMemory(
                width, depth=max(2, count)
            )
            m.d.comb += copy.write.valid.eq(clearing | (taken & (offered.table == table)))
            m.d.comb += copy.write.row.eq(Mux(clearing, walk, offered.index))
            m.d.comb += copy.write.data.eq(Mux(clearing, 0, offered.row))
            m.d.comb += copy.row[0].eq(self.row_index)
            with m.Switch(select), m.Case(table.value), m.If(self.row_index < count):
                m.d.sync += self.row.eq(copy.data[0])

        return m
