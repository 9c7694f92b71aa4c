# amaranth: UnusedElaboratable=no
import random

import pytest
from axi_memory import AxiMemory
from hypothesis import given, settings
from hypothesis import strategies as st

from mrcnic.hdl.config import PRESETS, NicConfig
from mrcnic.hdl.host.dma_read import DmaRead
from mrcnic.sim.bench.streams import drive, simulate

TINY = PRESETS["tiny"]
WIDE = NicConfig()


def beats_of(requests, octets):
    return sum(-(-length // octets) for _, length in requests)


def fetch(config, requests, *, latency=1, chance=0.0, seed=0, bad=(), max_cycles=20_000):
    """Fetch ``requests`` (address, length); return payloads, errors, cycles of the beats."""
    rng = random.Random(seed)
    dut = DmaRead(config)
    memory = AxiMemory(
        dut.axi,
        octets=config.beat_octets,
        latency=latency,
        pause=lambda: rng.random() < chance,
        bad=bad,
    )
    for address, length in requests:
        memory.write(address, rng.randbytes(length))
    cycles = []
    payloads = []
    errors = []
    reported = 0

    async def producer(ctx):
        await drive(
            ctx,
            dut.i,
            (
                {"slot": n % config.slots, "address": address, "octets": length}
                for n, (address, length) in enumerate(requests)
            ),
        )

    async def consumer(ctx):
        nonlocal reported
        payload = b""
        beat = 0
        while len(payloads) < len(requests):
            ctx.set(dut.o.ready, rng.random() >= chance)
            cycle = len(cycles)
            _, _, valid, ready, o, event = await ctx.tick().sample(
                dut.o.valid, dut.o.ready, dut.o.payload, dut.events.tx_payload_read_error
            )
            reported += event
            cycles.append(bool(valid and ready))
            if not cycles[cycle]:
                continue
            assert o.slot == len(payloads) % config.slots
            assert o.beat == beat
            payload += o.data.to_bytes(config.beat_octets, "little")
            beat += 1
            if o.last:
                length = requests[len(payloads)][1]
                assert beat == -(-length // config.beat_octets)
                payloads.append(payload[:length])
                errors.append(o.error)
                payload = b""
                beat = 0
            else:
                assert not o.error
        _, _, event = await ctx.tick().sample(dut.events.tx_payload_read_error)
        memory.done = True
        assert reported + event == sum(errors)

    simulate(dut, producer, consumer, memory.serve_reads, max_cycles=max_cycles)
    assert payloads == [memory.read(address, length) for address, length in requests]
    return memory, errors, cycles


@pytest.mark.parametrize(("config", "count"), [(TINY, 40), (WIDE, 40)], ids=["8", "64"])
def test_any_address_any_length(config, count):
    rng = random.Random(1)
    requests = [
        (
            rng.randrange(1 << 64) & ~0x1FFF | rng.randrange(0x1000),
            rng.randint(1, rng.choice([20, config.mtu])),
        )
        for _ in range(count)
    ]
    _, errors, _ = fetch(config, requests, chance=0.2)
    assert not any(errors)


@settings(max_examples=30)
@given(st.data())
def test_property(data):
    addresses = st.one_of(
        st.integers(0, 64), st.integers(4096 - 70, 4096 + 70), st.just(2**64 - 4096)
    )
    requests = data.draw(st.lists(st.tuples(addresses, st.integers(1, 70)), min_size=1, max_size=8))
    # Later requests must not change what earlier ones read: give each its own place.
    requests = [
        ((n << 16) + address & (1 << 64) - 1, length)
        for n, (address, length) in enumerate(requests)
    ]
    fetch(
        data.draw(st.sampled_from([TINY, WIDE])),
        requests,
        latency=data.draw(st.sampled_from([1, 20])),
        chance=data.draw(st.sampled_from([0, 0.5])),
        max_cycles=1_000,
    )


@pytest.mark.parametrize(("config", "latency"), [(TINY, 3), (WIDE, 4)], ids=["8", "64"])
def test_latency(config, latency):
    """Two cycles to the bus, two in memory here, and the realigner."""
    _, _, cycles = fetch(config, [(0x1000, 1)], latency=2)
    assert cycles.index(True) == 2 + 2 + latency


@pytest.mark.parametrize("length", [64, 4096])
def test_aligned_requests_keep_the_rate_with_a_distant_memory(length):
    count = 600 if length == 64 else 12
    requests = [(0x10_0000 + n * 4096, length) for n in range(count)]
    memory, _, cycles = fetch(WIDE, requests, latency=200)
    start = cycles.index(True)
    assert start <= 210
    assert all(cycles[start:][: beats_of(requests, 64)])
    assert len(cycles) - start <= beats_of(requests, 64) + 1
    assert memory.most_under_way >= 190


def test_no_more_requests_are_under_way_than_are_remembered():
    requests = [(0x10_0000 + n * 4096, 64) for n in range(300)]
    memory, _, _ = fetch(WIDE, requests, latency=400)
    assert 250 <= memory.most_under_way <= 260


def test_unaligned_requests_take_one_cycle_more_at_most():
    rng = random.Random(3)
    requests = [(0x1001 + n * 8192 + rng.randrange(63), 4096) for n in range(10)]
    _, _, cycles = fetch(WIDE, requests, latency=50)
    start = cycles.index(True)
    assert len(cycles) - start <= beats_of(requests, 64) + len(requests)


def test_bursts_end_at_boundaries():
    memory, _, _ = fetch(WIDE, [(0x1FC1, 4096)])
    assert memory.bursts == [(0x1FC0, 1), (0x2000, 64)]
    memory, _, _ = fetch(TINY.override(mtu=4096, slots=16), [(0x1804, 4096)])
    assert memory.bursts == [(0x1800, 256), (0x2000, 256), (0x2800, 1)]


@pytest.mark.parametrize("place", [0, 100, 199])
def test_error_is_reported_with_the_last_beat(place):
    requests = [(0x1000, 64), (0x2020, 200), (0x4000, 1), (0x5000, 130)]
    _, errors, _ = fetch(WIDE, requests, bad=[0x2020 + place])
    assert errors == [0, 1, 0, 0]


def test_too_wide():
    with pytest.raises(
        ValueError,
        match=r"^beat_octets must not exceed 64 where host memory is on AXI4, not 128$",
    ):
        DmaRead(NicConfig(beat_octets=128))
