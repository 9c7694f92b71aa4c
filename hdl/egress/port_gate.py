"""The end of a lane, which follows the state of its port."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.packet.beat import packet_signature

__all__ = ["PortGate"]


class PortGate(wiring.Component):
    """Pass packets while the port is up, and drop them while it is down.

    The state of the port is looked at between packets only: a packet that was started is finished,
    one that was not is dropped whole, as fast as it comes.

    Latency is one cycle; one beat per cycle passes, without a bubble between packets.

    Parameters
    ----------
    octets : :class:`int`
        Octets per beat.

    Members
    -------
    i : ``In(packet_signature(octets))``
        Packets.
    o : ``Out(packet_signature(octets))``
        Packets that pass.
    up : ``In(1)``
        The port is up.
    passed, dropped : ``Out(1)``
        Set for one cycle with the end of each packet that passes, or is dropped.
    """

    def __init__(self, *, octets: int):
        super().__init__({
            "i": In(packet_signature(octets)),
            "o": Out(packet_signature(octets)),
            "up": In(1),
            "passed": Out(1),
            "dropped": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        dropping = Signal()
        drops = Signal()
        moves = Signal()
        ends = Signal()
        m.d.comb += drops.eq(Mux(self.i.payload.first, ~self.up, dropping))
        m.d.comb += moves.eq(self.o.ready | ~self.o.valid)
        m.d.comb += self.i.ready.eq(moves | drops)
        m.d.comb += ends.eq(self.i.valid & self.i.ready & self.i.payload.last)
        m.d.comb += self.passed.eq(ends & ~drops)
        m.d.comb += self.dropped.eq(ends & drops)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += dropping.eq(drops)
        with m.If(moves):
            m.d.sync += self.o.valid.eq(self.i.valid & ~drops)
            with m.If(self.i.valid):
                m.d.sync += self.o.payload.eq(self.i.payload)

        return m
