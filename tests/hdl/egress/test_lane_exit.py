import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrcnic.hdl.egress.lane_exit import LaneExit
from mrcnic.hdl.packet.beat import Beat
from mrcnic.sim.bench.packets import from_beats, to_beats
from mrcnic.sim.bench.streams import simulate

LAYOUT = Beat(8)
PACKETS = [bytes([n]) * (8 * n - 3) for n in (3, 1, 5, 2)]
BEATS = [beat for packet in PACKETS for beat in to_beats(packet, LAYOUT)]
#: Priorities of the role CONTROL and of all others.
CONTROL, DATA = 6, 3
GLOBAL = 1 << 8


def always(_):
    return True


def run(
    packets=(),
    host=(),
    *,
    up=always,
    ready=always,
    pause=lambda _: 0,
    offered=always,
    host_turns=4,
    control=lambda _: False,
    cycles=40,
):
    """Return frames out, cycles of their first beats, and counts of what was sent and dropped.

    Functions tell from the cycle what the surroundings do; ``control`` tells from the packet's
    number whether its role is CONTROL.
    """
    dut = LaneExit(octets=8)
    beats, firsts = [], []
    counts = {"sent": [0, 0], "dropped": [0, 0], "paused": 0}

    async def bench(ctx):
        tagged = Beat(8, user_shape=1)
        waiting = [
            [
                beat
                for n, packet in enumerate(packets)
                for beat in to_beats(packet, tagged, user=control(n))
            ],
            [beat for frame in host for beat in to_beats(frame, LAYOUT)],
        ]
        ctx.set(dut.control_priority, CONTROL)
        ctx.set(dut.data_priority, DATA)
        ctx.set(dut.host_turns, host_turns)
        was_valid = False
        for cycle in range(cycles):
            ctx.set(dut.up, up(cycle))
            ctx.set(dut.pause, pause(cycle))
            ctx.set(dut.o.ready, ready(cycle))
            for port, beats_waiting in zip((dut.packets, dut.host), waiting, strict=True):
                ctx.set(port.valid, bool(beats_waiting) and offered(cycle))
                if beats_waiting:
                    ctx.set(port.payload, beats_waiting[0])
            for name in ("sent", "dropped"):
                kinds = ctx.get(getattr(dut, name))
                counts[name][0] += kinds.packet
                counts[name][1] += kinds.host
            counts["paused"] += ctx.get(dut.paused)
            valid = ctx.get(dut.o.valid)
            if valid and not was_valid and ctx.get(dut.o.payload).first:
                firsts.append(cycle)
            was_valid = valid and not ctx.get(dut.o.ready)
            if valid and ctx.get(dut.o.ready):
                beats.append(ctx.get(dut.o.payload))
            for port, beats_waiting in zip((dut.packets, dut.host), waiting, strict=True):
                if beats_waiting and ctx.get(port.valid) and ctx.get(port.ready):
                    beats_waiting.pop(0)
            await ctx.tick()
        counts["left"] = [len(beats_waiting) for beats_waiting in waiting]

    simulate(dut, bench)
    return from_beats(beats), firsts, counts


def numbered(kind, count, beats=1):
    return [f"{kind}{n:03d}".encode() * 2 * beats for n in range(count)]


def test_packets_pass_at_full_rate():
    frames, _, counts = run(PACKETS, cycles=len(BEATS) + 1)
    assert (frames, counts["sent"]) == (PACKETS, [4, 0])


@pytest.mark.parametrize("cycle", range(len(BEATS) + 1))
@pytest.mark.parametrize("kind", [0, 1])
def test_down_is_seen_between_frames(cycle, kind):
    """Whichever beat the port goes down at: each frame comes out whole or not at all."""
    starts = [0, 3, 4, 9]
    expected = [packet for packet, start in zip(PACKETS, starts, strict=True) if start < cycle]
    frames, _, counts = run(*[[], PACKETS][:: 1 if kind else -1], up=lambda now: now < cycle)
    assert frames == expected
    assert (counts["sent"][kind], counts["dropped"][kind]) == (len(expected), 4 - len(expected))


@pytest.mark.parametrize("cycle", range(len(BEATS) + 1))
def test_up_is_seen_between_frames(cycle):
    starts = [0, 3, 4, 9]
    expected = [packet for packet, start in zip(PACKETS, starts, strict=True) if start >= cycle]
    frames, _, counts = run(PACKETS, up=lambda now: now >= cycle)
    assert (frames, counts["sent"][0]) == (expected, len(expected))
    assert counts["dropped"][0] == 4 - len(expected)


def test_a_frame_under_way_waits_for_the_mac():
    frames, _, counts = run(PACKETS, up=lambda now: now < 2, ready=lambda now: now > 9)
    assert (frames, counts["sent"][0], counts["dropped"][0]) == (PACKETS[:1], 1, 3)


def test_a_frame_that_waits_is_dropped():
    """At once, though the MAC takes nothing and the end of the packet before is still to go."""
    frames, _, counts = run(
        PACKETS, up=lambda now: now < 4, ready=lambda now: now not in range(3, 38)
    )
    assert (frames, counts["sent"][0], counts["dropped"][0]) == (PACKETS[:1], 1, 3)


@pytest.mark.parametrize("turns", [0, 1, 2, 5, 255])
def test_neither_side_starves(turns):
    """Both sides busy: one frame of the host after so many packets, without a gap."""
    packets, host = numbered("p", 2 * (turns or 1) + 1), numbered("h", 3)
    frames, firsts, _ = run(packets, host, host_turns=turns, cycles=600)
    kinds = "".join(frame[:1].decode() for frame in frames)
    group = "p" * (turns or 1) + "h"
    assert kinds == 2 * group + "ph"
    assert [frame for frame in frames if frame[:1] == b"p"] == packets
    assert [frame for frame in frames if frame[:1] == b"h"] == host
    assert firsts == list(range(firsts[0], firsts[0] + len(frames)))


def test_the_host_has_all_the_rate_that_packets_leave():
    """Frames of a beat, one per cycle; one that comes later waits for as many packets."""
    frames, firsts, counts = run((), numbered("h", 30))
    assert len(frames) == counts["sent"][1] == 30
    assert firsts == list(range(1, 31))


def test_global_pause():
    """What was started is finished; nothing else is started; then all goes on where it was."""
    frames, firsts, counts = run(
        PACKETS, [b"h" * 20], pause=lambda now: GLOBAL if 1 <= now < 20 else 0, cycles=60
    )
    assert frames == [*PACKETS[:], b"h" * 20]
    assert firsts[0] == 1
    assert firsts[1] == 22  # a cycle to see it, and one in the output's register
    assert counts["paused"] == 18


def test_priority_pause():
    """Each kind has its priority, and one that is paused does not stop the other."""
    packets, host = numbered("p", 6), numbered("h", 2)
    for paused, expected in (
        (1 << CONTROL, [*host]),
        (1 << DATA, packets[:3]),
        (1 << 0 | 1 << 7, [*packets[:4], host[0], *packets[4:5], host[1], packets[5]]),
    ):
        first_data = 0 if paused == 1 << CONTROL else 3
        frames, _, counts = run(
            packets,
            host,
            pause=lambda _, paused=paused: paused,
            offered=lambda now: now > 2,
            control=lambda n, first=first_data, p=paused: p == 1 << CONTROL or n < first,
        )
        if paused & (1 << CONTROL | 1 << DATA):
            assert frames == expected
            assert counts["paused"] > 0
        else:
            assert sorted(frames) == sorted(expected)
            assert counts["paused"] == 0


def test_a_port_that_is_down_drops_in_spite_of_a_pause():
    _, _, counts = run(PACKETS, PACKETS, up=lambda _: False, pause=lambda _: GLOBAL)
    assert (counts["dropped"], counts["left"]) == ([4, 4], [0, 0])


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), turns=st.integers(0, 6))
def test_order_and_bounds_in_random_surroundings(seed, turns):
    """Each side stays in order; a frame waits for so many packets, a packet for one frame."""
    rng = random.Random(seed)
    packets = [b"p" + rng.randbytes(rng.randint(1, 30)) for _ in range(12)]
    host = [b"h" + rng.randbytes(rng.randint(1, 30)) for _ in range(5)]
    frames, _, _ = run(
        packets,
        host,
        host_turns=turns,
        ready=lambda _: rng.random() < 0.7,
        cycles=300,
    )
    assert [frame for frame in frames if frame[:1] == b"p"] == packets
    assert [frame for frame in frames if frame[:1] == b"h"] == host
    kinds = "".join(frame[:1].decode() for frame in frames)
    both = kinds[: max(0, min(kinds.rfind("p"), kinds.rfind("h")))]
    assert all(len(group) <= max(1, turns) for group in both.split("h"))
    assert "hh" not in both
