"""From the clock of the engine to that of a MAC."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.packet.beat import Beat, packet_signature
from mrcnic.hdl.packet.commit_crossing import CommitCrossing

from .frame_limits import MAX_FRAME_OCTETS, crossing_depth

__all__ = ["LineOut"]


class LineOut(wiring.Component):
    """Take frames in the clock of the engine, and offer whole ones in that of a MAC.

    A MAC that has begun a frame must get a beat whenever it asks for one. So a frame is offered
    when it is whole, and then a beat is there in every cycle, whatever the ratio of the clocks.

    A frame longer than 9,216 octets is dropped. A frame under way when either domain is reset is
    dropped; frames that wait stay. While the MAC's clock stands still, ``i`` waits.

    The first beat is offered three cycles of ``sync`` and five of ``mac_tx`` after the last beat
    went in. A beat per cycle passes on both sides, without a bubble between frames.

    Clock domains are ``sync`` and ``mac_tx``.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(packet_signature(beat_octets))``
        Frames, in ``sync``; idle beats inside a frame do no harm.
    o : ``Out(packet_signature(beat_octets))``
        Frames for the MAC, in ``mac_tx``.
    events : ``Out(StructLayout({"tx_line_oversize": 1}))``
        In ``sync``: a frame was dropped.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "i": In(packet_signature(config.beat_octets)),
            "o": Out(packet_signature(config.beat_octets)),
            "events": Out(data.StructLayout({"tx_line_oversize": 1})),
        })

    def elaborate(self, platform):
        m = Module()

        octets = self.config.beat_octets
        beats_max = MAX_FRAME_OCTETS // octets
        m.submodules.crossing = crossing = CommitCrossing(
            Beat(octets), depth=crossing_depth(octets), i_domain="sync", o_domain="mac_tx"
        )
        connect(m, flipped(self.i), crossing.i)
        connect(m, crossing.o, flipped(self.o))

        count = Signal(range(beats_max + 1))  # beats before this one, up to too many
        place = Signal.like(count)
        long = Signal()
        moved = Signal()
        m.d.comb += place.eq(Mux(self.i.payload.first, 0, count))
        m.d.comb += long.eq(place == beats_max)
        m.d.comb += moved.eq(self.i.valid & self.i.ready)
        with m.If(moved):
            m.d.sync += count.eq(Mux(long, place, place + 1))
        m.d.comb += crossing.abort.eq(long)
        m.d.comb += self.events.tx_line_oversize.eq(moved & self.i.payload.last & long)

        return m
