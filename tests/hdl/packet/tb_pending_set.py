"""Bench: a set of waiting indices."""

import random

import cocotb
from amaranth.lib import data
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from mrcnic.sim.bench.cocotb_streams import StreamSink

ADD = data.StructLayout({"valid": 1, "index": 6})
INDEX = data.StructLayout({"index": 6})


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(o_pause=[0, 0.7])
async def whoever_is_added_is_served(dut, o_pause):
    rng = random.Random(cocotb.RANDOM_SEED)
    dut.add__0.value = 0
    dut.o__ready.value = 0
    dut.rst.value = 1
    Clock(dut.clk, 2, unit="ns").start()
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    sink = StreamSink(dut, "o", INDEX, clk=dut.clk)
    for _ in range(10):
        chosen = rng.sample(range(40), rng.randint(1, 12))
        for index in chosen:
            dut.add__0.value = ADD.const({"valid": 1, "index": index}).as_bits()
            await RisingEdge(dut.clk)
        dut.add__0.value = 0
        served = await sink.receive(len(chosen), pause=lambda: rng.random() < o_pause)
        assert sorted(s.index for s in served) == sorted(chosen)
    dut.o__ready.value = 1
    await ClockCycles(dut.clk, 5)
    assert not dut.o__valid.value
