import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lane_frames import D1

from mrcnic.hdl.egress.icrc_maker import IcrcMaker
from mrcnic.hdl.packet.beat import Beat
from mrcnic.hdl.wire.icrc import icrc
from mrcnic.sim.bench.packets import from_beats, to_beats
from mrcnic.sim.bench.streams import simulate

STARTS = (14, 54)
LATENCIES = {8: 4, 64: 5, 128: 6}


def run(octets, packets, *, gap=lambda: 0):
    """Return the packets for pairs of (user, packet without ICRC), and when their ends came out."""
    dut = IcrcMaker(octets=octets, starts=STARTS)
    layout = Beat(octets, user_shape=1)
    received, ends, latencies = [], [], []

    async def producer(ctx):
        cycle = 0
        for user, packet in packets:
            for beat in to_beats(packet + bytes(4), layout, user=user):
                for _ in range(gap()):
                    await ctx.tick()
                    cycle += 1
                ctx.set(dut.i.payload, beat)
                ctx.set(dut.i.valid, 1)
                await ctx.tick()
                ctx.set(dut.i.valid, 0)
                if beat.last:
                    ends.append(cycle)
                cycle += 1

    async def consumer(ctx):
        cycle = 0
        while len(latencies) < len(packets):
            if ctx.get(dut.o.valid):
                received.append(ctx.get(dut.o.payload))
                if received[-1].last:
                    latencies.append(cycle - ends[len(latencies)])
            await ctx.tick()
            cycle += 1

    simulate(dut, producer, consumer, max_cycles=2_000)
    assert dut.latency == LATENCIES[octets]
    return from_beats(received), latencies


def random_packet(rng, octets):
    user = rng.getrandbits(1)
    return user, rng.randbytes(STARTS[user] + 60 + rng.randrange(2 * octets + 8))


def expected(packets):
    return [packet + icrc(packet[STARTS[user] :]) for user, packet in packets]


@pytest.mark.parametrize("octets", LATENCIES)
def test_every_length_at_full_rate(octets):
    """The ICRC is in the last beat, in the last two, or in a beat of its own."""
    rng = random.Random(octets)
    lengths = range(0, octets + 4, 1 if octets == 8 else 2)  # frames have an even length
    packets = [(user, rng.randbytes(STARTS[user] + 60 + n)) for n in lengths for user in (0, 1)]
    packets = rng.sample(packets, 24)
    received, latencies = run(octets, packets)
    assert received == expected(packets)
    assert set(latencies) == {LATENCIES[octets]}


@settings(max_examples=12)
@given(count=st.integers(1, 5), seed=st.integers(0, 2**32 - 1))
def test_gaps_change_nothing(count, seed):
    rng = random.Random(seed)
    packets = [random_packet(rng, 8) for _ in range(count)]
    received, _ = run(8, packets, gap=lambda: rng.choice([0, 0, 1, 7]))
    assert received == expected(packets)


@pytest.mark.parametrize("octets", [8, 64])
def test_what_counts(octets):
    """Against the values that a report on another implementation was checked with."""
    packet = bytes.fromhex(D1[3])[:-4]
    outer = bytes(54)
    cases = [
        (7, "01", "f3bd28cf"),  # hop limit
        (0, "6bb0", "f3bd28cf"),  # traffic class, first digit of the flow label is the vector's
        (1, "2fffff", "f3bd28cf"),  # flow label
        (46, "1234", "f3bd28cf"),  # UDP checksum
        (52, "c0", "f3bd28cf"),  # BTH octet 4
        (40, "c006", "e0b3fc74"),  # source port
        (56, "b0", "74a2788a"),  # retransmission
        (64, "1235", "3baab600"),  # timestamp
    ]
    packets = [(0, outer[:14] + packet), (1, outer + packet), (1, b"\xff" * 54 + packet)]
    for offset, octet, _ in cases:
        changed = bytes.fromhex(octet)
        packets.append((1, outer + packet[:offset] + changed + packet[offset + len(changed) :]))
    received, _ = run(octets, packets)
    results = [result[-4:].hex() for result in received]
    assert results == ["f3bd28cf"] * 3 + [result for _, _, result in cases]
