"""Two streams of frames, in turns."""

import pytest
from line_bench import frame

from mrcnic.hdl.line.reply_merger import ReplyMerger
from mrcnic.hdl.packet.beat import Beat
from mrcnic.sim.bench.packets import from_beats, to_beats
from mrcnic.sim.bench.streams import collect, drive, simulate

LAYOUT = Beat(64)


@pytest.mark.parametrize(("sizes", "pause"), [((600, 90), 0), ((60, 60), 0), ((300, 200), 2)])
def test_turns(sizes, pause):
    """Each of two that always have a frame gets every other one, whatever pauses frames have."""
    dut = ReplyMerger(octets=64)
    host = [frame(sizes[0], n) for n in range(10)]
    replies = [frame(sizes[1], 100 + n) for n in range(10)]
    total = sum(-(-size // 64) for size in sizes) * 10

    def source(port, frames):
        async def send(ctx):
            beats = [beat for packet in frames for beat in to_beats(packet, LAYOUT)]
            # Pauses are inside frames: between them the stream would have nothing to offer.
            pauses = [0 if beat.first else pause for beat in beats]
            await drive(ctx, port, beats, pauses=pauses)

        return send

    async def sink(ctx):
        received = from_beats(await collect(ctx, dut.o, total))
        assert received[0::2] == replies
        assert received[1::2] == host

    cycles = total + 2 if not pause else 500
    simulate(dut, source(dut.i_host, host), source(dut.i_reply, replies), sink, max_cycles=cycles)
