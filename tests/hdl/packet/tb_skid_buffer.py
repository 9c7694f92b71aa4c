"""Bench: packets through a skid buffer, as the Verilog that gets built has it."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles

from mrcnic.hdl.packet.beat import Beat
from mrcnic.sim.bench.cocotb_streams import StreamSink, StreamSource
from mrcnic.sim.bench.packets import from_beats, to_beats


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(i_pause=[0, 0.5], o_pause=[0, 0.5])
async def packets_pass_unchanged(dut, i_pause, o_pause):
    rng = random.Random(cocotb.RANDOM_SEED)
    layout = Beat(int(os.environ["BEAT_OCTETS"]))
    packets = [rng.randbytes(rng.randint(1, 1518)) for _ in range(20)]
    beats = [beat for packet in packets for beat in to_beats(packet, layout)]

    dut.i__valid.value = 0
    dut.o__ready.value = 0
    dut.rst.value = 1
    Clock(dut.clk, 2, unit="ns").start()
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0

    source = StreamSource(dut, "i", layout, clk=dut.clk)
    sink = StreamSink(dut, "o", layout, clk=dut.clk)
    cocotb.start_soon(source.send(beats, pause=lambda: rng.random() < i_pause))
    received = await sink.receive(len(beats), pause=lambda: rng.random() < o_pause)
    assert from_beats(received) == packets
