"""Bench: frames of cocotbext-axi's AXI4-Stream source through both edges, to its sink."""

import logging
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer, with_timeout
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

#: Periods in picoseconds, no two of which have a small common multiple.
RX_PS, ENGINE_PS, TX_PS = 3104, 4002, 3098


class Bench:
    def __init__(self, dut):
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.clocks = {
            "rx0": Clock(dut.rx0_clk, RX_PS, unit="ps"),
            "tx0": Clock(dut.tx0_clk, TX_PS, unit="ps"),
            "sync": Clock(dut.clk, ENGINE_PS, unit="ps"),
        }
        self.resets = {"rx0": dut.rx0_rst, "tx0": dut.tx0_rst, "sync": dut.rst}
        logging.getLogger("cocotb.dut").setLevel(logging.ERROR)
        # Resets do not stop the MAC: it is on the other side of them.
        self.source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "rx_"), dut.rx0_clk)
        self.sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "tx_"), dut.tx0_clk)

    async def start(self):
        for clock in self.clocks.values():
            clock.start()
        for reset in self.resets.values():
            reset.value = 1
        await Timer(40, unit="ns")
        for reset in self.resets.values():
            reset.value = 0
        await Timer(40, unit="ns")

    def frames(self, count, least=60):
        return [self.rng.randbytes(self.rng.randint(least, 300)) for _ in range(count)]

    async def receive(self, count):
        received = []
        for _ in range(count):
            frame = await with_timeout(self.sink.recv(), 60, "us")
            received.append(bytes(frame.tdata))
        await Timer(2, unit="us")
        assert self.sink.empty(), "more frames came than were sent"
        return received

    def pauses(self, chance):
        while True:
            yield self.rng.random() < chance


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(pause=[0, 0.4])
async def frames_cross_unchanged(dut, pause):
    bench = Bench(dut)
    await bench.start()
    bench.source.set_pause_generator(bench.pauses(pause))
    bench.sink.set_pause_generator(bench.pauses(pause / 2))
    frames = bench.frames(8)
    for frame in frames:
        await bench.source.send(AxiStreamFrame(frame, tuser=0))
    assert await bench.receive(len(frames)) == frames


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stopped=["rx0", "tx0", "sync"])
async def a_clock_stands_still(dut, stopped):
    """Nothing is lost, as long as there is room."""
    bench = Bench(dut)
    await bench.start()
    frames = bench.frames(6)
    for frame in frames:
        await bench.source.send(AxiStreamFrame(frame, tuser=0))
    await ClockCycles(dut.clk, 20)
    bench.clocks[stopped].stop()
    await Timer(1, unit="us")
    bench.clocks[stopped].start()
    assert await bench.receive(len(frames)) == frames


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(side=["rx0", "tx0", "sync"])
async def one_side_is_reset(dut, side):
    """Frames are missing or whole, and the next ones are all there."""
    bench = Bench(dut)
    await bench.start()
    frames = bench.frames(8)
    for frame in frames:
        await bench.source.send(AxiStreamFrame(frame, tuser=0))
    await Timer(bench.rng.randint(100, 700), unit="ns")
    await RisingEdge(bench.clocks[side].signal)
    bench.resets[side].value = 1
    await ClockCycles(bench.clocks[side].signal, 5)
    bench.resets[side].value = 0
    await bench.source.wait()
    await Timer(3, unit="us")
    received = []
    while not bench.sink.empty():
        received.append(bytes(bench.sink.recv_nowait().tdata))
    missing = [frame for frame in frames if frame not in received]
    whole = [frame for frame in received if frame in frames]
    assert whole == [frame for frame in frames if frame in received], "order"
    # The MAC itself was cut off in the frame that it was being given: it sees the next one's end.
    assert len(received) - len(whole) <= (side == "tx0")
    assert len(missing) <= 2

    more = bench.frames(3)
    for frame in more:
        await bench.source.send(AxiStreamFrame(frame, tuser=0))
    assert await bench.receive(len(more)) == more
