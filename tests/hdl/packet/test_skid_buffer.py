import random

import pytest

from mrcnic.hdl.packet.beat import Beat
from mrcnic.hdl.packet.skid_buffer import SkidBuffer
from mrcnic.sim.bench.packets import from_beats, to_beats
from mrcnic.sim.bench.streams import collect, drive, simulate


def pauses(rng, chance):
    while True:
        yield rng.randint(1, 3) if rng.random() < chance else 0


@pytest.mark.parametrize("i_chance", [0, 0.5])
@pytest.mark.parametrize("o_chance", [0, 0.5])
def test_packets_pass_unchanged(i_chance, o_chance):
    rng = random.Random(0)
    layout = Beat(8)
    packets = [rng.randbytes(rng.randint(1, 40)) for _ in range(50)]
    beats = [beat for packet in packets for beat in to_beats(packet, layout)]
    dut = SkidBuffer(layout)

    async def producer(ctx):
        await drive(ctx, dut.i, beats, pauses=pauses(rng, i_chance))

    async def consumer(ctx):
        received = await collect(ctx, dut.o, len(beats), pauses=pauses(rng, o_chance))
        assert from_beats(received) == packets

    simulate(dut, producer, consumer)


def test_full_throughput():
    dut = SkidBuffer(8)

    async def producer(ctx):
        await drive(ctx, dut.i, range(100))

    async def consumer(ctx):
        assert await collect(ctx, dut.o, 100) == list(range(100))

    simulate(dut, producer, consumer, max_cycles=101)  # 100 transfers and 1 cycle of latency


def test_ready_does_not_follow_ready():
    """The input is ready for one more transfer in the cycle in which the output stops."""
    dut = SkidBuffer(8)

    async def bench(ctx):
        ctx.set(dut.i.valid, 1)
        ready = []
        for _ in range(4):
            ready.append(ctx.get(dut.i.ready))
            await ctx.tick()
        assert ready == [1, 1, 0, 0]

    simulate(dut, bench)
