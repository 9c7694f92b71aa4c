import pytest

from mrcnic.hdl.egress.port_gate import PortGate
from mrcnic.hdl.packet.beat import Beat
from mrcnic.sim.bench.packets import from_beats, to_beats
from mrcnic.sim.bench.streams import simulate

LAYOUT = Beat(8)
PACKETS = [bytes([n]) * (8 * n - 3) for n in (3, 1, 5, 2)]
BEATS = [beat for packet in PACKETS for beat in to_beats(packet, LAYOUT)]


def run(up, *, ready=lambda cycle: True, cycles=40):
    """Return packets out, passed and dropped; ``up`` is a function of the cycle."""
    dut = PortGate(octets=8)
    beats, counts = [], [0, 0]

    async def bench(ctx):
        waiting = list(BEATS)
        for cycle in range(cycles):
            ctx.set(dut.up, up(cycle))
            ctx.set(dut.o.ready, ready(cycle))
            ctx.set(dut.i.valid, bool(waiting))
            if waiting:
                ctx.set(dut.i.payload, waiting[0])
            counts[0] += ctx.get(dut.passed)
            counts[1] += ctx.get(dut.dropped)
            if ctx.get(dut.o.valid) and ctx.get(dut.o.ready):
                beats.append(ctx.get(dut.o.payload))
            if waiting and ctx.get(dut.i.ready):
                waiting.pop(0)
            await ctx.tick()
        assert not waiting

    simulate(dut, bench)
    return from_beats(beats), *counts


def test_packets_pass_at_full_rate():
    assert run(lambda _: True, cycles=len(BEATS) + 1) == (PACKETS, 4, 0)


@pytest.mark.parametrize("cycle", range(len(BEATS) + 1))
def test_down_is_seen_between_packets(cycle):
    """Whichever beat the port goes down at: each packet comes out whole or not at all."""
    starts = [0, 3, 4, 9]
    expected = [packet for packet, start in zip(PACKETS, starts, strict=True) if start < cycle]
    assert run(lambda now: now < cycle) == (expected, len(expected), 4 - len(expected))


@pytest.mark.parametrize("cycle", range(len(BEATS) + 1))
def test_up_is_seen_between_packets(cycle):
    starts = [0, 3, 4, 9]
    expected = [packet for packet, start in zip(PACKETS, starts, strict=True) if start >= cycle]
    assert run(lambda now: now >= cycle) == (expected, len(expected), 4 - len(expected))


def test_a_packet_under_way_waits_for_the_mac():
    packets, passed, dropped = run(lambda now: now < 2, ready=lambda now: now > 9)
    assert (packets, passed, dropped) == (PACKETS[:1], 1, 3)


def test_a_packet_that_waits_is_dropped():
    """At once, though the MAC takes nothing and the end of the packet before is still to go."""
    packets, passed, dropped = run(lambda now: now < 4, ready=lambda now: now not in range(3, 38))
    assert (packets, passed, dropped) == (PACKETS[:1], 1, 3)
