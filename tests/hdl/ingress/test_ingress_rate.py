# amaranth: UnusedElaboratable=no

"""Cycles, line rate, and what happens when the engine does not keep up."""

import pytest
from amaranth.hdl import Module
from received import (
    PACKETS,
    beats_of,
    config_of,
    packet,
    plain,
    receive,
    settings,
    tagged,
    tunnel,
    write,
)

from mrcnic.hdl.ingress.decapsulator import Decapsulator
from mrcnic.hdl.ingress.descriptor_queue import DESCRIPTORS
from mrcnic.hdl.ingress.header_collector import HeaderCollector
from mrcnic.hdl.ingress.icrc_checker import IcrcChecker
from mrcnic.hdl.ingress.lane import IngressLane
from mrcnic.hdl.ingress.outer_parser import OuterParser
from mrcnic.hdl.wire.opcodes import Opcode
from mrcnic.sim.bench.streams import simulate

D1 = tunnel(PACKETS["D1"])
DATA = bytes(range(0x10, 0x20))


#: Eight segments, none left.
SRH8 = bytes([41, 16, 4, 0, 7, 0, 0, 0]) + bytes(128)


@pytest.mark.parametrize(
    ("tags", "routing", "cycles"),
    [(0, b"", 2 + 2), (2, b"", 2 + 2), (0, PACKETS["H1"], 2 + 3), (2, SRH8, 4 + 3)],
)
def test_headers_are_parsed_in_six_cycles_or_three(tags, routing, cycles):
    """From the first beat on, or in three from the one that has the last octet of headers.

    They take 142 octets without tags and routing header, so three beats; five with eight segments.
    """
    config = config_of(64)
    m = Module()
    m.submodules.parser = parser = OuterParser(config)
    m.submodules.decapsulator = decapsulator = Decapsulator(config)
    m.submodules.collector = collector = HeaderCollector(config)
    m.d.comb += [decapsulator.i.eq(parser.o), collector.i.eq(decapsulator.o)]
    inner = write(bytes(400), opcode=Opcode.WRITE_ONLY_IMM)
    frame = tagged(tunnel(inner, routing), *[(0x8100, 5)] * tags)
    seen = []

    async def bench(ctx):
        ctx.set(parser.settings, settings())
        beats = list(beats_of([frame], 64))
        for cycle in range(12):
            if ctx.get(collector.headers).to_bytes(96, "little")[:88] == inner[:88]:
                seen.append(cycle)
            ctx.set(parser.i.valid, cycle < len(beats))
            if cycle < len(beats):
                ctx.set(parser.i.payload.as_value(), beats[cycle])
            await ctx.tick()

    simulate(m, bench)
    assert seen[0] == cycles


@pytest.mark.parametrize(("beat_octets", "requests", "payload"), [(8, 15, 16), (64, 8, 9)])
def test_latency(beat_octets, requests, payload):
    """From the last beat of a frame to its descriptor, and its payload."""
    config = config_of(beat_octets)
    dut = IngressLane(config)
    seen = {}

    async def bench(ctx):
        ctx.set(dut.settings, settings())
        for beat in beats_of([D1], beat_octets):
            ctx.set(dut.i.payload.as_value(), beat)
            ctx.set(dut.i.valid, 1)
            await ctx.tick()
            ctx.set(dut.i.valid, 0)
        for cycle in range(40):
            for name in ("requests", "payload"):
                if ctx.get(getattr(dut, name).valid):
                    seen.setdefault(name, cycle)
            await ctx.tick()

    simulate(dut, bench)
    assert seen == {"requests": requests, "payload": payload}


@pytest.mark.parametrize("beat_octets", [8, 64])
def test_icrc_latency(beat_octets):
    m = Module()
    m.submodules.checker = checker = IcrcChecker(config_of(beat_octets))
    packet = PACKETS["D1"]
    starts = range(0, len(packet), beat_octets)

    async def bench(ctx):
        for start in starts:
            octets = packet[start : start + beat_octets]
            ctx.set(checker.i.valid, 1)
            ctx.set(checker.i.first, start == 0)
            ctx.set(checker.i.last, start == starts[-1])
            ctx.set(checker.i.end, len(octets) - 1)
            ctx.set(checker.i.data, int.from_bytes(octets, "little"))
            await ctx.tick()
        ctx.set(checker.i.valid, 0)
        for _ in range(checker.latency - 1):
            assert not ctx.get(checker.o.valid)
            await ctx.tick()
        assert (ctx.get(checker.o.valid), ctx.get(checker.o.good)) == (1, 1)
        assert checker.latency == 5

    simulate(m, bench)


def test_line_rate_at_every_length():
    """Back to back at each length up to four beats of payload, tunnelled and not."""
    sizes = [*range(200), *range(1, 140)]
    frames = [
        (plain if number % 2 else tunnel)(write(bytes(n & 0xFF for n in range(size))))
        for number, size in enumerate(sizes)
    ]
    result = receive(frames)
    assert result.events == {"rx_packets": len(sizes)}
    assert result.payloads == [bytes(n & 0xFF for n in range(size)) for size in sizes if size]
    assert [request.octets for request in result.requests] == sizes
    assert [request.payload for request in result.requests] == [size > 0 for size in sizes]
    # Nothing waits, so a descriptor comes as long after the one before as its frame is.
    beats = [-(-len(frame) // 64) for frame in frames]
    gaps = [later - sooner for sooner, later in zip(result.times, result.times[1:], strict=False)]
    slack = [abs(gap - beat) for gap, beat in zip(gaps, beats[1:], strict=True)]
    assert max(slack) <= 1  # where the last octet falls may take one beat more
    assert result.times[-1] - result.times[0] == pytest.approx(sum(beats[1:]), abs=1)


@pytest.mark.parametrize("beat_octets", [32, 128])
def test_other_beats_at_every_length(beat_octets):
    sizes = range(0, beat_octets + 3, 1 if beat_octets < 128 else 3)
    frames = [tunnel(write(bytes(n & 0xFF for n in range(size)))) for size in sizes]
    result = receive(frames, beat_octets)
    assert result.events == {"rx_packets": len(sizes)}
    assert result.payloads == [bytes(n & 0xFF for n in range(size)) for size in sizes if size]


def test_short_beats_at_every_length():
    sizes = range(25)
    frames = [plain(write(bytes(n & 0xFF for n in range(size)))) for size in sizes]
    result = receive(frames, 8)
    assert result.events == {"rx_packets": len(sizes)}
    assert result.payloads == [bytes(n & 0xFF for n in range(size)) for size in sizes if size]


def test_smallest_frames_back_to_back():
    """ACKs of 82 octets, two beats each, one descriptor in two cycles."""
    ack = plain(packet(Opcode.ACK, bytes(4)))
    assert len(ack) == 82
    result = receive([ack, plain(write(b"", timestamped=0))] * 60)
    assert result.events == {"rx_packets": 120}
    assert len(result.responses) == len(result.requests) == 60
    assert result.times[-1] - result.times[0] == 4 * 59


def test_gaps_within_a_frame():
    for gap in (1, 7):
        result = receive([D1, tunnel(write(bytes(300)))] * 2, 64, gap=lambda gap=gap: gap)
        assert result.payloads == [DATA, bytes(300)] * 2
    result = receive([D1, D1], 8, gap=lambda: 3)
    assert result.payloads == [DATA] * 2


def test_payload_without_room():
    """The descriptor goes out all the same; what is there is not harmed, and later ones fit."""
    full = bytes(range(256)) * 4
    room = 512 * 64 // 1024  # packets that fit, without the two beats in registers
    frames = [tunnel(write(full, psn=number)) for number in range(room + 3)]
    stalled = 20 * len(frames)
    more = [tunnel(PACKETS["P1"]), D1]
    result = receive([*frames, *more], ready=lambda cycle: cycle > stalled)
    assert result.events == {"rx_packets": room + 5, "rx_no_room": 3}
    no_room = [request.no_room for request in result.requests]
    payload = [request.payload for request in result.requests]
    assert no_room == [0] * room + [1] * 3 + [0, 0]
    assert payload == [1] * room + [0] * 3 + [0, 1]
    assert [request.octets for request in result.requests] == [1024] * (room + 3) + [0, 16]
    assert result.payloads == [*[full] * room, DATA]


def test_b119_flood_of_one_beat_payloads():
    """Descriptors run out, not beats; what was taken stays in step, and nothing hangs."""
    count = DESCRIPTORS + 40
    frames = [plain(write(number.to_bytes(2, "big"), psn=number)) for number in range(count)]
    result = receive(frames, ready=lambda cycle: cycle > 2 * count + 50)
    taken = result.events["rx_packets"]
    assert DESCRIPTORS <= taken < count
    assert result.sequence == ["rx_packets"] * taken + ["rx_no_descriptor"] * (count - taken)
    placed = [request.psn for request in result.requests if request.payload]
    assert [request.psn for request in result.requests] == list(range(taken))
    assert [int.from_bytes(payload, "big") for payload in result.payloads] == placed


def test_b119_runts_at_line_rate():
    """Frames of one beat, and an engine that stops 200 cycles in each 1000; B118."""
    frames = [D1[:60]] * 300 + [D1] * 50 + [bytes(60)] * 300 + [D1] * 50
    result = receive(frames, ready=lambda cycle: cycle % 1000 < 800)
    assert result.sequence == (
        ["rx_bad_length"] * 300 + ["rx_packets"] * 50 + ["rx_not_ipv6"] * 300 + ["rx_packets"] * 50
    )
    assert result.payloads == [DATA] * 100


def test_b118_outputs_stop_at_any_time():
    """Two QPs in turn stay in turn, however long each descriptor waits."""
    frames = [tunnel(write(bytes([number]) * 70, dqp=number % 2)) for number in range(60)]
    for wait in (2, 5):
        result = receive(frames, ready=lambda cycle, wait=wait: cycle % (wait + 1) == wait)
        assert [request.dqp for request in result.requests] == [0, 1] * 30
        assert result.payloads == [bytes([number]) * 70 for number in range(60)]
