"""The end of a lane, where packets and the host's frames take turns."""

from operator import index

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.packet.beat import packet_signature

__all__ = ["PAUSE_BITS", "LaneExit"]

#: Pauses of the MAC: one for each of eight priorities, then the one of all frames.
PAUSE_BITS = 9


class LaneExit(wiring.Component):
    """Send packets and the host's frames, one after the other, while the port is up.

    Packets go first. But a frame that waits while others are sent gets a turn after
    ``host_turns`` packets, and after one if that is 0; behind a frame, a packet that waits is
    next. So a frame waits for at most as many packets, and a packet for one frame.

    No frame is started while the MAC pauses all frames, or the priority of this one. A frame whose
    priority is paused does not hold up the other one. The state of the port and of pauses is looked
    at between frames only: what was started is finished. While the port is down, frames are
    dropped whole, as fast as they come.

    Latency is one cycle; one beat per cycle passes, without a bubble between frames.

    Parameters
    ----------
    octets : :class:`int`
        Octets per beat.

    Members
    -------
    packets : ``In(packet_signature(octets, user_shape=1))``
        Packets, without idle beats; ``user`` says that the role is CONTROL.
    host : ``In(packet_signature(octets))``
        The host's frames, without idle beats.
    o : ``Out(packet_signature(octets))``
        What is sent.
    up : ``In(1)``
        The port is up.
    pause : ``In(PAUSE_BITS)``
        Pauses that count.
    control_priority, data_priority : ``In(3)``
        Priority of packets in the role CONTROL, and of all others and the host's frames.
    host_turns : ``In(8)``
        As above.
    sent, dropped : ``Out(StructLayout({"packet": 1, "host": 1}))``
        Set for one cycle with the end of what is sent, or dropped.
    paused : ``Out(1)``
        In this cycle, something is not started because of a pause.
    """

    def __init__(self, *, octets: int):
        self.octets = index(octets)
        kinds = data.StructLayout({"packet": 1, "host": 1})
        super().__init__({
            "packets": In(packet_signature(self.octets, user_shape=1)),
            "host": In(packet_signature(self.octets)),
            "o": Out(packet_signature(self.octets)),
            "up": In(1),
            "pause": In(PAUSE_BITS),
            "control_priority": In(3),
            "data_priority": In(3),
            "host_turns": In(8),
            "sent": Out(kinds),
            "dropped": Out(kinds),
            "paused": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        inside = Signal()
        inside_host = Signal()
        dropping = Signal()

        # What may be started.
        stops = Signal(2)  # by priority: of the role CONTROL, of all others
        may_send, may_host = Signal(), Signal()
        for n, priority in enumerate((self.control_priority, self.data_priority)):
            m.d.sync += stops[n].eq(self.pause[-1] | (self.pause[:-1] >> priority)[0])
        m.d.comb += may_send.eq(~self.up | ~Mux(self.packets.payload.user, stops[0], stops[1]))
        m.d.comb += may_host.eq(~self.up | ~stops[1])

        # Whose turn it is.
        turns = Signal(8)  # packets sent since the last frame of the host, up to as many as count
        due = Signal()
        chosen_host = Signal()
        starts = Signal()
        m.d.comb += due.eq((turns != 0) & (turns >= self.host_turns))
        m.d.comb += chosen_host.eq(
            self.host.valid & may_host & (due | ~(self.packets.valid & may_send))
        )
        is_host = Signal()
        m.d.comb += is_host.eq(Mux(inside, inside_host, chosen_host))

        # One beat of it.
        offered = Signal()
        drops = Signal()
        moves = Signal()
        taken = Signal()
        last = Signal()
        m.d.comb += offered.eq(
            Mux(is_host, self.host.valid, self.packets.valid & (inside | may_send))
        )
        m.d.comb += drops.eq(Mux(inside, dropping, ~self.up))
        m.d.comb += moves.eq(self.o.ready | ~self.o.valid)
        m.d.comb += taken.eq(offered & (moves | drops))
        m.d.comb += self.host.ready.eq(is_host & taken)
        m.d.comb += self.packets.ready.eq(~is_host & taken)
        m.d.comb += last.eq(Mux(is_host, self.host.payload.last, self.packets.payload.last))
        m.d.comb += starts.eq(taken & ~inside)
        with m.If(taken):
            m.d.sync += inside.eq(~last)
            m.d.sync += inside_host.eq(is_host)
            m.d.sync += dropping.eq(drops)
        with m.If(starts & is_host):
            m.d.sync += turns.eq(0)
        with m.Elif(starts & self.host.valid & ~due):
            m.d.sync += turns.eq(turns + 1)

        with m.If(moves):
            m.d.sync += self.o.valid.eq(offered & ~drops)
            for name in ("data", "keep", "first", "last"):
                with m.If(is_host):
                    m.d.sync += self.o.payload[name].eq(self.host.payload[name])
                with m.Else():
                    m.d.sync += self.o.payload[name].eq(self.packets.payload[name])

        ends = taken & last
        m.d.comb += self.sent.packet.eq(ends & ~drops & ~is_host)
        m.d.comb += self.sent.host.eq(ends & ~drops & is_host)
        m.d.comb += self.dropped.packet.eq(ends & drops & ~is_host)
        m.d.comb += self.dropped.host.eq(ends & drops & is_host)
        m.d.comb += self.paused.eq(
            ~inside & ((self.packets.valid & ~may_send) | (self.host.valid & ~may_host))
        )

        return m
