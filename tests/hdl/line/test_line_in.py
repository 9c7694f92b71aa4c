# amaranth: UnusedElaboratable=no
"""From a MAC: whole frames or nothing, at line rate, and each that is dropped is counted."""

import random

import pytest
from line_bench import ENGINE, MAC, OVERHEAD, LineBench, frame, idle, line_beats, reset

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.line.frame_checker import FrameChecker
from mrcnic.hdl.line.line_in import LINE_IN_EVENTS, LineIn
from mrcnic.hdl.packet.beat import Beat
from mrcnic.sim.bench.packets import from_beats
from mrcnic.sim.bench.streams import simulate


class Wire(LineBench):
    """Frames through a LineIn; ``received``, ``bad`` and ``counts`` say what came of them."""

    def __init__(self, octets=64):
        super().__init__(LineIn(NicConfig(beat_octets=octets)), mac="mac_rx")
        self.octets = octets
        self.layout = Beat(octets, user_shape=1)
        self.beats = []
        self.counts = dict.fromkeys(LINE_IN_EVENTS, 0)
        self.done = False

    async def send(self, ctx, packet, *, bad=0, start=0, stop=None):
        await self.put(ctx, line_beats(self.octets, packet, bad=bad)[start:stop])

    async def put(self, ctx, beats, pause=0):
        for beat in beats:
            ctx.set(self.dut.i.payload.as_value(), beat)
            ctx.set(self.dut.i.valid, 1)
            await ctx.tick("mac_rx")
            ctx.set(self.dut.i.valid, 0)
            await idle(ctx, "mac_rx", pause)

    async def lane(self, ctx):
        """Take all that comes, as a lane does, until nothing has come for long after the end."""
        dut = self.dut
        ctx.set(dut.o.ready, 1)
        quiet = 0
        trigger = ctx.tick().sample(dut.o.valid, dut.o.payload.as_value(), dut.events.as_value())
        while not self.done or quiet < 160:
            _, in_reset, valid, beat, events = await trigger
            quiet = 0 if valid or events or not self.done else quiet + 1
            if valid and not in_reset:
                self.beats.append(beat)
            for n, name in enumerate(LINE_IN_EVENTS if events and not in_reset else ()):
                self.counts[name] += events >> n & 1

    def run(self, mac, **clocks):
        async def wrapped(ctx):
            await mac(ctx)
            self.done = True

        benches = [wrapped, self.lane]
        simulate(self.m, *benches, clocks=self.clocks(**clocks), max_cycles=100_000)

    @property
    def received(self):
        return from_beats(map(self.layout.from_bits, self.beats))

    def counted(self, **expected):
        assert self.counts == dict.fromkeys(LINE_IN_EVENTS, 0) | expected


@pytest.mark.parametrize("octets", [4, 256, 48])
def test_checker_octets_are_checked(octets):
    with pytest.raises(ValueError, match=f"power of two from 8 to 128, not {octets}"):
        FrameChecker(octets=octets)


@pytest.mark.parametrize("octets", [8, 32, 64, 128])
def test_lengths(octets):
    """One octet too short, the shortest, the longest, one octet and many too long; all intact."""
    wire = Wire(octets)
    lengths = [59, 60, 61, 9216, 9217, 64]
    if octets >= 64:
        lengths += [9215, 16384, 60]

    async def mac(ctx):
        for seed, length in enumerate(lengths):
            await wire.send(ctx, frame(length, seed))

    wire.run(mac, engine=3.0)  # beats come in every cycle, more than a line of 100 Gb/s carries
    good = [n for n, length in enumerate(lengths) if 60 <= length <= 9216]
    assert wire.received == [frame(lengths[n], n) for n in good]
    wire.counted(rx_line_runt=1, rx_line_oversize=2 if octets >= 64 else 1)


@pytest.mark.parametrize("octets", [8, 64])
@pytest.mark.parametrize("length", [1, 8, 58])
def test_every_runt_of_many_back_to_back_is_counted(octets, length):
    """More events than there are cycles of the engine."""
    wire = Wire(octets)

    async def mac(ctx):
        for _ in range(200):
            await wire.send(ctx, frame(length))

    wire.run(mac, engine=9.1)
    assert wire.received == []
    wire.counted(rx_line_runt=200)


@pytest.mark.parametrize("bad", [0, 1])
def test_a_frame_that_the_mac_calls_bad_passes_with_its_mark(bad):
    wire = Wire()

    async def mac(ctx):
        await wire.send(ctx, frame(200), bad=bad)
        await wire.send(ctx, frame(60), bad=1 - bad)

    wire.run(mac)
    assert wire.received == [frame(200), frame(60)]
    users = [beat.user for beat in map(wire.layout.from_bits, wire.beats) if beat.last]
    assert users == [bad, 1 - bad]
    wire.counted()


@pytest.mark.parametrize("beat", [0, 1, 2])
@pytest.mark.parametrize("keep", [0, 1, 2**63 - 1])
def test_b130_beats_that_are_empty_or_not_full_in_the_middle(beat, keep):
    """The last of the three beats may have any octets but none."""
    wire = Wire()
    beats = line_beats(64, frame(192), bad=0)
    beats[beat] &= ~(2**64 - 1 << 512)
    beats[beat] |= keep << 512

    async def mac(ctx):
        await wire.put(ctx, beats)
        await wire.send(ctx, frame(77))

    wire.run(mac)
    fine = beat == 2 and keep
    assert wire.received == [frame(128 + keep.bit_length())] * bool(fine) + [frame(77)]
    wire.counted(rx_line_malformed=int(not fine))


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_frame_without_end_and_an_end_without_start(cut):
    wire = Wire()

    async def mac(ctx):
        await wire.send(ctx, frame(250, 1), stop=cut)
        await wire.send(ctx, frame(250, 2))
        await wire.send(ctx, frame(250, 3), start=cut)
        await wire.send(ctx, frame(61, 4))

    wire.run(mac)
    assert wire.received == [frame(250, 2), frame(61, 4)]
    wire.counted(rx_line_torn=2)


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_reset_of_the_mac_side_within_a_frame(cut):
    """The frames before it arrive; its rest, if it comes at all, is one event."""
    wire = Wire()

    async def mac(ctx):
        await wire.send(ctx, frame(300, 1))
        await wire.send(ctx, frame(250, 2), stop=cut)
        await reset(ctx, wire.mac, 3)
        await wire.send(ctx, frame(250, 2), start=cut)
        await wire.send(ctx, frame(60, 3))
        await wire.send(ctx, frame(250, 4), stop=cut)
        await reset(ctx, wire.mac, 3)
        await wire.send(ctx, frame(60, 5))

    wire.run(mac)
    assert wire.received == [frame(300, 1), frame(60, 3), frame(60, 5)]
    wire.counted(rx_line_torn=1)


def test_reset_of_the_engine_within_a_frame():
    wire = Wire()

    async def mac(ctx):
        await wire.send(ctx, frame(9216, 1))
        await idle(ctx, "mac_rx", 40)
        taken = len(wire.beats)
        assert 0 < taken < 144
        await reset(ctx, wire.sync, 2)
        del wire.beats[:]
        await wire.send(ctx, frame(640, 2))

    wire.run(mac)
    assert wire.received == [frame(640, 2)]
    wire.counted()


def test_frames_that_find_no_room_are_dropped_whole():
    """A slow engine, and 7 frames of 100 beats where 512 have room."""
    wire = Wire()
    packets = [frame(64 * 100, seed) for seed in range(7)]

    async def mac(ctx):
        for packet in packets:
            await wire.send(ctx, packet)
        await idle(ctx, "sync", 100)
        await wire.send(ctx, frame(100, 99))

    wire.run(mac, engine=10 * ENGINE)
    assert wire.received == [*packets[:5], frame(100, 99)]
    wire.counted(rx_line_no_room=2)


@pytest.mark.parametrize(
    ("lengths", "count"),
    [
        pytest.param((60, 60), 300, id="shortest"),
        pytest.param((65, 65), 500, id="second-beat-almost-empty"),
        pytest.param((76, 76), 300, id="shortest-of-two-beats-for-ever"),
        pytest.param((9216, 9216), 5, id="longest"),
        pytest.param((60, 1518), 40, id="mixed"),
    ],
)
def test_nothing_is_dropped_at_100_gigabits(lengths, count):
    """The MAC hands over a frame's beats in a run, and starts each when the line has come to it."""
    rng = random.Random(3)
    wire = Wire()
    packets = [frame(rng.randint(*lengths), seed) for seed in range(count)]

    async def mac(ctx):
        due = now = 0.0  # in nanoseconds
        for packet in packets:
            while now < due:
                await ctx.tick("mac_rx")
                now += MAC
            due += (len(packet) + OVERHEAD) * 8 / 100
            await wire.send(ctx, packet)
            now += MAC * -(-len(packet) // 64)

    wire.run(mac, engine=ENGINE, phase=rng.random())
    assert wire.received == packets
    wire.counted()


def test_line_in_latency():
    """Clocks of one frequency: a frame of one beat, four cycles and five."""
    wire = Wire()
    seen = []

    async def mac(ctx):
        await wire.send(ctx, frame(60))

    async def lane(ctx):
        ctx.set(wire.dut.o.ready, 1)
        for cycle in range(20):
            _, _, valid = await ctx.tick().sample(wire.dut.o.valid)
            if valid:
                seen.append(cycle)

    simulate(wire.m, mac, lane, clocks=wire.clocks(mac=4.0, engine=4.0, phase=0.4))
    assert seen == [8]  # edge 0 takes the beat, 3 sends the news, 3 to 7 fetch it
