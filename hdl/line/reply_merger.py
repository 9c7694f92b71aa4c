"""Replies between the frames of the host."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.packet.beat import packet_signature

__all__ = ["ReplyMerger"]


class ReplyMerger(wiring.Component):
    """Merge two streams of frames, frame by frame and in turns where both have one.

    A frame that has begun is finished first, however long it pauses. Latency is one cycle; one beat
    per cycle passes, without a bubble between frames.

    Parameters
    ----------
    octets : :class:`int`
        Octets per beat.

    Members
    -------
    i_host, i_reply : ``In(packet_signature(octets))``
        Frames.
    o : ``Out(packet_signature(octets))``
        All of them.
    """

    def __init__(self, *, octets: int):
        super().__init__({
            "i_host": In(packet_signature(octets)),
            "i_reply": In(packet_signature(octets)),
            "o": Out(packet_signature(octets)),
        })

    def elaborate(self, platform):
        m = Module()

        inside = Signal()
        was_reply = Signal()  # the frame under way, or else the last one
        is_reply = Signal()
        move = Signal()
        m.d.comb += is_reply.eq(
            Mux(inside, was_reply, self.i_reply.valid & ~(was_reply & self.i_host.valid))
        )
        m.d.comb += move.eq(self.o.ready | ~self.o.valid)
        m.d.comb += self.i_host.ready.eq(move & ~is_reply)
        m.d.comb += self.i_reply.ready.eq(move & is_reply)
        with m.If(move):
            m.d.sync += self.o.valid.eq(Mux(is_reply, self.i_reply.valid, self.i_host.valid))
            with m.If(is_reply):
                m.d.sync += self.o.payload.eq(self.i_reply.payload)
            with m.Else():
                m.d.sync += self.o.payload.eq(self.i_host.payload)
            with m.If(Mux(is_reply, self.i_reply.valid, self.i_host.valid)):
                m.d.sync += was_reply.eq(is_reply)
                m.d.sync += inside.eq(
                    ~Mux(is_reply, self.i_reply.payload.last, self.i_host.payload.last)
                )

        return m
