"""Towards a MAC: a frame that has begun is there to its end, whatever the clocks do."""

import random

import pytest
from line_bench import ENGINE, MAC, LineBench, frame, idle, line_beats, reset

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.line.line_out import LineOut
from mrcnic.hdl.line.pause_in import PauseIn
from mrcnic.hdl.packet.beat import Beat
from mrcnic.sim.bench.packets import from_beats
from mrcnic.sim.bench.streams import simulate


class Wire(LineBench):
    """Frames through a LineOut, to a MAC that fails the test if it ever finds no beat."""

    def __init__(self, octets=64):
        super().__init__(LineOut(NicConfig(beat_octets=octets)), mac="mac_tx")
        self.octets = octets
        self.beats = []
        self.dropped = 0

    async def send(self, ctx, packet, *, stop=None, pause=lambda: 0):
        for beat in line_beats(self.octets, packet)[:stop]:
            await idle(ctx, "sync", pause())
            ctx.set(self.dut.i.payload.as_value(), beat)
            ctx.set(self.dut.i.valid, 1)
            (dropped,) = (
                await ctx.tick().sample(self.dut.events.tx_line_oversize).until(self.dut.i.ready)
            )
            self.dropped += dropped
            ctx.set(self.dut.i.valid, 0)

    async def transmit(self, ctx, cycles, *, ready=lambda: True):
        """Be a MAC for so many cycles."""
        dut = self.dut
        trigger = ctx.tick("mac_tx").sample(dut.o.valid, dut.o.payload.as_value())
        inside = False
        for _ in range(cycles):
            asks = ready()
            ctx.set(dut.o.ready, asks)
            _, in_reset, valid, beat = await trigger
            assert valid or not inside or in_reset, "underflow"
            if in_reset:
                inside = False
            elif valid and asks:
                self.beats.append(beat)
                inside = not Beat(self.octets).from_bits(beat).last
        ctx.set(dut.o.ready, 0)

    @property
    def sent(self):
        return from_beats(map(Beat(self.octets).from_bits, self.beats))


@pytest.mark.parametrize("mac", [MAC, 6.4, 1.3])
@pytest.mark.parametrize("chance", [1.0, 0.7])
def test_no_underflow(mac, chance):
    """Frames come with idle beats, from a slower clock and a faster one."""
    rng = random.Random(4)
    wire = Wire()
    packets = [frame(rng.choice([60, 64, 65, 600, 1518]), seed) for seed in range(16)]

    async def engine(ctx):
        for packet in packets:
            await wire.send(ctx, packet, pause=lambda: rng.randint(0, 1))

    async def line(ctx):
        await wire.transmit(ctx, 1500, ready=lambda: rng.random() < chance)

    simulate(wire.m, engine, line, clocks=wire.clocks(mac=mac))
    assert wire.sent == packets


@pytest.mark.parametrize("octets", [8, 32, 64, 128])
def test_longest_frames_and_longer_ones(octets):
    wire = Wire(octets)
    lengths = [60, 9217, 9216, 61]
    if octets == 64:
        lengths += [600 * octets, 62]  # more than there is room for
    packets = [frame(length, seed) for seed, length in enumerate(lengths)]

    async def engine(ctx):
        for packet in packets:
            await wire.send(ctx, packet)

    async def line(ctx):
        await wire.transmit(ctx, 2 * sum(lengths) // octets + 40)

    simulate(wire.m, engine, line, clocks=wire.clocks(), max_cycles=40_000)
    assert wire.sent == [packet for packet in packets if len(packet) <= 9216]
    assert wire.dropped == len(packets) - len(wire.sent)


def test_beat_per_cycle_between_equal_clocks():
    """Frames back to back leave back to back, each one frame's time behind."""
    wire = Wire()
    packets = [frame(length) for length in [256] * 20]

    async def engine(ctx):
        for packet in packets:
            await wire.send(ctx, packet)

    async def line(ctx):
        await wire.transmit(ctx, 3 + 7 + 80)  # three beats until the first frame's last one
        assert len(wire.beats) == 80

    simulate(wire.m, engine, line, clocks=wire.clocks(mac=ENGINE, phase=0.6))
    assert wire.sent == packets


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_reset_of_the_engine_within_a_frame(cut):
    wire = Wire()

    async def engine(ctx):
        await wire.send(ctx, frame(300, 1))
        await wire.send(ctx, frame(250, 2), stop=cut)
        await reset(ctx, wire.sync, 3)
        await wire.send(ctx, frame(60, 3))

    async def line(ctx):
        await wire.transmit(ctx, 100)

    simulate(wire.m, engine, line, clocks=wire.clocks())
    assert wire.sent == [frame(300, 1), frame(60, 3)]


def test_reset_of_the_mac_within_a_frame():
    wire = Wire()

    async def engine(ctx):
        for seed in range(3):
            await wire.send(ctx, frame(9216, seed))

    async def line(ctx):
        await wire.transmit(ctx, 250)
        assert 0 < len(wire.beats) < 144
        await reset(ctx, wire.mac, 5)
        del wire.beats[:]
        await wire.transmit(ctx, 700)

    simulate(wire.m, engine, line, clocks=wire.clocks())
    assert wire.sent == [frame(9216, 1), frame(9216, 2)]


def test_pauses_are_seen_each_on_its_own():
    dut = PauseIn()

    async def bench(ctx):
        for level in [*(1 << n for n in range(9)), 0x1FF, 0]:
            before = ctx.get(dut.o)
            ctx.set(dut.i, level)
            await ctx.tick()
            assert ctx.get(dut.o) == before
            await ctx.tick()
            assert ctx.get(dut.o) == level

    simulate(dut, bench)
