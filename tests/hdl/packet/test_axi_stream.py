import random

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.packet.axi_stream import FromAxiStream, ToAxiStream
from mrcnic.hdl.packet.beat import Beat, packet_signature
from mrcnic.sim.bench.packets import from_beats, to_beats
from mrcnic.sim.bench.streams import collect, drive, simulate


class ThereAndBack(wiring.Component):
    """Packets to AXI4-Stream, with the starts forgotten, and back."""

    def __init__(self, octets):
        self.octets = octets
        super().__init__({
            "i": In(packet_signature(octets)),
            "o": Out(packet_signature(octets, user_shape=1)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.there = there = ToAxiStream(octets=self.octets)
        m.submodules.back = back = FromAxiStream(octets=self.octets)
        connect(m, flipped(self.i), there.i)
        for name in ("tdata", "tkeep", "tvalid", "tlast"):
            m.d.comb += getattr(back.i, name).eq(getattr(there.o, name))
        m.d.comb += there.o.tready.eq(back.i.tready)
        m.d.comb += back.i.tuser.eq(there.o.tlast)
        connect(m, back.o, flipped(self.o))
        return m


@pytest.mark.parametrize("octets", [8, 64])
def test_starts_are_found_again(octets):
    rng = random.Random(1)
    packets = [rng.randbytes(rng.randint(1, 3 * octets)) for _ in range(30)]
    beats = [beat for packet in packets for beat in to_beats(packet, Beat(octets))]
    dut = ThereAndBack(octets)

    async def producer(ctx):
        await drive(ctx, dut.i, beats, pauses=[rng.randint(0, 1) for _ in beats])

    async def consumer(ctx):
        received = await collect(ctx, dut.o, len(beats), pauses=[rng.randint(0, 2) for _ in beats])
        assert from_beats(received) == packets
        assert all(beat.user == beat.last for beat in received)

    simulate(dut, producer, consumer)
