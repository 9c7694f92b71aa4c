"""Frames that are not for this block, on their way to the host."""

from operator import index

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.packet.beat import Beat, packet_signature
from mrcnic.hdl.packet.commit_fifo import CommitFifo
from mrcnic.hdl.packet.delay_line import DelayLine
from mrcnic.hdl.packet.keep import end_to_keep

from .frame import MAX_FRAME_OCTETS, FrameBeat

__all__ = ["HostPath", "HostVerdict", "host_beats"]

#: Frames that fit in the buffer, of the longest that the host is taken to send: jumbo frames,
#: unless the path MTU is one of ordinary Ethernet, where a frame has 1,500 octets and 22 around.
_FRAMES = 2
_ORDINARY_MTU = 1500
_ORDINARY_FRAME = _ORDINARY_MTU + 22

#: Beats that a block RAM has rows for at its widest.
_BEATS_MIN = 512


def host_beats(config: NicConfig) -> int:
    """Return the size of the host's buffer, in beats.

    Examples
    --------
    >>> host_beats(NicConfig()), host_beats(NicConfig(mtu=1024, beat_octets=8))
    (512, 512)
    """
    octets = MAX_FRAME_OCTETS if config.mtu > _ORDINARY_MTU else _ORDINARY_FRAME
    beats = _FRAMES * -(-octets // config.beat_octets)
    return max(_BEATS_MIN, 1 << (beats - 1).bit_length())


class HostVerdict(data.StructLayout):
    """What becomes of a frame.

    Members
    -------
    valid : 1
        There is a verdict.
    foreign : 1
        The frame goes to the host.
    late : 1
        The verdict comes a cycle later after the frame's last beat than others do.
    """

    def __init__(self):
        super().__init__({"valid": 1, "foreign": 1, "late": 1})


class HostPath(wiring.Component):
    """Keep every frame until the verdict on it, and hand on those that are foreign, as they came.

    A frame that finds no room is dropped whole. The MAC never waits, nor does anything else, for
    the host. One beat per cycle passes, without a bubble between frames, whatever their length.
    The first beat of a frame comes out ``delay + 3`` cycles after its last one came in.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    delay : :class:`int`
        Cycles from the last beat of a frame to a late verdict on it.

    Members
    -------
    i : ``In(FrameBeat(config))``
        Frames.
    verdict : ``In(HostVerdict())``
        One for each frame, ``delay`` cycles after its last beat if it is late, and one less
        otherwise.
    o : ``Out(packet_signature(config.beat_octets))``
        Foreign frames.
    events : ``Out(StructLayout({"rx_to_host": 1, "rx_host_no_room": 1}))``
        A foreign frame was kept, or dropped because the buffer is full.
    """

    def __init__(self, config: NicConfig, *, delay: int):
        self.config = config
        self.delay = index(delay)
        super().__init__({
            "i": In(FrameBeat(config)),
            "verdict": In(HostVerdict()),
            "o": Out(packet_signature(config.beat_octets)),
            "events": Out(data.StructLayout({"rx_to_host": 1, "rx_host_no_room": 1})),
        })

    def elaborate(self, platform):
        m = Module()

        octets = self.config.beat_octets
        kept = data.StructLayout({"last": 1, "end": range(octets), "data": 8 * octets})
        m.submodules.line = line = DelayLine(kept, delay=self.delay)
        m.submodules.fifo = fifo = CommitFifo(
            Beat(octets), depth=host_beats(self.config), drop_when_full=True
        )
        under_way = Signal(self.delay)  # valid bits of the line, the oldest on top
        m.d.sync += under_way.eq((under_way << 1) | self.i.valid)
        m.d.comb += [line.i[name].eq(self.i[name]) for name, _ in kept]

        # A verdict that is not late is that on the next frame, or comes a cycle too soon.
        sooner = Signal()
        is_foreign = Signal()
        m.d.sync += sooner.eq(self.verdict.foreign)
        is_late = self.verdict.valid & self.verdict.late
        m.d.comb += is_foreign.eq(Mux(is_late, self.verdict.foreign, sooner))
        m.d.comb += [
            fifo.i.valid.eq(under_way[-1]),
            fifo.i.payload.data.eq(line.o.data),
            fifo.i.payload.keep.eq(end_to_keep(line.o.end, octets)),
            fifo.i.payload.last.eq(line.o.last),
            fifo.abort.eq(~is_foreign),
        ]
        connect(m, fifo.o, flipped(self.o))

        ends = under_way[-1] & line.o.last & is_foreign
        m.d.sync += self.events.rx_to_host.eq(ends & ~fifo.dropped)
        m.d.sync += self.events.rx_host_no_room.eq(ends & fifo.dropped)

        return m
