import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lane_frames import D1

from mrcnic.hdl.egress.header_block import FrameNote, place_of
from mrcnic.hdl.egress.icrc_maker import IcrcMaker
from mrcnic.hdl.packet.beat import Beat
from mrcnic.hdl.wire.icrc import icrc
from mrcnic.sim.bench.packets import from_beats, to_beats
from mrcnic.sim.bench.streams import simulate

#: Where inner headers may start: behind none to two tags, with no, one or eight segments.
STARTS = tuple(14 + 4 * tags + outer for tags in range(3) for outer in (0, 40, 64, 144, 176))
LATENCIES = {8: 5, 64: 6, 128: 7}


def run(octets, packets, *, gap=lambda: 0):
    """Return packets for pairs of (start, packet without ICRC), and when their ends came out."""
    dut = IcrcMaker(octets=octets)
    layout = Beat(octets, user_shape=FrameNote())
    received, ends, latencies = [], [], []

    async def producer(ctx):
        cycle = 0
        for start, packet in packets:
            ipv4 = packet[start] >> 4 == 4
            place = place_of(start - 20 if ipv4 else start)
            user = {"place": place, "ipv4": ipv4, "control": start & 4 != 0}
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
    controls = [beat.user for beat in received if beat.first]
    assert controls == [start & 4 != 0 for start, _ in packets]
    return from_beats(received), latencies


def packet_of(rng, start, octets):
    """Return a packet of random octets, but with a version."""
    inner = bytes([rng.choice([0x40, 0x60]) | rng.getrandbits(4)]) + rng.randbytes(octets - 1)
    return start, rng.randbytes(start) + inner


def random_packet(rng, octets):
    return packet_of(rng, rng.choice(STARTS), 60 + rng.randrange(2 * octets + 8))


def expected(packets):
    return [packet + icrc(packet[start:]) for start, packet in packets]


@pytest.mark.parametrize("octets", LATENCIES)
def test_every_length_at_full_rate(octets):
    """The ICRC is in the last beat, in the last two, or in a beat of its own."""
    rng = random.Random(octets)
    lengths = range(0, octets + 4, 1 if octets == 8 else 2)  # frames have an even length
    packets = [packet_of(rng, start, 60 + n) for n in lengths for start in STARTS]
    packets = rng.sample(packets, 40)
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
    packets = [(14, outer[:14] + packet), (54, outer + packet), (54, b"\xff" * 54 + packet)]
    for offset, octet, _ in cases:
        changed = bytes.fromhex(octet)
        packets.append((54, outer + packet[:offset] + changed + packet[offset + len(changed) :]))
    received, _ = run(octets, packets)
    results = [result[-4:].hex() for result in received]
    assert results == ["f3bd28cf"] * 3 + [result for _, _, result in cases]
