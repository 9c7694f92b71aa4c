"""From the clock of a MAC to that of the engine."""

from amaranth.hdl import DomainRenamer, Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.packet.beat import Beat, packet_signature
from mrcnic.hdl.packet.commit_crossing import CommitCrossing

from .event_crossing import EventCrossing
from .frame_checker import SHAPE_EVENTS, FrameChecker
from .frame_limits import crossing_depth

__all__ = ["LINE_IN_EVENTS", "LineIn"]

#: Reasons to drop a frame between MAC and lane.
LINE_IN_EVENTS = (*SHAPE_EVENTS, "rx_line_no_room")


class LineIn(wiring.Component):
    """Take frames in the clock of a MAC, and hand on whole ones in that of the engine.

    The MAC never waits. Frames of a bad shape (:class:`.FrameChecker`) are dropped, and so is one
    that finds the crossing full, each with one event and without a trace of it in ``o``. Those
    that the MAC itself calls bad pass, for the lane to count. A frame under way when either domain
    is reset is dropped.

    A frame is handed on when it has arrived: its first beat comes four cycles of ``mac_rx`` and
    five of ``sync`` after its last beat went in. Its beats come in consecutive cycles for as long
    as ``o`` is ready, and frames without a gap, so a beat per cycle of ``sync`` passes. With beats
    of 64 octets and 250 MHz that carries 100 Gb/s at any length but 65 to 75 octets, whose second
    beat is nearly empty; of these, the crossing takes up more than 1,000 in a row at line rate.
    With 281 MHz or more there is no such gap.

    Clock domains are ``mac_rx`` and ``sync``.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(packet_signature(beat_octets, user_shape=1))``
        Frames from the MAC, without frame check sequence, in ``mac_rx``. ``user`` in the last beat:
        the MAC says that the frame is bad. ``ready`` is always set.
    o : ``Out(packet_signature(beat_octets, user_shape=1))``
        Frames for the lane, in ``sync``; ``user`` counts in the last beat, too.
    events : ``Out(StructLayout(...))``
        One-cycle pulses in ``sync``, named in :data:`LINE_IN_EVENTS`.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "i": In(packet_signature(config.beat_octets, user_shape=1)),
            "o": Out(packet_signature(config.beat_octets, user_shape=1)),
            "events": Out(data.StructLayout(dict.fromkeys(LINE_IN_EVENTS, 1))),
        })

    def elaborate(self, platform):
        m = Module()

        octets = self.config.beat_octets
        domains = {"i_domain": "mac_rx", "o_domain": "sync"}
        checker = FrameChecker(octets=octets)
        m.submodules.checker = DomainRenamer("mac_rx")(checker)
        m.submodules.crossing = crossing = CommitCrossing(
            Beat(octets, user_shape=1), depth=crossing_depth(octets), drop_when_full=True, **domains
        )
        m.submodules.events = events = EventCrossing(LINE_IN_EVENTS, **domains)
        connect(m, flipped(self.i), checker.i)
        connect(m, checker.o, crossing.i)
        m.d.comb += crossing.abort.eq(checker.abort)
        connect(m, crossing.o, flipped(self.o))

        for name in SHAPE_EVENTS:
            m.d.comb += events.i[name].eq(checker.events[name])
        m.d.comb += events.i.rx_line_no_room.eq(crossing.dropped)
        m.d.comb += self.events.eq(events.o)

        return m
