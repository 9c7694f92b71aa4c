# amaranth: UnusedElaboratable=no
"""Nothing unfinished, aborted or torn may come out, and nothing else may be missing."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrcnic.hdl.packet.beat import Beat
from mrcnic.hdl.packet.commit_fifo import CommitFifo
from mrcnic.sim.bench.packets import from_beats, to_beats
from mrcnic.sim.bench.streams import collect, drive, simulate

LAYOUT = Beat(8)


def octets(beats, fill=0):
    """Make a packet of so many beats, the last of which is not full."""
    return bytes((fill + n) & 0xFF for n in range(8 * beats - 3))


async def send(ctx, dut, packet, *, abort=False, gap_after=None, gap=0):
    """Put a packet in, with a gap after one of its beats; return whether it was dropped."""
    dropped = 0
    for number, beat in enumerate(to_beats(packet, LAYOUT)):
        ctx.set(dut.i.payload, beat)
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.abort, abort if beat.last else 1)  # before the last beat it means nothing
        (now_dropped,) = await ctx.tick().sample(dut.dropped).until(dut.i.ready)
        dropped += now_dropped
        ctx.set(dut.i.valid, 0)
        for _ in range(gap if number == gap_after else 0):
            await ctx.tick()
    return dropped


async def drain(ctx, dut, cycles=80):
    """Take whatever comes out in so many cycles."""
    ctx.set(dut.o.ready, 1)
    beats = []
    for _ in range(cycles):
        _, _, valid, payload = await ctx.tick().sample(dut.o.valid, dut.o.payload)
        if valid:
            beats.append(payload)
    ctx.set(dut.o.ready, 0)
    return beats


async def idle(ctx, cycles):
    for _ in range(cycles):
        await ctx.tick()


@pytest.mark.parametrize("depth", [0, 1, 12, 8192])
def test_depth_is_checked(depth):
    with pytest.raises(ValueError, match=f"power of two from 2 to 4096, not {depth}"):
        CommitFifo(LAYOUT, depth=depth)


@pytest.mark.parametrize("drop_when_full", [False, True])
@pytest.mark.parametrize("beat_octets", [1, 8, 64])
@pytest.mark.parametrize("chance", [0, 0.5])
def test_packets_pass_unchanged(drop_when_full, beat_octets, chance):
    rng = random.Random(0)
    layout = Beat(beat_octets, user_shape=4)
    packets = [rng.randbytes(rng.randint(1, 12 * beat_octets)) for _ in range(30)]
    beats = []
    for number, packet in enumerate(packets):
        beats += to_beats(packet, layout, user=number % 16)
    dut = CommitFifo(layout, depth=512 if drop_when_full else 16, drop_when_full=drop_when_full)

    def pauses():
        while True:
            yield rng.randint(1, 3) if rng.random() < chance else 0

    async def producer(ctx):
        await drive(ctx, dut.i, beats, pauses=pauses())

    async def consumer(ctx):
        received = await collect(ctx, dut.o, len(beats), pauses=pauses())
        assert from_beats(received) == packets
        assert [beat.user for beat in received if beat.first] == [n % 16 for n in range(30)]

    simulate(dut, producer, consumer)


def test_latency_and_rate():
    """Three cycles from the last beat in to the first one out, then a beat in each."""
    dut = CommitFifo(LAYOUT, depth=64)
    beats = [beat for n in (4, 1, 1, 2, 8) for beat in to_beats(octets(n), LAYOUT)]
    seen = []

    async def producer(ctx):
        await drive(ctx, dut.i, beats)

    async def consumer(ctx):
        ctx.set(dut.o.ready, 1)
        for cycle in range(40):
            _, _, valid = await ctx.tick().sample(dut.o.valid)
            if valid:
                seen.append(cycle)

    simulate(dut, producer, consumer)
    # The last beat of the first packet goes in at edge 3, that of the last one at edge 15.
    assert seen == [*range(6, 14), *range(18, 26)]


@pytest.mark.parametrize("draining", [False, True])
@pytest.mark.parametrize(("beats", "fits"), [(3, True), (4, False)])
def test_b103_exactly_the_room_that_is_left(beats, fits, draining):
    """Five beats of eight are occupied; two more are in the registers behind the memory."""
    dut = CommitFifo(LAYOUT, depth=8, drop_when_full=True)

    async def bench(ctx):
        assert not await send(ctx, dut, octets(7))
        await idle(ctx, 4)
        assert (ctx.get(dut.level), ctx.get(dut.room)) == (5, 3)
        received = []
        dropped = 0
        for beat in to_beats(octets(beats, 0x40), LAYOUT):
            ctx.set(dut.i.payload, beat)
            ctx.set(dut.i.valid, 1)
            # The reader makes room in the very cycle of the decision, which is too late.
            ctx.set(dut.o.ready, draining and beat.last)
            trigger = ctx.tick().sample(dut.dropped, dut.o.valid & dut.o.ready, dut.o.payload)
            _, _, dropped, taken, payload = await trigger
            if taken:
                received.append(payload)
        ctx.set(dut.i.valid, 0)
        assert dropped == (not fits)
        received += await drain(ctx, dut)
        assert from_beats(received) == [octets(7), *([octets(beats, 0x40)] if fits else [])]
        assert ctx.get(dut.level) == 0

    simulate(dut, bench)


def test_b104_room_again_before_the_end_of_a_packet_that_did_not_fit():
    dut = CommitFifo(LAYOUT, depth=8, drop_when_full=True)

    async def bench(ctx):
        await send(ctx, dut, octets(8))  # two leave for the registers, six stay
        await idle(ctx, 4)
        received = []
        dropped = 0
        for number, beat in enumerate(to_beats(octets(6, 0x40), LAYOUT)):
            ctx.set(dut.i.payload, beat)
            ctx.set(dut.i.valid, 1)
            ctx.set(dut.o.ready, number > 3)  # it is full at the third
            trigger = ctx.tick().sample(dut.dropped, dut.o.valid & dut.o.ready, dut.o.payload)
            _, _, now_dropped, taken, payload = await trigger
            dropped += now_dropped
            if taken:
                received.append(payload)
        ctx.set(dut.i.valid, 0)
        received += await drain(ctx, dut)
        assert dropped == 1
        assert not await send(ctx, dut, octets(6, 0x80))
        received += await drain(ctx, dut)
        assert from_beats(received) == [octets(8), octets(6, 0x80)]

    simulate(dut, bench)


def test_b107_a_dropped_packet_stays_dropped_over_a_gap():
    dut = CommitFifo(LAYOUT, depth=8, drop_when_full=True)

    async def bench(ctx):
        await send(ctx, dut, octets(8))
        await idle(ctx, 4)
        received = []

        async def make_room():
            received.extend(await drain(ctx, dut, 10))

        for number, beat in enumerate(to_beats(octets(6, 0x40), LAYOUT)):
            ctx.set(dut.i.payload, beat)
            ctx.set(dut.i.valid, 1)
            _, _, dropped = await ctx.tick().sample(dut.dropped)
            ctx.set(dut.i.valid, 0)
            assert dropped == beat.last
            if number == 2:  # the one that found it full
                await make_room()
        received += await drain(ctx, dut)
        assert from_beats(received) == [octets(8)]

    simulate(dut, bench)


@pytest.mark.parametrize("drop_when_full", [False, True])
def test_b112_a_packet_larger_than_the_memory(drop_when_full):
    dut = CommitFifo(Beat(8), depth=64, drop_when_full=drop_when_full)

    async def bench(ctx):
        assert await send(ctx, dut, octets(67)) == 1
        assert await send(ctx, dut, octets(64, 1)) == 0  # exactly as large
        assert from_beats(await drain(ctx, dut, 80)) == [octets(64, 1)]
        assert await send(ctx, dut, octets(65)) == 1
        assert await send(ctx, dut, octets(3)) == 0
        assert from_beats(await drain(ctx, dut)) == [octets(3)]

    simulate(dut, bench)


def test_b131_staged_beats_count():
    """A packet waits for a slow consumer in the middle, in full view of the beats it staged."""
    dut = CommitFifo(LAYOUT, depth=32)
    packets = [bytes(30 * 8), bytes(30 * 8) + b"$", b"$" * 32 * 8]

    async def producer(ctx):
        for packet in packets:
            await send(ctx, dut, packet)

    async def consumer(ctx):
        await idle(ctx, 300)
        assert ctx.get(dut.room) == 0
        assert from_beats(await collect(ctx, dut.o, 30 + 31 + 32)) == packets

    simulate(dut, producer, consumer)


def test_an_aborted_packet_gives_its_room_back():
    dut = CommitFifo(LAYOUT, depth=8, drop_when_full=True)

    async def bench(ctx):
        for beats in (1, 3, 8):
            assert not await send(ctx, dut, octets(beats), abort=True)
            assert ctx.get(dut.room) == 8
        assert not await send(ctx, dut, octets(9), abort=True)  # aborted, not dropped
        await send(ctx, dut, octets(8))
        assert from_beats(await drain(ctx, dut)) == [octets(8)]

    simulate(dut, bench)


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(1, 10), st.booleans(), st.integers(0, 9)), max_size=25),
    st.lists(st.integers(0, 6), max_size=60),
    st.booleans(),
)
def test_what_stayed_comes_out(packets, pauses, drop_when_full):
    dut = CommitFifo(LAYOUT, depth=8, drop_when_full=drop_when_full)
    kept = []
    done = []

    async def producer(ctx):
        for number, (beats, abort, gap) in enumerate(packets):
            packet = octets(beats, 16 * number)
            dropped = await send(ctx, dut, packet, abort=abort, gap_after=beats // 2, gap=gap)
            assert not (abort and dropped)
            if beats > 8:
                assert abort or dropped
            elif not drop_when_full:
                assert not dropped
            if not (abort or dropped):
                kept.append(packet)
        done.append(True)

    async def consumer(ctx):
        received = []
        for pause in pauses:
            if dut_valid := ctx.get(dut.o.valid):
                received += await collect(ctx, dut.o, dut_valid, pauses=[pause])
            else:
                await ctx.tick()
        while not done:
            received += await drain(ctx, dut, 1)
        received += await drain(ctx, dut, 12)
        assert from_beats(received) == kept

    simulate(dut, producer, consumer, max_cycles=2_000)
