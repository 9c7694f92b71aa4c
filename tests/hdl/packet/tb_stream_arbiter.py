"""Bench: three streams into one."""

import random

import cocotb
from amaranth.lib import data
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles

from mrcnic.sim.bench.cocotb_streams import StreamSink, StreamSource

LAYOUT = data.StructLayout({"number": 8, "input": 8})


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(i_pause=[0, 0.5], o_pause=[0, 0.5])
async def transfers_pass_once_and_in_order(dut, i_pause, o_pause):
    rng = random.Random(cocotb.RANDOM_SEED)
    for n in range(3):
        getattr(dut, f"i__{n}__valid").value = 0
    dut.o__ready.value = 0
    dut.rst.value = 1
    Clock(dut.clk, 2, unit="ns").start()
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    for n in range(3):
        source = StreamSource(dut, f"i__{n}", LAYOUT, clk=dut.clk)
        offers = [LAYOUT.const({"number": k, "input": n}) for k in range(30)]
        cocotb.start_soon(source.send(offers, pause=lambda: rng.random() < i_pause))
    sink = StreamSink(dut, "o", LAYOUT, clk=dut.clk)
    received = await sink.receive(90, pause=lambda: rng.random() < o_pause)
    for n in range(3):
        assert [r.number for r in received if r.input == n] == list(range(30))
