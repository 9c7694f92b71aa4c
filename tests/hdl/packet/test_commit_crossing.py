# amaranth: UnusedElaboratable=no
"""Nothing unfinished, aborted or torn crosses, whatever the clocks do, and all else does."""

import random

import pytest
from amaranth.hdl import ClockDomain, Module
from hypothesis import given, settings
from hypothesis import strategies as st

from mrcnic.hdl.packet.beat import Beat
from mrcnic.hdl.packet.commit_crossing import CommitCrossing
from mrcnic.hdl.packet.gray_crossing import GrayCrossing
from mrcnic.sim.bench.packets import from_beats, to_beats
from mrcnic.sim.bench.streams import collect, drive, simulate

LAYOUT = Beat(8)
DOMAINS = {"i_domain": "write", "o_domain": "read"}

#: Periods, in nanoseconds: 322.265625 MHz and 250 MHz, and far apart.
RATIOS = [(3.103, 4.0), (4.0, 3.103), (1.0, 7.3), (7.3, 1.0), (4.0, 4.0)]


def clocks(write, read, phase=0.37):
    return {"write": (write * 1e-9, phase * write * 1e-9), "read": (read * 1e-9, 0.5e-9 * read)}


def octets(beats, fill=0):
    """Make a packet of so many beats, the last of which is not full."""
    return bytes((fill + n) & 0xFF for n in range(8 * beats - 3))


def beats_of(packets, layout=LAYOUT):
    return [beat for packet in packets for beat in to_beats(packet, layout)]


class Bench:
    """A crossing whose resets can be set."""

    def __init__(self, **options):
        self.m = Module()
        self.write = ClockDomain("write")
        self.read = ClockDomain("read")
        self.m.domains += self.write, self.read
        self.m.submodules.dut = self.dut = CommitCrossing(LAYOUT, **options, **DOMAINS)

    async def put(self, ctx, beats, *, abort=False):
        dut = self.dut
        dropped = 0
        for beat in beats:
            ctx.set(dut.i.payload, beat)
            ctx.set(dut.i.valid, 1)
            ctx.set(dut.abort, abort if beat.last else 1)  # before the last beat it means nothing
            (now_dropped,) = await ctx.tick("write").sample(dut.dropped).until(dut.i.ready)
            dropped += now_dropped
            ctx.set(dut.i.valid, 0)
        return dropped

    async def drain(self, ctx, cycles=100):
        dut = self.dut
        ctx.set(dut.o.ready, 1)
        beats = []
        for _ in range(cycles):
            _, reset, valid, beat = await ctx.tick("read").sample(dut.o.valid, dut.o.payload)
            if valid and not reset:
                beats.append(beat)
        ctx.set(dut.o.ready, 0)
        return beats

    async def reset(self, ctx, domain, cycles):
        ctx.set(domain.rst, 1)
        for _ in range(cycles):
            await ctx.tick(domain.name)
        ctx.set(domain.rst, 0)


async def idle(ctx, domain, cycles):
    for _ in range(cycles):
        await ctx.tick(domain)


@pytest.mark.parametrize("depth", [0, 2, 12, 8192])
def test_crossing_depth_is_checked(depth):
    with pytest.raises(ValueError, match=f"power of two from 4 to 4096, not {depth}"):
        CommitCrossing(LAYOUT, depth=depth, **DOMAINS)


def test_gray_crossing_bits_are_checked():
    with pytest.raises(ValueError, match="bits must be at least 1, not 0"):
        GrayCrossing(bits=0, **DOMAINS)


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize(("beat_octets", "chance"), [(8, 0), (64, 0.4)])
def test_packets_cross_unchanged(ratio, beat_octets, chance):
    rng = random.Random(0)
    layout = Beat(beat_octets, user_shape=4)
    packets = [rng.randbytes(rng.randint(1, 12 * beat_octets)) for _ in range(30)]
    beats = []
    for number, packet in enumerate(packets):
        beats += to_beats(packet, layout, user=number % 16)
    dut = CommitCrossing(layout, depth=16, **DOMAINS)

    def pauses():
        while True:
            yield rng.randint(1, 3) if rng.random() < chance else 0

    async def producer(ctx):
        await drive(ctx, dut.i, beats, pauses=pauses(), domain="write")

    async def consumer(ctx):
        received = await collect(ctx, dut.o, len(beats), pauses=pauses(), domain="read")
        assert from_beats(received) == packets
        assert [beat.user for beat in received if beat.first] == [n % 16 for n in range(30)]

    simulate(dut, producer, consumer, clocks=clocks(*ratio))


@pytest.mark.parametrize("beats", [1, 2, 5])
def test_crossing_latency_and_rate(beats):
    """Clocks of one frequency: three and five cycles, then a beat in each."""
    bench = Bench(depth=64)
    dut = bench.dut
    seen = []

    async def producer(ctx):
        await bench.put(ctx, beats_of([octets(beats)] * 4))

    async def consumer(ctx):
        ctx.set(dut.o.ready, 1)
        for cycle in range(50):
            _, _, valid = await ctx.tick("read").sample(dut.o.valid)
            if valid:
                seen.append(cycle)

    # The reader's edge comes a little after the writer's.
    simulate(bench.m, producer, consumer, clocks=clocks(4, 4, phase=0.4))
    # The last beat goes in at edge `beats - 1`. Two edges later the news is out, in the same cycle
    # five edges of the reader begin, and the next one takes the beat.
    start = beats - 1 + 2 + 5
    assert seen == [*range(start, start + 4 * beats)]


@pytest.mark.parametrize("ratio", RATIOS)
def test_no_idle_beat_inside_a_packet(ratio):
    """The writer pauses in each packet; the reader never has to."""
    bench = Bench(depth=64)
    dut = bench.dut
    rng = random.Random(2)
    beats = beats_of([octets(rng.randint(1, 30)) for _ in range(20)])

    async def producer(ctx):
        pauses = [rng.randint(0, 3) for _ in beats]
        await drive(ctx, dut.i, beats, pauses=pauses, domain="write")

    async def consumer(ctx):
        ctx.set(dut.o.ready, 1)
        inside = False
        count = 0
        while count < len(beats):
            _, _, valid, last = await ctx.tick("read").sample(dut.o.valid, dut.o.payload.last)
            assert valid or not inside
            count += valid
            inside = valid and not last

    simulate(bench.m, producer, consumer, clocks=clocks(*ratio), max_cycles=20_000)


@pytest.mark.parametrize(("beats", "fits"), [(16, True), (17, False)])
@pytest.mark.parametrize("drop_when_full", [False, True])
def test_b112_a_packet_larger_than_the_memory_is_dropped(drop_when_full, beats, fits):
    bench = Bench(depth=16, drop_when_full=drop_when_full)

    async def main(ctx):
        assert await bench.put(ctx, beats_of([octets(beats)])) == (not fits)
        await idle(ctx, "read", 30)
        received = await bench.drain(ctx)
        assert not await bench.put(ctx, beats_of([octets(3)]))
        received += await bench.drain(ctx)
        assert from_beats(received) == [octets(beats)] * fits + [octets(3)]

    simulate(bench.m, main, clocks=clocks(3.1, 4))


def test_b104_b107_room_again_before_the_end_of_a_packet_that_did_not_fit():
    """Nothing is read until the packet overruns; then there is room, and a gap in it."""
    bench = Bench(depth=8, drop_when_full=True)

    async def main(ctx):
        assert not await bench.put(ctx, beats_of([octets(6)]))
        await idle(ctx, "read", 10)
        torn = to_beats(octets(9, 0x40), LAYOUT)
        assert not await bench.put(ctx, torn[:5])
        received = await bench.drain(ctx)
        assert await bench.put(ctx, torn[5:]) == 1
        assert not await bench.put(ctx, beats_of([octets(8, 0x80)]))
        received += await bench.drain(ctx)
        assert from_beats(received) == [octets(6), octets(8, 0x80)]

    simulate(bench.m, main, clocks=clocks(3.1, 4))


def test_a_start_takes_the_place_of_a_packet_without_end():
    bench = Bench(depth=16)

    async def main(ctx):
        await bench.put(ctx, to_beats(octets(5, 0x20), LAYOUT)[:3])
        await bench.put(ctx, beats_of([octets(4)]))
        await bench.put(ctx, to_beats(octets(4, 0x40), LAYOUT)[2:])  # an end without a start
        await bench.put(ctx, beats_of([octets(2, 0x60)]))
        assert from_beats(await bench.drain(ctx)) == [octets(4), octets(2, 0x60)]

    simulate(bench.m, main, clocks=clocks(3.1, 4))


@pytest.mark.parametrize("cycles", [1, 5])
def test_b139_a_reset_of_the_writer_drops_what_is_not_whole(cycles):
    bench = Bench(depth=16)

    async def main(ctx):
        await bench.put(ctx, beats_of([octets(1)]))
        torn = to_beats(octets(9, 0x40), LAYOUT)
        await bench.put(ctx, torn[:5])
        await bench.reset(ctx, bench.write, cycles)
        await bench.put(ctx, torn[5:])  # whoever sends it was not reset
        await bench.put(ctx, beats_of([octets(2, 0x80)]))
        assert from_beats(await bench.drain(ctx)) == [octets(1), octets(2, 0x80)]

    simulate(bench.m, main, clocks=clocks(3.1, 4))


@pytest.mark.parametrize("cycles", [1, 5])
@pytest.mark.parametrize("taken", range(8))
def test_b110_a_reset_of_the_reader_drops_what_it_had_begun(taken, cycles):
    """Three packets of 2, 1 and 3 beats; the reset comes when so many beats have been taken."""
    bench = Bench(depth=16)
    packets = [octets(2), octets(1, 0x40), octets(3, 0x80), octets(4, 0xC0)]
    ends = [2, 3, 6]

    async def main(ctx):
        await bench.put(ctx, beats_of(packets[:3]))
        if taken:
            await collect(ctx, bench.dut.o, min(taken, 6), domain="read")
        await idle(ctx, "read", 20)
        await bench.reset(ctx, bench.read, cycles)
        received = await bench.drain(ctx)
        # What was offered is gone, begun or not; what was not is there.
        begun = next((n for n, end in enumerate(ends) if taken < end), 3)
        assert from_beats(received) == packets[begun + 1 : 3]
        await bench.put(ctx, beats_of(packets[3:]))
        assert from_beats(await bench.drain(ctx)) == packets[3:]

    simulate(bench.m, main, clocks=clocks(3.1, 4))


@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_any_mixture(data):
    """Aborts, packets without end, pauses and clocks: whole packets come, each intact, in order."""
    ratio = data.draw(st.tuples(st.floats(1, 4), st.floats(1, 4)))
    drop = data.draw(st.booleans())
    kinds = st.tuples(st.integers(1, 9), st.sampled_from(["good", "good", "abort", "cut", "tail"]))
    plan = data.draw(st.lists(kinds, min_size=1, max_size=15))
    pauses = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=8))
    bench = Bench(depth=8, drop_when_full=drop)
    wanted = []

    async def producer(ctx):
        is_cut = False  # a tail would end that packet
        for number, (size, kind) in enumerate(plan):
            beats = to_beats(octets(size, 16 * number), LAYOUT)
            if kind == "cut":
                await bench.put(ctx, beats[:-1])
                is_cut |= size > 1
            elif kind == "tail" and size > 1 and not is_cut:
                await bench.put(ctx, beats[1:])
            elif kind in ("good", "abort"):
                is_cut = False
                dropped = await bench.put(ctx, beats, abort=kind == "abort")
                assert not (dropped and kind == "abort")
                if kind == "good" and not dropped:
                    wanted.append(octets(size, 16 * number))
            await idle(ctx, "write", pauses[number % len(pauses)])

    async def consumer(ctx):
        received = []
        for turn in range(60):
            received += await bench.drain(ctx, cycles=4)
            await idle(ctx, "read", pauses[turn % len(pauses)])
        received += await bench.drain(ctx, cycles=900)
        assert from_beats(received) == wanted

    simulate(bench.m, producer, consumer, clocks=clocks(*ratio), max_cycles=40_000)
