"""Bench: let a counter count."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles


@cocotb.test()
async def count(dut):
    """Wait."""
    Clock(dut.clk, 10, unit="ns").start()
    dut.rst.value = 0
    await ClockCycles(dut.clk, 50)
