# amaranth: UnusedElaboratable=no
import random

import pytest

from mrcnic.hdl.packet.realigner import Realigner
from mrcnic.hdl.packet.rotator import Rotator
from mrcnic.sim.bench.streams import collect, drive, simulate


def rotate(octets, amount):
    return octets[-amount:] + octets[:-amount] if amount else octets


@pytest.mark.parametrize(("octets", "latency"), [(2, 1), (8, 2), (64, 3)])
def test_rotation_by_every_amount(octets, latency):
    rng = random.Random(0)
    dut = Rotator(octets=octets, tag_shape=8)
    beats = [rng.randbytes(octets) for _ in range(octets)]

    async def producer(ctx):
        await drive(
            ctx,
            dut.i,
            (
                {"data": int.from_bytes(beat, "little"), "amount": n, "tag": n ^ 0x55}
                for n, beat in enumerate(beats)
            ),
        )

    async def consumer(ctx):
        for n, o in enumerate(await collect(ctx, dut.o, octets)):
            assert o.data.to_bytes(octets, "little") == rotate(beats[n], n)
            assert (o.amount, o.tag) == (n, n ^ 0x55)

    assert dut.latency == latency
    simulate(dut, producer, consumer, max_cycles=octets + latency)


@pytest.mark.parametrize("chance", [0, 0.5])
def test_low_octets_come_from_the_beat_before(chance):
    rng = random.Random(1)
    octets = 8
    dut = Realigner(octets=octets, tag_shape=8)
    beats = [
        {
            "data": rng.getrandbits(64),
            "amount": rng.randrange(octets),
            "whole": rng.randrange(2),
            "emit": rng.randrange(2),
            "tag": n,
        }
        for n in range(100)
    ]
    expected = []
    before = bytes(octets)
    for beat in beats:
        now = rotate(beat["data"].to_bytes(octets, "little"), beat["amount"])
        if beat["emit"]:
            kept = 0 if beat["whole"] else beat["amount"]
            expected.append((before[:kept] + now[kept:], beat["tag"]))
        before = now

    async def producer(ctx):
        pauses = (rng.randrange(3) if rng.random() < chance else 0 for _ in beats)
        await drive(ctx, dut.i, beats, pauses=pauses)

    async def consumer(ctx):
        pauses = (rng.randrange(3) if rng.random() < chance else 0 for _ in expected)
        found = await collect(ctx, dut.o, len(expected), pauses=pauses)
        assert [(o.data.to_bytes(octets, "little"), o.tag) for o in found] == expected

    cycles = len(beats) + dut.latency if not chance else 1000
    simulate(dut, producer, consumer, max_cycles=cycles)


@pytest.mark.parametrize("octets", [0, 1, 12])
def test_octets_are_checked(octets):
    with pytest.raises(
        ValueError, match=rf"^octets must be a power of two from 2 on, not {octets}$"
    ):
        Rotator(octets=octets, tag_shape=1)
