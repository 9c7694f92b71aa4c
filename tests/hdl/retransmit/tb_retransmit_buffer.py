"""Bench: packets through the buffer, one of them lost, as the Verilog that gets built has it."""

import json
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from mrcnic.hdl import rows
from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import Acknowledgement, Retired
from mrcnic.hdl.descriptor.outwards import (
    AllocateRequest,
    FetchRequest,
    Picked,
    SlotRead,
    StoreBeat,
    TxRequest,
)
from mrcnic.hdl.descriptor.settings import Settings, TableWrite
from mrcnic.hdl.packet.beat import Beat
from mrcnic.hdl.wire.layout import HeaderLayout
from mrcnic.hdl.wire.opcodes import Opcode, Role
from mrcnic.sim.bench.cocotb_streams import StreamSink, StreamSource
from mrcnic.sim.bench.packets import from_beats

QP = 5
FIRST = 0xFFFFFE
LOST = 0x000001


class Surroundings:
    """What a buffer of one lane talks to."""

    def __init__(self, dut, config):
        self.dut = dut
        self.config = config
        self.memory = random.Random(1).randbytes(1 << 16)
        self.arrived = []  # (PSN, payload), in the order of arrival
        self.resent = []
        self.retired = 0

    def port(self, kind, name, layout):
        return kind(self.dut, name, layout, clk=self.dut.clk)

    async def count_time(self):
        for now in range(1 << 20):
            self.dut.now.value = now
            await ClockCycles(self.dut.clk, 4)

    async def fetch(self):
        config = self.config
        requests = self.port(StreamSink, "fetch__0", FetchRequest(config))
        beats = self.port(StreamSource, "store__0", StoreBeat(config))
        layout, size = StoreBeat(config), config.beat_octets
        while True:
            (request,) = await requests.receive(1)
            octets = self.memory[request.address :][: request.octets]
            starts = range(0, len(octets), size)
            await beats.send(
                layout.const({
                    "slot": request.slot,
                    "beat": n,
                    "data": int.from_bytes(octets[start : start + size], "little"),
                    "last": start == starts[-1],
                })
                for n, start in enumerate(starts)
            )

    async def send(self):
        config, dut = self.config, self.dut
        requests = self.port(StreamSink, "send", TxRequest(config))
        reads = self.port(StreamSource, "read__0", SlotRead(config))
        payload = self.port(StreamSink, "payload__0", Beat(config.beat_octets))
        size = config.beat_octets
        while True:
            (request,) = await requests.receive(1)
            dut.picked.value = (
                Picked(config)
                .const({
                    "qp": request.qp,
                    "opcode": request.opcode,
                    "psn": request.psn,
                    "slot": request.slot,
                    "octets": request.octets,
                    "ev_index": (request.avoid_ev + 1) % config.evs,
                })
                .as_bits()
            )
            dut.picked_valid.value = 1
            await RisingEdge(dut.clk)
            dut.picked_valid.value = 0
            await reads.send([
                SlotRead(config).const({"slot": request.slot, "octets": request.octets})
            ])
            beats = await payload.receive(-(-request.octets // size))
            if request.retransmission:
                self.resent.append(request.psn)
            if request.retransmission or request.psn != LOST:
                self.arrived.append((request.psn, from_beats(beats)[0]))
                await self.acknowledge()

    async def acknowledge(self):
        got = {psn for psn, _ in self.arrived}
        cack = (FIRST - 1) % (1 << 24)
        while (cack + 1) % (1 << 24) in got:
            cack = (cack + 1) % (1 << 24)
        base = (cack + 1) % (1 << 24)
        bitmap = sum(1 << n for n in range(64) if (base + n) % (1 << 24) in got)
        layout = Acknowledgement(self.config)
        await self.port(StreamSource, "acknowledgement", layout).send([
            layout.const({"qp": QP, "cack": cack, "base": base, "bitmap": bitmap})
        ])

    async def retire(self):
        port = self.port(StreamSink, "retired", Retired(self.config))
        while True:
            await port.receive(1)
            self.retired += 1


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_lost_packet_is_sent_again(dut):
    config = NicConfig(**json.loads(os.environ["CONFIG"]))
    for name in ("allocate", "acknowledgement", "nack", "stopped", "table", "store__0", "read__0"):
        getattr(dut, f"{name}__valid").value = 0
    for name in ("send", "fetch__0", "payload__0", "retired"):
        getattr(dut, f"{name}__ready").value = 0
    dut.ev_events__ready.value = dut.failed__ready.value = dut.probe__ready.value = 1
    dut.picked_valid.value = 0
    dut.port_up.value = 1
    settings = {"base_rtt": 10, "target_delay": 5, "reorder_packets": 3}
    dut.settings.value = Settings(config).const(settings).as_bits()
    dut.now.value = 0
    dut.rst.value = 1
    Clock(dut.clk, 2, unit="ns").start()
    await ClockCycles(dut.clk, 3)
    dut.rst.value = 0

    around = Surroundings(dut, config)
    for part in (around.count_time, around.fetch, around.send, around.retire):
        cocotb.start_soon(part())
    row = HeaderLayout(rows.QP_ROW).const({"active": 1, "tx_psn": FIRST, "timeout": 12})
    table = around.port(StreamSource, "table", TableWrite())
    await table.send([
        TableWrite().const({"table": int(rows.Table.QP), "index": QP, "row": row.as_bits()})
    ])

    rng = random.Random(cocotb.RANDOM_SEED)
    packets = {}
    requests = []
    for n in range(24):
        psn, octets = (FIRST + n) % (1 << 24), rng.randint(1, config.mtu)
        address = rng.randrange((1 << 16) - config.mtu)
        packets[psn] = around.memory[address : address + octets]
        requests.append(
            AllocateRequest(config).const({
                "qp": QP,
                "opcode": int(Opcode.WRITE_ONLY),
                "psn": psn,
                "role": int(Role.TRIMMABLE),
                "octets": octets,
                "local_address": address,
            })
        )
    await around.port(StreamSource, "allocate", AllocateRequest(config)).send(requests)
    while around.retired < len(packets):
        await RisingEdge(dut.clk)
    await ClockCycles(dut.clk, 100)
    assert around.resent == [LOST]
    assert dict(around.arrived) == packets
    assert len(around.arrived) == len(packets)
    assert dut.occupied.value == 0
