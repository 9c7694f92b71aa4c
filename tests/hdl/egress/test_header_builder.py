# amaranth: UnusedElaboratable=no
import random

import pytest
from lane_frames import (
    CARRIER,
    D1,
    D1_SOURCE,
    ETHERNET,
    TIMESTAMP,
    V1,
    V2,
    V3,
    V4,
    V7,
    V8_OUTER,
    A,
    B,
    descriptor,
    frame,
    settings,
    write,
)  # fmt: skip

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.egress.header_builder import HEADER_OCTETS_MAX, PAYLOAD_STARTS, HeaderBuilder
from mrcnic.sim.bench.streams import collect, drive, simulate

CONFIG = NicConfig()

VECTORS = {"V1": V1, "V2": V2, "V3": V3, "V4": V4, "V7": V7, "D1": D1}
SOURCES = {"V1": A, "V2": B, "V3": B, "V4": A, "V7": B, "D1": D1_SOURCE}


def build(packets, *, now=TIMESTAMP, pauses=(), **changes):
    """Return blocks for packets of (fields, octets), at one per cycle after two."""
    dut = HeaderBuilder(CONFIG, port=0)
    blocks = []

    async def producer(ctx):
        ctx.set(dut.settings, settings(CONFIG, **changes))
        ctx.set(dut.now, now)
        payloads = [descriptor(CONFIG, fields, octets=octets) for fields, octets in packets]
        await drive(ctx, dut.i, payloads)

    async def consumer(ctx):
        blocks.extend(await collect(ctx, dut.o, len(packets), pauses=pauses))

    simulate(dut, producer, consumer, max_cycles=len(packets) + 2 + sum(pauses))
    return blocks


def octets_of(block):
    return block.octets.to_bytes(HEADER_OCTETS_MAX, "little")


def headers_of(block):
    octets = octets_of(block)
    assert not any(octets[block.length :])
    return octets[: block.length]


@pytest.mark.parametrize("srv6", [False, True])
@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name, srv6):
    fields, payload, now, packet = VECTORS[name]
    fields = {**fields, "srv6": srv6, "carrier": CARRIER}
    (block,) = build([(fields, len(payload))], now=0xAB0000 | now, loopback=SOURCES[name])
    packet = bytes.fromhex(packet)
    start = 54 if srv6 else 14
    built = headers_of(block)
    assert built[:14] == ETHERNET
    assert built[start:] == packet[: len(packet) - len(payload) - 4]
    assert block.total == start + len(packet)
    assert (block.payload, block.user) == (payload != b"", srv6)
    if name == "V1" and srv6:
        assert built[14:54] == bytes.fromhex(V8_OUTER)


def test_random_writes_at_full_rate():
    """One descriptor per cycle: the deadline is the number of packets and the latency."""
    rng = random.Random(5)
    packets = [(write(rng, srv6=rng.random() < 0.5), rng.randint(1, 4096)) for _ in range(60)]
    blocks = build(packets)
    for (fields, octets), block in zip(packets, blocks, strict=True):
        expected = frame(fields, bytes(octets))
        assert headers_of(block) == expected[: block.length]
        assert block.length in PAYLOAD_STARTS
        assert block.total == len(expected)


def test_a_slow_consumer_changes_nothing():
    rng = random.Random(6)
    packets = [(write(rng), 4) for _ in range(20)]
    blocks = build(packets, pauses=[rng.randrange(4) for _ in packets])
    for (fields, octets), block in zip(packets, blocks, strict=True):
        assert headers_of(block) == frame(fields, bytes(octets))[: block.length]


@pytest.mark.parametrize("octets", [13, 14, 15, 16])
def test_pad_makes_a_multiple_of_four(octets):
    (block,) = build([({**D1[0], "srv6": 0}, octets)])
    assert headers_of(block)[14 + 48 + 1] == -octets % 4 << 4
    assert block.total == 98 + 16 + 4


def test_all_bits_of_usids_are_sent():
    """Of a locator with a function in its upper bits some makers of headers kept the lower ones."""
    carriers = [1 << bit for bit in range(128)] + [0x5F000001F3FFF3FFF3FFF3FF << 32]
    packets = [({**V1[0], "srv6": 1, "carrier": carrier}, 16) for carrier in carriers]
    found = [int.from_bytes(headers_of(block)[38:54], "big") for block in build(packets)]
    assert found == carriers


def test_without_srh_the_outer_header_says_so():
    """Next header 41, and the payload length is the inner packet's."""
    rng = random.Random(7)
    octets = [1, 4, 61, 4096]
    for count, block in zip(octets, build([(write(rng), n) for n in octets]), strict=True):
        built = headers_of(block)
        assert built[20] == 41
        assert int.from_bytes(built[18:20], "big") == block.total - 54
        assert block.total - block.length == count + -count % 4 + 4


def test_plain_packets_carry_the_entropy_value():
    """All 128 values of a rotation are in source port and flow label; outer labels are zero."""
    values = [0xC0000000 | n << 16 | n * 257 for n in range(128)]
    blocks = build([({**V1[0], "srv6": n & 1, "ev": value}, 16) for n, value in enumerate(values)])
    for n, (value, block) in enumerate(zip(values, blocks, strict=True)):
        built = headers_of(block)
        inner = built[54 if n & 1 else 14 :]
        assert int.from_bytes(inner[40:42] + inner[2:4], "big") == value
        assert inner[1] & 0x0F == 0
        assert not n & 1 or built[15] & 0x0F == built[16] == built[17] == 0


def test_halves_of_the_entropy_value_can_be_swapped():
    (block,) = build([({**V1[0], "srv6": 0}, 16)], swap_ev=1)
    built = headers_of(block)
    assert (built[54:56].hex(), built[15:18].hex()) == ("2010", "20c005")


def test_settings_count():
    (block,) = build(
        [({**V1[0], "srv6": 0}, 16)], udp_port=4971, hop_limit=7, dscp=[0, 63, 0, 0, 0, 0]
    )
    built = headers_of(block)
    assert (built[14:16].hex(), built[21], built[56:58].hex()) == ("6fe0", 7, "136b")


def test_time_is_that_of_taking():
    dut = HeaderBuilder(CONFIG, port=0)
    fields = V4[0]

    async def producer(ctx):
        ctx.set(dut.settings, settings(CONFIG))
        for now in (0x10001, 0x10002):
            ctx.set(dut.now, now)
            await drive(ctx, dut.i, [descriptor(CONFIG, fields, octets=0)])
        ctx.set(dut.now, 0x10003)

    async def consumer(ctx):
        for _ in range(6):
            await ctx.tick()
        blocks = await collect(ctx, dut.o, 2)
        assert [headers_of(block)[86:88].hex() for block in blocks] == ["0001", "0002"]

    simulate(dut, producer, consumer)
