# amaranth: UnusedElaboratable=no
import pytest

from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.host.registers import row_counts
from mrcnic.hdl.host.table_window import TableWindow
from mrcnic.hdl.rows import ROWS, Table
from mrcnic.sim.bench.streams import simulate

TINY = PRESETS["tiny"].override(routes=1)


def width(table):
    fields = ROWS[table].fields
    return sum(fields.values()) - fields.get("reserved", 0)


async def cleared(ctx, dut):
    cycles = 0
    while ctx.get(dut.busy):
        await ctx.tick()
        cycles += 1
    return cycles


async def write(ctx, dut, table, row_index, row):
    ctx.set(dut.select, table)
    ctx.set(dut.row_index, row_index)
    ctx.set(dut.row_data, row)
    ctx.set(dut.write, 1)
    await ctx.tick()
    ctx.set(dut.write, 0)


async def read(ctx, dut, table, row_index):
    ctx.set(dut.select, table)
    ctx.set(dut.row_index, row_index)
    await ctx.tick()
    await ctx.tick()
    return ctx.get(dut.row)


def test_rows_are_zero_after_a_walk():
    dut = TableWindow(TINY)

    async def bench(ctx):
        await write(ctx, dut, Table.QP, 1, 5)
        assert ctx.get(dut.refused)
        largest = max(row_counts(TINY).values())
        assert await cleared(ctx, dut) <= largest + 1
        for table in Table:
            assert await read(ctx, dut, table, 1) == 0

    simulate(dut, bench)


def test_every_row_is_read_back_from_its_own_start():
    """B007: rows that follow each other are not shifted."""
    dut = TableWindow(TINY)
    rows = {
        (table, n): (0x0123_4567_89AB_CDEF_0F1E << 64 | 0xA5A5_0000_1111 + n) * (n + 1)
        for table in Table
        for n in (0, 1, 2, row_counts(TINY)[table] - 1)
    }

    async def bench(ctx):
        await cleared(ctx, dut)
        ctx.set(dut.table.ready, 1)
        for (table, n), row in rows.items():
            await write(ctx, dut, table, n, row)
            while ctx.get(dut.busy):
                await ctx.tick()
            assert ctx.get(dut.done)
            assert not ctx.get(dut.refused)
        for (table, n), row in rows.items():
            assert await read(ctx, dut, table, n) == row & (1 << width(table)) - 1

    simulate(dut, bench)


def test_a_row_is_offered_until_it_is_taken():
    dut = TableWindow(TINY)

    async def bench(ctx):
        await cleared(ctx, dut)
        await write(ctx, dut, Table.REGION, 3, 77 << 300)
        await ctx.tick()
        # What the host writes meanwhile changes nothing, and a second write is refused.
        for n in range(10):
            ctx.set(dut.row_data, n)
            ctx.set(dut.row_index, n)
            ctx.set(dut.write, n == 5)
            assert ctx.get(dut.busy)
            assert not ctx.get(dut.done)
            assert ctx.get(dut.refused) == (n > 5)
            assert ctx.get(dut.table.valid)
            offered = ctx.get(dut.table.payload)
            assert (offered.table, offered.index, offered.row) == (Table.REGION, 3, 77 << 300)
            await ctx.tick()
        ctx.set(dut.table.ready, 1)
        await ctx.tick()
        assert not ctx.get(dut.table.valid)
        assert ctx.get(dut.done)
        assert not ctx.get(dut.busy)

    simulate(dut, bench)


@pytest.mark.parametrize(
    ("table", "row_index"),
    [
        (Table.QP, 4),
        (Table.EV, 64),
        (Table.REGION, 4),
        (Table.REGION, 0xFFFF),
        (Table.ROUTE, 8),
        (Table.PEER, 4),
        (max(Table) + 1, 0),
        (15, 0),
    ],
)
def test_rows_that_do_not_exist_are_refused(table, row_index):
    dut = TableWindow(TINY)

    async def bench(ctx):
        await cleared(ctx, dut)
        ctx.set(dut.table.ready, 1)
        await write(ctx, dut, table, row_index, (1 << 512) - 1)
        for _ in range(3):
            assert not ctx.get(dut.table.valid)
            await ctx.tick()
        assert ctx.get(dut.refused)
        assert not ctx.get(dut.busy)
        assert not ctx.get(dut.done)
        assert await read(ctx, dut, table, row_index) == 0
        for known in Table:
            assert await read(ctx, dut, known, 0) == 0

    simulate(dut, bench)
