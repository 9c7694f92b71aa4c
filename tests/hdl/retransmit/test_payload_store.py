import random

import pytest

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.retransmit.payload_store import PayloadStore
from mrcnic.sim.bench.packets import from_beats
from mrcnic.sim.bench.streams import collect, drive, simulate

BASE = NicConfig(beat_octets=8, mtu=256, slots=16, window=128, qps=2, evs=16)


def config_of(lanes):
    return BASE.override(lanes=lanes, evs=lanes * 4)


def beats_of(config, slot, content):
    beat = config.beat_octets
    chunks = [content[n : n + beat] for n in range(0, len(content), beat)]
    return [
        {
            "slot": slot, "beat": n, "data": int.from_bytes(chunk, "little"),
            "last": n == len(chunks) - 1, "error": 0,
        }
        for n, chunk in enumerate(chunks)
    ]  # fmt: skip


@pytest.mark.parametrize("lanes", [1, 2, 3, 8])
@pytest.mark.parametrize("pausing", [False, True])
def test_every_lane_reads_what_any_lane_stored(lanes, pausing):
    config = config_of(lanes)
    dut = PayloadStore(config)
    rng = random.Random(lanes)
    sizes = [256, 1, 9, 255, 64, 8, 7, 128] * 2
    contents = [rng.randbytes(size) for size in sizes]
    pauses = [rng.randint(0, 3) if pausing else 0 for _ in range(400)]
    stored = []
    lanes_done = []

    def storer(lane):
        async def bench(ctx):
            for slot in range(lane, 16, lanes):
                await drive(ctx, dut.store[lane], beats_of(config, slot, contents[slot]))

        return bench

    def watcher(lane):
        async def bench(ctx):
            mine = await collect(ctx, dut.stored[lane], len(range(lane, 16, lanes)))
            stored.extend(item.slot for item in mine)

        return bench

    def reader(lane):
        order = rng.sample(range(16), 16)

        async def ask(ctx):
            while len(stored) < 16:
                await ctx.tick()
            await drive(ctx, dut.read[lane], [{"slot": s, "octets": sizes[s]} for s in order])

        async def take(ctx):
            count = sum(-(-size // 8) for size in sizes)
            beats = await collect(ctx, dut.payload[lane], count, pauses=pauses)
            assert from_beats(beats) == [contents[s] for s in order]

        async def done(ctx):
            assert await collect(ctx, dut.done[lane], 16) == order
            lanes_done.append(lane)

        return ask, take, done

    benches = [make(lane) for lane in range(lanes) for make in (storer, watcher)]
    benches += [bench for lane in range(lanes) for bench in reader(lane)]
    simulate(dut, *benches, max_cycles=3_000)
    assert len(lanes_done) == lanes


@pytest.mark.parametrize("lanes", [1, 2, 8])
def test_full_rate_on_all_lanes_at_once(lanes):
    config = config_of(lanes)
    dut = PayloadStore(config)
    cycles = {"now": 0}

    async def clock(ctx):
        for _ in range(300):
            await ctx.tick()
            cycles["now"] += 1

    def lane_bench(lane):
        async def store(ctx):
            for slot in (lane, lane + 8):
                await drive(ctx, dut.store[lane], beats_of(config, slot, bytes(range(256))))

        async def stored(ctx):
            await collect(ctx, dut.stored[lane], 2)
            cycles["stored", lane] = cycles["now"]
            await drive(ctx, dut.read[lane], [{"slot": s, "octets": 256} for s in (lane, lane + 8)])

        async def take(ctx):
            await collect(ctx, dut.payload[lane], 64)
            cycles["read", lane] = cycles["now"]

        async def done(ctx):
            await collect(ctx, dut.done[lane], 2)

        return store, stored, take, done

    simulate(dut, clock, *(bench for p in range(lanes) for bench in lane_bench(p)), max_cycles=400)
    for lane in range(lanes):
        stored = cycles["stored", lane]
        read = cycles["read", lane] - stored
        # A beat a cycle; each of the two slots waits for its bank; then the pipeline.
        assert stored <= 64 + 2 * (lanes - 1) + 2
        assert read <= 64 + 2 * (lanes - 1) + 8


def test_first_beat_after_six_cycles():
    config = config_of(1)
    dut = PayloadStore(config)

    async def bench(ctx):
        ctx.set(dut.read[0].payload, {"slot": 3, "octets": 1})
        ctx.set(dut.read[0].valid, 1)
        await ctx.tick().until(dut.read[0].ready)
        ctx.set(dut.read[0].valid, 0)
        cycles = 1
        while not ctx.get(dut.payload[0].valid):
            await ctx.tick()
            cycles += 1
        assert cycles == 6

    simulate(dut, bench)
