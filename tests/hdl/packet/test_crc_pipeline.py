# amaranth: UnusedElaboratable=no
import random
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrcnic.hdl.packet.crc_pipeline import CrcPipeline
from mrcnic.sim.bench.streams import simulate


def reference(packet):
    return zlib.crc32(packet, 0xFFFFFFFF)  # from the state zero


def run(octets, packets, *, trailer_octets=0, gap=lambda: 0):
    """Return the CRCs, and the cycles between each packet's last beat and its CRC."""
    dut = CrcPipeline(octets=octets, trailer_octets=trailer_octets)
    ends, crcs, times = [], [], []

    async def producer(ctx):
        cycle = 0
        for packet in packets:
            for start in range(0, len(packet), octets):
                for _ in range(gap()):
                    await ctx.tick()
                    cycle += 1
                part = packet[start : start + octets]
                last = start + octets >= len(packet)
                ctx.set(dut.i.valid, 1)
                ctx.set(dut.i.first, start == 0)
                ctx.set(dut.i.last, last)
                ctx.set(dut.i.data, int.from_bytes(part, "little"))
                ctx.set(dut.i.spare, octets - len(part))
                await ctx.tick()
                ctx.set(dut.i.valid, 0)
                if last:
                    ends.append(cycle)
                cycle += 1

    async def consumer(ctx):
        cycle = 0
        while len(crcs) < len(packets):
            if ctx.get(dut.o.valid):
                crcs.append(ctx.get(dut.o.crc))
                times.append(cycle)
            await ctx.tick()
            cycle += 1

    simulate(dut, producer, consumer, max_cycles=5_000)
    return crcs, [time - end for time, end in zip(times, ends, strict=True)]


@pytest.mark.parametrize(("octets", "latency"), [(4, 3), (8, 3), (64, 4), (128, 5)])
def test_every_length_at_full_rate(octets, latency):
    rng = random.Random(1)
    packets = [rng.randbytes(length) for length in range(1, octets + 12)]
    crcs, latencies = run(octets, packets)
    assert crcs == [reference(packet) for packet in packets]
    assert set(latencies) == {latency} == {CrcPipeline(octets=octets).latency}


@settings(max_examples=20)
@given(st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=5), st.integers(0, 2**32))
def test_gaps_change_nothing(packets, seed):
    rng = random.Random(seed)
    crcs, _ = run(8, packets, gap=lambda: rng.choice([0, 0, 1, 3]))
    assert crcs == [reference(packet) for packet in packets]


def test_a_state_is_added_to_the_first_octets_that_count():
    packet = bytes(10) + bytes(o ^ 0xFF for o in b"1234") + b"56789"
    assert run(8, [packet])[0] == [0xCBF43926]  # the check value of this CRC


@pytest.mark.parametrize("octets", [8, 64])
def test_a_trailer_does_not_count(octets):
    """It is in the last beat, in the last two, or in one of its own."""
    rng = random.Random(2)
    packets = [rng.randbytes(length) for length in range(octets - 8, octets + 4)]
    crcs, _ = run(octets, [packet + bytes(4) for packet in packets], trailer_octets=4)
    assert crcs == [reference(packet) for packet in packets]


@pytest.mark.parametrize("octets", [2, 12])
def test_octets_must_be_a_power_of_two(octets):
    with pytest.raises(ValueError, match=rf"^octets must be a power .* at least 4, not {octets}$"):
        CrcPipeline(octets=octets)


def test_trailer_is_not_negative():
    with pytest.raises(ValueError, match=r"^trailer_octets must be at least 0, not -1$"):
        CrcPipeline(octets=8, trailer_octets=-1)
