"""Bench: random traffic through the responder, as the Verilog that gets built has it."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge
from responder_bench import Bench
from responder_traffic import compare

from mrcnic.hdl.config import PRESETS


class CocotbPorts:
    """Ports of a responder in a Verilog simulator."""

    def __init__(self, dut):
        self.dut = dut
        self.last = {}

    def get(self, name):
        return int(getattr(self.dut, name).value)

    def set(self, name, value):
        if self.last.get(name) != value:
            self.last[name] = value
            getattr(self.dut, name).value = value

    async def settle(self):
        await FallingEdge(self.dut.clk)

    async def tick(self):
        await RisingEdge(self.dut.clk)


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize((("stall", "psn"), [(0, 0xFFFFF0), (0.5, 0x100)]))
async def agrees_with_reference(dut, stall, psn):
    rng = random.Random(cocotb.RANDOM_SEED)
    config = PRESETS[os.environ["PRESET"]]
    counts = [int(count) for count in os.environ["COUNTS"].split()]

    def ready():
        return rng.random() >= stall

    bench = Bench(
        config,
        latency=lambda lane: rng.randint(1, 60),
        reports_ready=ready,
        verdict_ready=ready,
        o_ready=ready,
    )
    dut.rst.value = 1
    for name in ("i__valid", "table__valid", "written", "write_error", "now", "settings"):
        getattr(dut, name).value = 0
    for name in ("reports", "o", *(f"verdict__{lane}" for lane in range(config.lanes))):
        getattr(dut, f"{name}__ready").value = 0
    Clock(dut.clk, 2, unit="ns").start()
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 3)  # Icarus shows what it calculates only after a first change
    await bench.use(CocotbPorts(dut))
    await compare(bench, rng, psn=psn, counts=counts, stall=stall)
