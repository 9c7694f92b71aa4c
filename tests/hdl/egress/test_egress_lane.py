# amaranth: UnusedElaboratable=no
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lane_frames import (
    CARRIER,
    D1,
    D1_SOURCE,
    ETHERNET,
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
    frame,
    random_format,
    random_port,
    random_routes,
    write,
)  # fmt: skip
from lane_world import run_lane

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.wire.opcodes import Opcode

TINY = NicConfig(lanes=1, beat_octets=8, qps=4, window=128, slots=16, mtu=256, evs=16)
WIDE = NicConfig(lanes=1, mtu=256)
SHORT = NicConfig(lanes=1, beat_octets=32, mtu=256, routes=0)


def frames_of(packets, **changes):
    return [frame(fields, payload, **changes) for fields, payload in packets]


def beats_of(config, packet):
    return -(-len(frame(*packet)) // config.beat_octets)


@pytest.mark.parametrize("config", [TINY, WIDE], ids=["tiny", "wide"])
def test_vectors(config):
    """V1 to V4, V7 and V8 of the protocol, bit for bit, from A and then from B."""
    for vectors, source, now in (
        ((V1, D1), A, 0x1234), ((V4,), A, 0x1300), ((V2, V3, V7), B, 0),
    ):  # fmt: skip
        for vector in vectors:
            loopback = D1_SOURCE if vector is D1 else source
            packets = [
                ({**vector[0], "srv6": srv6, "carrier": CARRIER}, vector[1]) for srv6 in (0, 1)
            ]
            plain, encapsulated = run_lane(config, packets, now=now, loopback=loopback).frames
            inner = bytes.fromhex(vector[3])
            assert plain == ETHERNET + inner
            assert encapsulated[54:] == inner
            if vector is V1:
                assert encapsulated[14:] == bytes.fromhex(V8_OUTER) + inner


@pytest.mark.parametrize("config", [TINY, WIDE], ids=["tiny", "wide"])
def test_every_length(config):
    """All pads, with and without SRv6 and immediate, all places of the ICRC in its beat."""
    rng = random.Random(8)
    lengths = [*range(1, 141), *range(249, 257)] if config is WIDE else range(1, 20)
    packets = [(write(rng, srv6=rng.getrandbits(1)), rng.randbytes(n)) for n in lengths]
    run = run_lane(config, packets)
    assert run.frames == frames_of(packets)
    assert (run.sent, run.dropped) == (len(packets), 0)


@pytest.mark.parametrize("octets", [16, 38, 100, 256])
def test_line_rate(octets):
    """Frame after frame without a gap, as long as payload is there: cycles are beats."""
    rng = random.Random(octets)
    packets = [(write(rng), rng.randbytes(octets)) for _ in range(12)]
    packets = [({**fields, "opcode": Opcode.WRITE_ONLY}, payload) for fields, payload in packets]
    run = run_lane(WIDE, packets)
    assert run.frames == frames_of(packets)
    assert run.moved == list(range(run.moved[0], run.moved[0] + len(run.beats)))


def test_line_rate_with_a_store_that_takes_four_cycles():
    """Payload is asked for while the headers of the packet before are still on their way."""
    rng = random.Random(16)
    packets = [({**write(rng), "opcode": Opcode.WRITE_ONLY}, rng.randbytes(16)) for _ in range(12)]
    run = run_lane(WIDE, packets, store_delay=4)
    assert run.frames == frames_of(packets)
    assert run.moved == list(range(run.moved[0], run.moved[0] + len(run.beats)))


@pytest.mark.parametrize("config", [TINY, WIDE], ids=["tiny", "wide"])
def test_latency(config):
    """From the descriptor to the MAC: one cycle for each beat, and ``latency``."""
    rng = random.Random(9)
    for packet in (
        ({**V2[0], "srv6": 1, "carrier": CARRIER}, b""),
        (write(rng), rng.randbytes(90)),
    ):
        run = run_lane(config, [packet])
        assert run.first_offered == [run.taken[0] + beats_of(config, packet) + run.latency]
        assert run.latency == {8: 11, 64: 12}[config.beat_octets]
        assert run.reads == [run.taken[0] + 1] * bool(packet[1])


def test_all_descriptors_of_a_burst_keep_their_own_values():
    """Four back to back on one carrier, then four on others; resend before new packets."""
    rng = random.Random(10)
    packets = [({**write(rng), "carrier": CARRIER}, bytes(16)) for _ in range(4)]
    packets += [(write(rng), bytes(16)) for _ in range(4)]
    packets += [
        ({**D1[0], "retransmission": 1, "srv6": 1, "carrier": CARRIER}, D1[1]),
        ({**write(rng), "psn": 0x1FF}, rng.randbytes(256)),
        (write(rng), b"x"),
    ]
    run = run_lane(TINY, packets)
    assert run.frames == frames_of(packets)
    assert len(run.frames[8]) == 14 + 40 + 104


def test_the_mac_is_slow():
    """The lane takes descriptors for as long as there is room, and the FIFO never overflows."""
    rng = random.Random(11)
    packets = [(write(rng), rng.randbytes(rng.choice([1, 100, 256]))) for _ in range(20)]
    run = run_lane(TINY, packets, mac_ready=lambda cycle: cycle > 700 and rng.random() < 0.5)
    assert run.frames == frames_of(packets)
    stopped = [cycle for cycle in run.taken if cycle < 700]
    assert 2 <= len(stopped) < len(packets)
    assert max(stopped) < 300


def test_the_store_is_slow():
    """Frames still have no idle beats."""
    rng = random.Random(12)
    packets = [(write(rng), rng.randbytes(rng.randint(1, 256))) for _ in range(12)]
    packets[3:3] = [(V7[0] | {"srv6": 1, "carrier": CARRIER}, b"")]
    run = run_lane(
        TINY,
        packets,
        store_delay=9,
        store_stalls=lambda _: rng.random() < 0.5,
        fetch_ready=lambda _: rng.random() < 0.3,
    )
    assert run.frames == frames_of(packets)


@settings(max_examples=5)
@given(seed=st.integers(0, 2**32 - 1), busy=st.sampled_from([0.2, 0.9]))
def test_random_surroundings(seed, busy):
    rng = random.Random(seed)
    kinds = [V2[0], V3[0], V4[0], V7[0]]
    packets = [
        (write(rng), rng.randbytes(rng.randint(1, 64)))
        if rng.random() < 0.6
        else ({**rng.choice(kinds), "srv6": rng.getrandbits(1), "carrier": CARRIER}, b"")
        for _ in range(8)
    ]
    run = run_lane(
        TINY,
        packets,
        mac_ready=lambda _: rng.random() < busy,
        store_stalls=lambda _: rng.random() > busy,
        fetch_ready=lambda _: rng.random() < busy,
        cycles=5_000,
    )
    assert run.frames == frames_of(packets)


@pytest.mark.parametrize("down", [5, 40, 49, 100])
def test_port_down(down):
    """The frame under way is finished; those that wait, and those that still come, are dropped."""
    rng = random.Random(13)
    packets = [(write(rng, opcode=Opcode.WRITE_ONLY), rng.randbytes(64)) for _ in range(8)]
    run = run_lane(TINY, packets, up=lambda cycle: cycle < down)
    expected = frames_of(packets)
    assert len(run.taken) == len(packets)
    assert run.frames == expected[: len(run.frames)]
    assert (run.sent, run.dropped) == (len(run.frames), len(packets) - len(run.frames))
    late = [cycle for cycle in run.moved if down < cycle]
    assert len(late) <= beats_of(TINY, packets[0])
    assert run.dropped > 0


def test_port_that_is_back_sends_what_comes_then():
    rng = random.Random(15)
    packets = [(write(rng, opcode=Opcode.WRITE_ONLY), rng.randbytes(64)) for _ in range(8)]
    run = run_lane(TINY, packets, up=lambda cycle: not 40 <= cycle < 100)
    sent = run.frames
    assert (run.sent, run.dropped) == (len(sent), len(packets) - len(sent))
    assert 0 < run.dropped < len(packets)
    assert sent == [frame for frame in frames_of(packets) if frame in sent]


def test_payload_of_a_dropped_frame_is_consumed():
    rng = random.Random(14)
    packets = [(write(rng), rng.randbytes(100)) for _ in range(3)]
    run = run_lane(TINY, packets, up=lambda cycle: cycle < 12 or cycle > 200, store_delay=60)
    assert run.dropped >= 1
    assert run.frames == frames_of(packets)[run.dropped :]


@pytest.mark.parametrize("tags", range(3))
@pytest.mark.parametrize("config", [TINY, WIDE, SHORT], ids=["tiny", "wide", "without-routes"])
def test_every_format(config, tags):
    """All headers there are, with any payload, against scapy's."""
    rng = random.Random(config.beat_octets + tags)
    routes = random_routes(rng, config)
    changes = {"port": random_port(rng, tags), "routes": routes}
    kinds = [V2, V3, V4, V5, V6, V7]
    packets = [
        ({**write(rng), **random_format(rng, config)}, rng.randbytes(rng.randint(1, 60)))
        for _ in range(14)
    ]
    packets += [
        ({**kind[0], "carrier": CARRIER, **random_format(rng, config)}, b"") for kind in kinds
    ]
    rng.shuffle(packets)
    run = run_lane(config, packets, **changes)
    assert [octets.hex() for octets in run.frames] == [
        octets.hex() for octets in frames_of(packets, **changes)
    ]


@pytest.mark.parametrize("config", [TINY, WIDE], ids=["tiny", "wide"])
def test_segments_cost_no_bubble(config):
    """The longest headers back to back with the shortest: cycles are beats."""
    rng = random.Random(16)
    routes = random_routes(rng, config)
    changes = {"port": random_port(rng, 2), "routes": routes}
    long = {"srv6": 1, "segments": 8, "reduced": 0, "route": 1}
    short = {"srv6": 0, "ipv4": 1}
    packets = [({**write(rng), **path}, rng.randbytes(120)) for path in [long, short, long] * 3]
    run = run_lane(config, packets, **changes)
    assert run.frames == frames_of(packets, **changes)
    assert run.moved == list(range(run.moved[0], run.moved[0] + len(run.beats)))


def test_frames_of_the_host_pass():
    """Untouched, of any length, with idle beats inside; packets keep their order, too."""
    rng = random.Random(17)
    packets = [(write(rng), rng.randbytes(rng.randint(1, 256))) for _ in range(6)]
    host = [rng.randbytes(n) for n in (1, 8, 14, 60, 64, 65, 512)]
    run = run_lane(TINY, packets, host=host, host_idle=lambda _: rng.random() < 0.3)
    sent = frames_of(packets)
    assert sorted(run.frames) == sorted([*sent, *host])
    assert [frame for frame in run.frames if frame in sent] == sent
    assert [frame for frame in run.frames if frame in host] == host
    assert run.events["host_tx_sent"] == len(host)


def test_frames_of_the_host_at_line_rate():
    """Frames of 64 octets, one per cycle: 322 million in a second at 322 MHz."""
    host = [bytes([n]) * 64 for n in range(40)]
    run = run_lane(WIDE, [], host=host)
    assert run.frames == host
    assert run.moved == list(range(run.moved[0], run.moved[0] + 40))


def test_the_host_gets_its_turn():
    """Against packets without end: at most ``host_turns`` of them in between."""
    packets = [(V7[0] | {"srv6": 0}, b"") for _ in range(20)]
    host = [bytes([n]) * 64 for n in range(4)]
    run = run_lane(WIDE, packets, host=host, host_turns=3)
    kinds = "".join("h" if frame in host else "p" for frame in run.frames)
    assert kinds.count("h") == 4
    assert max(len(group) for group in kinds.strip("p").split("h")) <= 3


def test_a_long_frame_of_the_host_is_dropped():
    host = [bytes(9217), b"x" * 9216, b"y" * 70]
    run = run_lane(WIDE, [], host=host)
    assert run.frames == host[1:]
    assert run.events["host_tx_too_long"] == 1


@pytest.mark.parametrize("honoured", [0, 1])
def test_pause(honoured):
    """No frame starts during a pause, if it is to be honoured."""
    packets = [(V7[0] | {"srv6": 0}, b"")] * 4
    run = run_lane(
        WIDE, packets, host=[bytes(64)] * 4, port={"pause": honoured},
        pause=lambda cycle: 0x100 if cycle < 200 else 0,
    )  # fmt: skip
    assert len(run.frames) == 8
    assert (min(run.moved) > 200) == bool(honoured)
    assert (run.events["tx_paused"] > 100) == bool(honoured)


def test_priorities_pause():
    """Control has another priority than all else."""
    packets = [(V7[0] | {"srv6": 0}, b""), (write(random.Random(19), srv6=0), bytes(4))] * 2
    run = run_lane(
        WIDE, packets, host=[bytes(64)], port={"pause": 1},
        pause=lambda cycle: 1 << 6 if cycle < 200 else 0,
        pause_priority_control=6, pause_priority_data=3,
    )  # fmt: skip
    before = [cycle for cycle in run.moved if cycle < 200]
    assert len(before) == 1
