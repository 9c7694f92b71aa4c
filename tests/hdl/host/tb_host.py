"""Bench: registers by AXI4-Lite and payload by AXI4, against independent models of both."""

import logging
import os
import random
from itertools import count

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi import (
    AxiLiteBus,
    AxiLiteMaster,
    AxiRamRead,
    AxiRamWrite,
    AxiReadBus,
    AxiWriteBus,
)
from cocotbext.axi.sparse_memory import SparseMemory
from host_room import EVENT_NAMES

from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.descriptor.inwards import Verdict
from mrcnic.hdl.descriptor.outwards import FetchRequest, StoreBeat
from mrcnic.hdl.host.register import Access
from mrcnic.hdl.host.registers import MAGIC, register_map
from mrcnic.hdl.packet.beat import Beat
from mrcnic.hdl.rows import ROWS, Table
from mrcnic.sim.bench.cocotb_streams import StreamSink, StreamSource
from mrcnic.sim.bench.packets import to_beats
from mrcnic.sim.driver.nic import Nic

CONFIG = PRESETS[os.environ.get("PRESET", "sim")]
REGISTERS = {register.name: register for register in register_map(CONFIG, EVENT_NAMES)}

#: Space of the tests, in octets, and how many transfers they make.
SPACE, TRANSFERS = 1 << 20, 20

#: The models of memory want less than 2**63 octets.
MEMORY = 1 << 62


class Host:
    """Registers by name, and memory."""

    def __init__(self, dut):
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "axil_"), dut.clk)
        self.memory = SparseMemory(MEMORY)
        self.reads = AxiRamRead(
            AxiReadBus.from_prefix(dut, "axi_read_"), dut.clk, size=MEMORY, mem=self.memory
        )
        self.writes = AxiRamWrite(
            AxiWriteBus.from_prefix(dut, "axi_write_"), dut.clk, size=MEMORY, mem=self.memory
        )
        for ram in (self.reads, self.writes):
            ram.log.setLevel(logging.WARNING)

    async def read32(self, address):
        return await with_timeout(self.master.read_dword(address), 200, "us")

    async def write32(self, address, value):
        await with_timeout(self.master.write_dword(address, value), 200, "us")

    async def read(self, name):
        register = REGISTERS[name]
        data = await with_timeout(self.master.read(register.address, 4 * register.words), 200, "us")
        return int.from_bytes(data.data, "little")

    async def write(self, name, number):
        register = REGISTERS[name]
        data = number.to_bytes(4 * register.words, "little")
        await with_timeout(self.master.write(register.address, data), 200, "us")


async def start(dut):
    for stream in ("fetch", "verdict", "payload"):
        getattr(dut, f"{stream}__valid").value = 0
    dut.store__ready.value = 0
    dut.table__ready.value = 1
    dut.rst.value = 1
    Clock(dut.clk, 2, unit="ns").start()
    await ClockCycles(dut.clk, 2)
    host = Host(dut)
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    return host, random.Random(cocotb.RANDOM_SEED)


def pauses(rng, chance):
    return (rng.random() < chance for _ in count())


@cocotb.test(timeout_time=10_000 * 2, timeout_unit="ns")
async def first_read_is_answered(dut):
    """A model of a bus that sleeps through the answer would hang here (B151)."""
    host, _ = await start(dut)
    assert await with_timeout(host.read("magic"), 100 * 2, "ns") == MAGIC


@cocotb.test(timeout_time=200, timeout_unit="us")
async def values_after_reset(dut):
    """Both simulators must agree with the table (B149)."""
    host, _ = await start(dut)
    while await host.read("table_status") & 1:
        pass
    for name, register in REGISTERS.items():
        expected = 0 if name == "table_status" else register.reset
        assert await host.read(name) == expected, name


@cocotb.test(timeout_time=200, timeout_unit="us")
async def registers_read_what_was_written(dut):
    host, rng = await start(dut)
    host.master.read_if.r_channel.set_pause_generator(pauses(rng, 0.5))
    host.master.write_if.b_channel.set_pause_generator(pauses(rng, 0.5))
    host.master.write_if.w_channel.set_pause_generator(pauses(rng, 0.5))
    written = {}
    for name, register in REGISTERS.items():
        if register.access == Access.RW:
            written[name] = rng.getrandbits(register.width)
            await host.write(name, written[name])
    for name, number in written.items():
        assert await host.read(name) == number, name


@cocotb.test(timeout_time=500, timeout_unit="us")
async def rows_are_read_back(dut):
    """Rows in turn, each from its own start (B007)."""
    host, rng = await start(dut)
    nic = await Nic.open(host, event_names=EVENT_NAMES)
    assert nic.config == CONFIG.override(clk_hz=nic.config.clk_hz)
    rows = {}
    for table, row in ((Table.QP, 0), (Table.QP, 1), (Table.EV, 5), (Table.REGION, 3)):
        fields = {name: width for name, width in ROWS[table].fields.items() if name != "reserved"}
        rows[table, row] = {name: rng.getrandbits(width) for name, width in fields.items()}
        await nic.write_row(table, row, **rows[table, row])
    for (table, row), fields in rows.items():
        assert await nic.read_row(table, row) == fields


@cocotb.test(timeout_time=1000, timeout_unit="us")
@cocotb.parametrize(chance=[0, 0.4])
async def payload_is_fetched(dut, chance):
    host, rng = await start(dut)
    for channel in (host.reads.ar_channel, host.reads.r_channel):
        channel.set_pause_generator(pauses(rng, chance))
    base = rng.getrandbits(42) << 20
    image = rng.randbytes(SPACE)
    host.memory.write(base, image)

    layout = FetchRequest(CONFIG)
    wanted = []
    for n in range(TRANSFERS):
        octets = rng.randint(1, rng.choice([64, CONFIG.mtu]))
        place = rng.randrange(SPACE - octets)
        wanted.append((n % CONFIG.slots, image[place : place + octets], base + place))
    source = StreamSource(dut, "fetch", layout, clk=dut.clk)
    requests = [
        layout.const({"slot": slot, "address": address, "octets": len(octets)})
        for slot, octets, address in wanted
    ]
    cocotb.start_soon(source.send(requests, pause=lambda: rng.random() < chance))

    store = StreamSink(dut, "store", StoreBeat(CONFIG), clk=dut.clk)
    for slot, octets, _ in wanted:
        beats = await store.receive(
            -(-len(octets) // CONFIG.beat_octets), pause=lambda: rng.random() < chance
        )
        assert all(beat.slot == slot for beat in beats)
        assert [beat.beat for beat in beats] == list(range(len(beats)))
        assert [beat.last for beat in beats] == [0] * (len(beats) - 1) + [1]
        found = b"".join(beat.data.to_bytes(CONFIG.beat_octets, "little") for beat in beats)
        assert found[: len(octets)] == octets


@cocotb.test(timeout_time=1000, timeout_unit="us")
@cocotb.parametrize(chance=[0, 0.4])
async def payload_is_placed(dut, chance):
    host, rng = await start(dut)
    ram = host.writes
    for channel in (ram.aw_channel, ram.w_channel, ram.b_channel):
        channel.set_pause_generator(pauses(rng, chance))
    base = rng.getrandbits(42) << 20
    image = bytearray(rng.randbytes(SPACE))
    host.memory.write(base, bytes(image))

    verdict_layout = Verdict(CONFIG)
    beat_layout = Beat(CONFIG.beat_octets)
    verdicts, beats = [], []
    placed = 0
    for _ in range(TRANSFERS):
        octets = rng.randbytes(rng.randint(1, rng.choice([64, CONFIG.mtu])))
        place = rng.randrange(SPACE - len(octets))
        is_placed = rng.random() < 0.8
        verdicts.append(
            verdict_layout.const({
                "place": is_placed,
                "address": base + place,
                "octets": len(octets),
            })
        )
        beats += to_beats(octets, beat_layout)
        if is_placed:
            image[place : place + len(octets)] = octets
            placed += 1
    verdict = StreamSource(dut, "verdict", verdict_layout, clk=dut.clk)
    payload = StreamSource(dut, "payload", beat_layout, clk=dut.clk)
    cocotb.start_soon(verdict.send(verdicts, pause=lambda: rng.random() < chance))
    sending = cocotb.start_soon(payload.send(beats, pause=lambda: rng.random() < chance))
    reports = 0
    while reports < placed:
        await RisingEdge(dut.clk)
        reports += int(dut.written.value)
        assert not dut.error.value
    await sending
    await ClockCycles(dut.clk, 50)
    assert bytes(host.memory.read(base, SPACE)) == bytes(image)
    assert await host.read("count_rx_payload_written") == placed
    assert await host.read("count_rx_payload_dropped") == TRANSFERS - placed
    assert await host.read("count_rx_payload_write_error") == 0
