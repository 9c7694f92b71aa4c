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
    SparseMemory,
)
from host_room import EVENT_NAMES

from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.descriptor import FetchRequest, StoreBeat, Verdict
from mrcnic.hdl.host.register import Access
from mrcnic.hdl.host.registers import MAGIC, register_map
from mrcnic.hdl.packet.beat import Beat
from mrcnic.sim.bench.cocotb_streams import StreamSink, StreamSource
from mrcnic.sim.bench.packets import to_beats

CONFIG = PRESETS[os.environ["PRESET"]]
REGISTERS = {register.name: register for register in register_map(CONFIG, EVENT_NAMES)}

#: Space of the tests, in octets, and how many transfers they make.
SPACE, TRANSFERS = 1 << 20, 30


class Host:
    """Registers by name."""

    def __init__(self, dut):
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "axil_"), dut.clk)

    async def read(self, name):
        register = REGISTERS[name]
        data = await with_timeout(self.master.read(register.address, 4 * register.words), 200, "us")
        return int.from_bytes(data.data, "little")

    async def write(self, name, number):
        register = REGISTERS[name]
        data = number.to_bytes(4 * register.words, "little")
        await with_timeout(self.master.write(register.address, data), 200, "us")


async def start(dut):
    for logger in list(logging.root.manager.loggerDict):
        if logger.startswith("cocotb.dut"):
            logging.getLogger(logger).setLevel(logging.WARNING)
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


def quiet(ram):
    ram.log.setLevel(logging.WARNING)
    return ram


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


@cocotb.test(timeout_time=1000, timeout_unit="us")
@cocotb.parametrize(chance=[0, 0.4])
async def payload_is_fetched(dut, chance):
    _, rng = await start(dut)
    memory = SparseMemory(1 << 64)
    ram = quiet(
        AxiRamRead(AxiReadBus.from_prefix(dut, "axi_read_"), dut.clk, size=1 << 64, mem=memory)
    )
    ram.ar_channel.set_pause_generator(pauses(rng, chance))
    ram.r_channel.set_pause_generator(pauses(rng, chance))
    base = rng.getrandbits(44) << 20
    image = rng.randbytes(SPACE)
    memory.write(base, image)

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
    memory = SparseMemory(1 << 64)
    ram = quiet(
        AxiRamWrite(AxiWriteBus.from_prefix(dut, "axi_write_"), dut.clk, size=1 << 64, mem=memory)
    )
    for channel in (ram.aw_channel, ram.w_channel, ram.b_channel):
        channel.set_pause_generator(pauses(rng, chance))
    base = rng.getrandbits(44) << 20
    image = bytearray(rng.randbytes(SPACE))
    memory.write(base, bytes(image))

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
    assert bytes(memory.read(base, SPACE)) == bytes(image)
    assert await host.read("count_rx_payload_written") == placed
    assert await host.read("count_rx_payload_dropped") == TRANSFERS - placed
    assert await host.read("count_rx_payload_write_error") == 0
