# amaranth: UnusedElaboratable=no
import axil_host
import pytest

from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.host.csr import RegisterBank
from mrcnic.hdl.host.register import Access
from mrcnic.hdl.host.registers import COUNTERS, MAGIC, PORT_STATUS
from mrcnic.hdl.rows import Table
from mrcnic.hdl.wire.opcodes import Dscp
from mrcnic.sim.bench.streams import simulate

CONFIG = PRESETS["tiny"].override(lanes=2)
EVENTS = [f"event_{n}" for n in range(20)]


def bank():
    dut = RegisterBank(CONFIG, EVENTS)
    return dut, {register.name: register for register in dut.registers}


async def settled(ctx, dut, registers):
    while await axil_host.read_wide(ctx, dut.axil, registers["table_status"]) & 1:
        pass


def test_first_read_is_answered_soon():
    dut, _ = bank()

    async def bench(ctx):
        word, cycles = await axil_host.read(ctx, dut.axil, 0)
        assert word == MAGIC
        assert cycles == 4

    simulate(dut, bench, max_cycles=10)


def test_values_after_reset():
    dut, registers = bank()

    async def bench(ctx):
        await settled(ctx, dut, registers)
        for register in registers.values():
            number = await axil_host.read_wide(ctx, dut.axil, register)
            expected = 0 if register.name == "table_status" else register.reset
            assert number == expected, register.name
        assert await axil_host.read_wide(ctx, dut.axil, registers["lanes"]) == 2
        settings = ctx.get(dut.settings)
        assert settings.udp_port == 4791
        assert [settings.dscp[n] for n in range(6)] == [int(one) for one in Dscp]

    simulate(dut, bench)


def pattern(address, seed):
    return (address * 0x9E37_79B1 + seed * 0x5A5A_5A5A) & 0xFFFF_FFFF


def test_every_register_reads_what_was_written_and_changes_no_other():
    """All registers hold patterns of their own at the same time, between unknown ones (B122)."""
    dut, registers = bank()
    expected = {}
    masks = {}
    for register in registers.values():
        for n in range(register.words):
            address = register.address + 4 * n
            masks[address] = 0
            expected[address] = register.reset >> 32 * n & 0xFFFF_FFFF
            if register.access == Access.RW:
                masks[address] = (1 << min(32, register.width - 32 * n)) - 1
    expected[registers["table_status"].address] = 0
    spots = (*range(0, 0x800, 4), *range(0x800, 0x2000, 256), *range(0x20A0, 0x4000, 512))
    unknown = [address for address in spots if address not in masks]
    skipped = registers["table_control"].address

    async def bench(ctx):
        await settled(ctx, dut, registers)
        for seed in (0, 1):
            for address in (*masks, *unknown):
                if address != skipped:
                    await axil_host.write(ctx, dut.axil, address, pattern(address, seed))
                if mask := masks.get(address, 0):
                    expected[address] = pattern(address, seed) & mask
            # The row that is selected now does not exist.
            for address in (*masks, *unknown):
                word, _ = await axil_host.read(ctx, dut.axil, address)
                assert word == expected.get(address, 0), hex(address)

    simulate(dut, bench, max_cycles=20_000)


def test_settings_follow_their_registers():
    dut, registers = bank()

    async def bench(ctx):
        async def put(name, number):
            await axil_host.write_wide(ctx, dut.axil, registers[name], number)

        await put("loopback", 0x2001_0DB8_000A << 80 | 1)
        await put("dscp_trimmed", 33)
        await put("hold_off", 0xFFFF_FFFE)
        await put("port0_usid", 0x2C05)
        await put("port1_own_mac", 0x0200_5E00_5301)
        await put("port1_enable", 1)
        settings = ctx.get(dut.settings)
        assert settings.loopback == 0x2001_0DB8_000A << 80 | 1
        assert settings.dscp[4] == 33
        assert settings.dscp[5] == Dscp.TRIMMED_LASTHOP
        assert settings.hold_off == 0xFFFF_FFFE
        assert settings.port[0].usid == 0x2C05
        assert settings.port[1].own_mac == 0x0200_5E00_5301
        assert (settings.port[0].enable, settings.port[1].enable) == (0, 1)
        assert settings.port[0].own_mac == 0

    simulate(dut, bench)


def test_rows_are_written_and_read_back():
    """Two rows written in turn read back from their own starts (B007)."""
    dut, registers = bank()

    async def bench(ctx):
        await settled(ctx, dut, registers)
        ctx.set(dut.table.ready, 1)
        taken = []
        rows = {0: 0x1111_2222_3333_4444 << 300 | 0xAAAA, 1: 0x5555 << 400 | 0xBBBB_CCCC}
        for row_index, row in rows.items():
            await axil_host.write_wide(ctx, dut.axil, registers["table_select"], Table.QP)
            await axil_host.write_wide(ctx, dut.axil, registers["table_index"], row_index)
            await axil_host.write_wide(ctx, dut.axil, registers["table_data"], row)
            await axil_host.write(ctx, dut.axil, registers["table_control"].address, 1)
            while not ctx.get(dut.table.valid):
                await ctx.tick()
            taken.append((ctx.get(dut.table.payload.index), ctx.get(dut.table.payload.row)))
            await settled(ctx, dut, registers)
            status = await axil_host.read_wide(ctx, dut.axil, registers["table_status"])
            assert status == 0b010
        assert taken == list(rows.items())
        for row_index, row in rows.items():
            await axil_host.write_wide(ctx, dut.axil, registers["table_index"], row_index)
            assert await axil_host.read_wide(ctx, dut.axil, registers["table_row"]) == row

    simulate(dut, bench)


def test_status_of_a_port_is_live_and_its_history_apart():
    dut, registers = bank()
    signs = {name: 1 << n for n, name in enumerate(PORT_STATUS)}

    async def bench(ctx):
        async def get(name):
            return await axil_host.read_wide(ctx, dut.axil, registers[name])

        ctx.set(dut.port_status[1], {"up": 1, "link": 1})
        assert await get("port1_status") == signs["up"] | signs["link"]
        assert await get("port1_status_rose") == signs["up"] | signs["link"]
        ctx.set(dut.port_status[1].link, 0)
        await ctx.tick()
        ctx.set(dut.port_status[1].link, 1)
        assert await get("port1_status_fell") == signs["link"]
        assert await get("port1_status") == signs["up"] | signs["link"]
        await axil_host.write_wide(ctx, dut.axil, registers["port1_status_fell"], signs["link"])
        assert await get("port1_status_fell") == 0
        assert await get("port0_status_rose") == 0

    simulate(dut, bench)


def test_counters_by_name():
    dut, registers = bank()

    async def bench(ctx):
        for n in (0, 7, 19):
            ctx.set(dut.events, 1 << n)
            for _ in range(n + 1):
                await ctx.tick()
            ctx.set(dut.events, 0)
        for _ in range(40):
            await ctx.tick()
        for n in range(20):
            total = await axil_host.read_wide(ctx, dut.axil, registers[f"count_event_{n}"])
            assert total == (n + 1 if n in (0, 7, 19) else 0)
        assert registers["count_event_19"].address == COUNTERS + 8 * 19
        assert await axil_host.read_wide(ctx, dut.axil, registers["counters"]) == 20
        ctx.set(dut.now, 0xABCDEF)
        ctx.set(dut.occupied_slots, 12)
        assert await axil_host.read_wide(ctx, dut.axil, registers["now"]) == 0xABCDEF
        assert await axil_host.read_wide(ctx, dut.axil, registers["occupied_slots"]) == 12

    simulate(dut, bench)


def test_there_must_be_events():
    with pytest.raises(ValueError, match=r"^event_names must not be empty$"):
        RegisterBank(CONFIG, [])
