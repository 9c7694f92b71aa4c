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
    V5,
    V6,
    V7,
    V8_OUTER,
    A,
    B,
    descriptor,
    frame,
    random_format,
    random_port,
    random_routes,
    route_rows,
    settings,
    write,
)  # fmt: skip

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.egress.header_builder import HeaderBuilder
from mrcnic.sim.bench.streams import collect, drive, simulate

CONFIG = NicConfig()
CONFIGS = [
    NicConfig(beat_octets=octets, routes=routes, lanes=2)
    for octets, routes in ((8, 2), (16, 0), (32, 1), (64, 4), (64, 0), (128, 3), (128, 0))
]

VECTORS = {"V1": V1, "V2": V2, "V3": V3, "V4": V4, "V5": V5, "V6": V6, "V7": V7, "D1": D1}
SOURCES = {
    "V1": A, "V2": B, "V3": B, "V4": A, "V5": A, "V6": B, "V7": B, "D1": D1_SOURCE,
}  # fmt: skip

#: Of the packets that a report's cases are made of.
P = 0x5F000001 << 96 | 0x2401280124022C05 << 32
P_FIRST, P_LAST = 0x5F000001 << 96 | 0x24012801 << 64, 0x5F000001 << 96 | 0x24022C05 << 64
P_SOURCE = 0x3FFF00000002 << 80 | 1


def build(packets, *, config=CONFIG, lane=0, now=TIMESTAMP, pauses=(), routes=(), **changes):
    """Return (headers, last block) for packets of (fields, octets), and cycles of first beats.

    There is no bubble: with no pauses, the deadline is the number of beats and the latency.
    """
    dut = HeaderBuilder(config)
    built, taken, firsts = [], [], []
    pauses = list(pauses)

    async def bench(ctx):
        ctx.set(dut.settings, settings(config, number=lane, **changes))
        await drive(ctx, dut.table, route_rows(config, routes, port=lane))
        if lane:  # rows of another port change nothing
            others = [[0xBAD + n for n in range(7)] for _ in range(config.routes)]
            await drive(ctx, dut.table, route_rows(config, others, port=lane - 1))
        for _ in range(3):
            await ctx.tick()
        ctx.set(dut.now, now)
        waiting = [descriptor(config, fields, octets=octets) for fields, octets in packets]
        octets = b""
        cycle = 0
        ready = 0
        while len(built) < len(packets):
            ctx.set(dut.i.valid, bool(waiting))
            if waiting:
                ctx.set(dut.i.payload, waiting[0])
            ctx.set(dut.o.ready, cycle >= ready)
            if waiting and ctx.get(dut.i.ready):
                waiting.pop(0)
                taken.append(cycle)
            if ctx.get(dut.o.valid) and cycle >= ready:
                block = ctx.get(dut.o.payload)
                if not octets:
                    firsts.append(cycle)
                beat = block.octets.to_bytes(config.beat_octets, "little")
                if block.more:
                    octets += beat
                else:
                    length = block.length or config.beat_octets
                    assert not any(beat[length:])
                    built.append((octets + beat[:length], block))
                    octets = b""
                ready = cycle + 1 + (pauses.pop() if pauses else 0)
            await ctx.tick()
            cycle += 1

    simulate(dut, bench, max_cycles=3_000)
    return built, taken, firsts


def headers_of(packets, **options):
    return [octets for octets, _ in build(packets, **options)[0]]


@pytest.mark.parametrize("srv6", [False, True])
@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name, srv6):
    fields, payload, now, packet = VECTORS[name]
    fields = {**fields, "srv6": srv6, "carrier": CARRIER}
    ((built, block),), taken, firsts = build(
        [(fields, len(payload))], now=0xAB0000 | now, loopback=SOURCES[name]
    )
    packet = bytes.fromhex(packet)
    start = 54 if srv6 else 14
    assert built[:14] == ETHERNET
    assert built[start:] == packet[: len(packet) - len(payload) - 4]
    assert block.end + 1 == start + len(packet)
    assert (block.payload, 2 + 4 * block.user.place) == (payload != b"", start)
    assert block.user.control == (name in {"V2", "V3", "V5", "V6", "V7"})
    assert firsts == [taken[0] + 2]
    if name == "V1" and srv6:
        assert built[14:54] == bytes.fromhex(V8_OUTER)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"carrier": P},
            "62200000006829403fff00000002000000000000000000015f0000012401280124022c0500000000",
        ),
        (
            {"carrier": P, "segments": 1},
            (
                "6220000000802b403fff00000002000000000000000000015f0000012401280124022c0500000000"
                "29020400000000005f0000012401280124022c0500000000"
            ),
        ),
        (
            {"carrier": P_FIRST, "segments": 2},
            (
                "6220000000902b403fff00000002000000000000000000015f000001240128010000000000000000"
                "29040401010000005f00000124022c0500000000000000005f000001240128010000000000000000"
            ),
        ),
        (
            {"carrier": P_FIRST, "segments": 2, "reduced": 1},
            (
                "6220000000802b403fff00000002000000000000000000015f000001240128010000000000000000"
                "29020401000000005f00000124022c050000000000000000"
            ),
        ),
        (
            {"carrier": P, "segments": 1, "reduced": 1},
            "62200000006829403fff00000002000000000000000000015f0000012401280124022c0500000000",
        ),
    ],
    ids=["no-srh", "one", "two", "two-reduced", "one-reduced"],
)
def test_outer_headers(fields, expected):
    """Against the octets of a report on other implementations: lengths, last entry, next header."""
    packet = [({**D1[0], "srv6": 1, "route": 1, **fields}, 16)]
    routes = [[0xBAD], [P_LAST]]
    (built,) = headers_of(packet, routes=routes, loopback=D1_SOURCE, port={"underlay": P_SOURCE})
    assert built[14:].hex() == expected + D1[3][: -2 * 20]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.beat_octets}-{c.routes}")
@pytest.mark.parametrize("tags", range(3))
def test_every_format_at_full_rate(config, tags):
    """All headers against scapy's, one beat per cycle, back to back, for a port of its own."""
    rng = random.Random(config.beat_octets + tags)
    routes = random_routes(rng, config)
    port = random_port(rng, tags)
    paths = [{"ipv4": ipv4, "srv6": srv6} for ipv4 in (0, 1) for srv6 in (0, 1)]
    if config.routes:
        paths += [
            {"srv6": 1, "segments": segments, "reduced": reduced}
            for segments in range(1, 9)
            for reduced in (0, 1)
        ]
    packets = [
        ({**write(rng), **path, "route": rng.randrange(config.routes or 1)}, rng.randint(1, 4096))
        for path in rng.sample(paths, len(paths))
    ]
    packets += [({**kind[0], "carrier": CARRIER, **rng.choice(paths)}, 0) for kind in (V2, V7)]
    built, taken, firsts = build(packets, config=config, lane=1, routes=routes, port=port)
    for (fields, octets), (headers, block) in zip(packets, built, strict=True):
        expected = frame(fields, bytes(octets), routes=routes, port=port)
        assert headers.hex() == expected[: len(headers)].hex()
        assert block.end + 1 == len(expected)
        assert block.user.ipv4 == fields.get("ipv4", 0)
    beats = [-(-len(headers) // config.beat_octets) for headers, _ in built]
    assert firsts == [firsts[0] + sum(beats[:n]) for n in range(len(beats))]
    assert firsts[0] == taken[0] + 2


def test_a_slow_consumer_changes_nothing():
    rng = random.Random(6)
    routes = random_routes(rng, CONFIG)
    packets = [({**write(rng), **random_format(rng, CONFIG)}, 4) for _ in range(20)]
    built = headers_of(packets, routes=routes, pauses=[rng.randrange(4) for _ in range(99)])
    for (fields, octets), headers in zip(packets, built, strict=True):
        assert headers == frame(fields, bytes(octets), routes=routes)[: len(headers)]


def test_checksums():
    """Sums that carry, and the ones that end as zero, against scapy's."""
    rng = random.Random(7)
    addresses = [0, 0xFFFFFFFF, 0xFFFF0000, 0xFFFF, *(rng.getrandbits(32) for _ in range(120))]
    for loopback_ipv4 in (0xFFFFFFFF, 0xC0A80001):
        packets = [
            ({**write(rng), "ipv4": 1, "srv6": n & 1, "destination": address}, rng.randint(1, 4096))
            for n, address in enumerate(addresses)
        ]
        built = headers_of(packets, loopback_ipv4=loopback_ipv4)
        for (fields, octets), headers in zip(packets, built, strict=True):
            expected = frame(fields, bytes(octets), loopback_ipv4=loopback_ipv4)
            assert headers == expected[: len(headers)]


@pytest.mark.parametrize("octets", [13, 14, 15, 16])
def test_pad_makes_a_multiple_of_four(octets):
    ((built, block),), _, _ = build([({**D1[0], "srv6": 0}, octets)])
    assert built[14 + 48 + 1] == -octets % 4 << 4
    assert block.end + 1 == 98 + 16 + 4


def test_all_bits_of_usids_are_sent():
    """Of a locator with a function in its upper bits some makers of headers kept the lower ones."""
    carriers = [1 << bit for bit in range(128)] + [0x5F000001F3FFF3FFF3FFF3FF << 32]
    packets = [({**V1[0], "srv6": 1, "carrier": carrier}, 16) for carrier in carriers]
    found = [int.from_bytes(headers[38:54], "big") for headers in headers_of(packets)]
    assert found == carriers


def test_plain_packets_carry_the_entropy_value():
    """All 128 values of a rotation are in source port and flow label; outer labels are zero."""
    values = [0xC0000000 | n << 16 | n * 257 for n in range(128)]
    packets = [({**V1[0], "srv6": n & 1, "ev": value}, 16) for n, value in enumerate(values)]
    for n, (value, built) in enumerate(zip(values, headers_of(packets), strict=True)):
        inner = built[54 if n & 1 else 14 :]
        assert int.from_bytes(inner[40:42] + inner[2:4], "big") == value
        assert inner[1] & 0x0F == 0
        assert not n & 1 or built[15] & 0x0F == built[16] == built[17] == 0


def test_halves_of_the_entropy_value_can_be_swapped():
    packets = [({**V1[0], "srv6": 0, "ipv4": ipv4}, 16) for ipv4 in (0, 1)]
    ipv6, ipv4 = headers_of(packets, swap_ev=1)
    assert (ipv6[54:56].hex(), ipv6[15:18].hex()) == ("2010", "20c005")
    assert ipv4[34:36].hex() == "2010"


def test_settings_count():
    changes = {"udp_port": 4971, "hop_limit": 7, "dscp": [0, 63, 0, 0, 0, 0]}
    (built,) = headers_of([({**V1[0], "srv6": 0}, 16)], **changes)
    assert (built[14:16].hex(), built[21], built[56:58].hex()) == ("6fe0", 7, "136b")


def test_more_than_eight_segments_count_as_eight():
    rng = random.Random(8)
    routes = random_routes(rng, CONFIG)
    packets = [({**write(rng), "segments": n, "route": 3}, 16) for n in (9, 15)]
    for (fields, octets), built in zip(packets, headers_of(packets, routes=routes), strict=True):
        expected = frame({**fields, "segments": 8}, bytes(octets), routes=routes)
        assert built == expected[: len(built)]


def test_time_is_that_of_taking():
    config = NicConfig(beat_octets=128)
    dut = HeaderBuilder(config)

    async def producer(ctx):
        ctx.set(dut.settings, settings(config))
        for now in (0x10001, 0x10002):
            ctx.set(dut.now, now)
            await drive(ctx, dut.i, [descriptor(config, V4[0], octets=0)])
        ctx.set(dut.now, 0x10003)

    async def consumer(ctx):
        for _ in range(6):
            await ctx.tick()
        blocks = await collect(ctx, dut.o, 2)
        stamps = [block.octets.to_bytes(128, "little")[86:88].hex() for block in blocks]
        assert stamps == ["0001", "0002"]

    simulate(dut, producer, consumer)
