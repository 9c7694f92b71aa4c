# amaranth: UnusedElaboratable=no
import random

import pytest
from axi_memory import AxiMemory
from hypothesis import given, settings
from hypothesis import strategies as st

from mrcnic.hdl.config import PRESETS, NicConfig
from mrcnic.hdl.host.dma_write import DmaWrite
from mrcnic.sim.bench.packets import to_beats
from mrcnic.sim.bench.streams import drive, simulate

TINY = PRESETS["tiny"]
WIDE = NicConfig()
GUARD = 0xA5


def place(config, verdicts, *, latency=1, chance=0.0, seed=0, bad=(), max_cycles=20_000):
    """Place ``verdicts`` (place, address, length); check memory, return what was reported."""
    rng = random.Random(seed)
    dut = DmaWrite(config)
    memory = AxiMemory(
        dut.axi,
        octets=config.beat_octets,
        latency=latency,
        pause=lambda: rng.random() < chance,
        bad=bad,
    )
    packets = [rng.randbytes(max(1, length)) for _, _, length in verdicts]
    # Octets around each payload must not change; later payloads win.
    for _, address, length in verdicts:
        memory.write(address - 128, bytes([GUARD]) * (length + 256))
    expected = dict(memory.memory)
    for (placed, address, length), packet in zip(verdicts, packets, strict=True):
        if placed:
            for n in range(length):
                expected[address + n] = packet[n]
    placed = sum(bool(placed and length) for placed, _, length in verdicts)
    reports = []
    words = []
    totals = dict.fromkeys(dut.events.shape().members, 0)

    async def verdict_producer(ctx):
        await drive(
            ctx,
            dut.i,
            ({"place": p, "address": a, "octets": n} for p, a, n in verdicts),
        )

    async def payload_producer(ctx):
        layout = dut.payload.payload.shape()
        beats = [beat for packet in packets for beat in to_beats(packet, layout)]
        pauses = (int(rng.random() < chance) for _ in beats)
        await drive(ctx, dut.payload, beats, pauses=pauses)

    async def watcher(ctx):
        rest = 20
        while rest:
            _, _, written, error, valid, ready, events = await ctx.tick().sample(
                dut.written, dut.error, dut.axi.wvalid, dut.axi.wready, dut.events
            )
            words.append(bool(valid and ready))
            assert written or not error
            if written:
                reports.append(error)
            for name in totals:
                totals[name] += events[name]
            if len(reports) == placed and sum(totals.values()) == len(verdicts):
                rest -= 1  # long enough for a report too many
        memory.done = True

    simulate(
        dut, verdict_producer, payload_producer, watcher, memory.serve_writes, max_cycles=max_cycles
    )
    if not bad:
        assert memory.memory == expected
    assert len(reports) == placed
    assert totals == {
        "rx_payload_written": placed - sum(reports),
        "rx_payload_write_error": sum(reports),
        "rx_payload_dropped": len(verdicts) - placed,
    }
    return memory, reports, words


@pytest.mark.parametrize(("config", "count"), [(TINY, 40), (WIDE, 40)], ids=["8", "64"])
def test_any_address_any_length_some_dropped(config, count):
    rng = random.Random(1)
    verdicts = [
        (
            rng.random() < 0.8,
            (n << 16) + rng.randrange(0x1000, 0x2000),
            rng.randint(1, rng.choice([20, config.mtu])),
        )
        for n in range(count)
    ]
    place(config, verdicts, chance=0.2, latency=10)


@settings(max_examples=30)
@given(st.data())
def test_property(data):
    addresses = st.one_of(st.integers(4096 - 70, 4096 + 70), st.integers(2**40, 2**40 + 64))
    verdicts = data.draw(
        st.lists(st.tuples(st.booleans(), addresses, st.integers(1, 140)), min_size=1, max_size=6)
    )
    place(
        data.draw(st.sampled_from([TINY, WIDE])),
        verdicts,
        latency=data.draw(st.sampled_from([1, 30])),
        chance=data.draw(st.sampled_from([0, 0.5])),
        max_cycles=1_000,
    )


@pytest.mark.parametrize("length", [64, 4096])
def test_aligned_payloads_keep_the_rate_with_a_distant_memory(length):
    count = 500 if length == 64 else 12
    verdicts = [(True, 0x10_0000 + n * 4096, length) for n in range(count)]
    _, _, words = place(WIDE, verdicts, latency=200)
    start = words.index(True)
    assert start <= 10
    beats = sum(length // 64 for _, _, length in verdicts)
    assert all(words[start : start + beats])


def test_more_payloads_than_responses_may_be_outstanding():
    verdicts = [(True, 0x10_0000 + n * 4096, 64) for n in range(300)]
    _, reports, _ = place(WIDE, verdicts, latency=400)
    assert len(reports) == 300


def test_unaligned_payloads_take_one_cycle_more():
    verdicts = [(True, 0x1021 + n * 8192, 4096) for n in range(8)]
    _, _, words = place(WIDE, verdicts)
    start = words.index(True)
    assert all(words[start : start + 65 * 8])
    assert sum(words) == 65 * 8


@pytest.mark.parametrize(("config", "latency"), [(TINY, 7), (WIDE, 8)], ids=["8", "64"])
def test_latency(config, latency):
    _, _, words = place(config, [(True, 0x1000, 1)])
    assert words.index(True) == latency


def test_nothing_of_a_dropped_payload_is_written():
    memory, reports, words = place(WIDE, [(False, 0x1000, 200), (True, 0x3000, 0)])
    assert memory.bursts == []
    assert reports == []
    assert not any(words)


def test_bursts_end_at_boundaries():
    memory, _, _ = place(WIDE, [(True, 0x1FC1, 4096)])
    assert memory.bursts == [(0x1FC0, 1), (0x2000, 64)]


@pytest.mark.parametrize("bad", [0x1FF0, 0x2040])
def test_error_belongs_to_its_payload(bad):
    verdicts = [(True, 0x1000, 64), (True, 0x1FE0, 256), (False, 0x1FE0, 64), (True, 0x4000, 5)]
    _, reports, _ = place(WIDE, verdicts, bad=[bad])
    assert reports == [0, 1, 0]


def test_too_wide():
    with pytest.raises(
        ValueError,
        match=r"^beat_octets must not exceed 64 where host memory is on AXI4, not 128$",
    ):
        DmaWrite(NicConfig(beat_octets=128))
