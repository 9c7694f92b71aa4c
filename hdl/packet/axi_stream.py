"""Packet streams under the names of AXI4-Stream (AMBA AXI4-Stream specification, section 2)."""

from operator import index

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .beat import packet_signature

__all__ = ["FromAxiStream", "ToAxiStream", "axi_stream_signature"]


def axi_stream_signature(octets: int, *, user: bool = False) -> wiring.Signature:
    """Return the signature of an AXI4-Stream of packets, as its producer sees it.

    ``tuser``, where there is one, is a bit that counts in the last beat.
    """
    members = {
        "tdata": Out(8 * octets),
        "tkeep": Out(octets),
        "tvalid": Out(1),
        "tready": In(1),
        "tlast": Out(1),
    }
    if user:
        members["tuser"] = Out(1)
    return wiring.Signature(members)


class FromAxiStream(wiring.Component):
    """Mark where packets start, which AXI4-Stream does not say.

    No latency; every transfer passes in the cycle in which it is offered.

    Parameters
    ----------
    octets : :class:`int`
        Octets per beat.
    outlasts_reset : :class:`bool`
        A reset does not reach the producer, so what comes after it is not taken for a start.

    Members
    -------
    i : ``In(axi_stream_signature(octets, user=True))``
        Packets. Beats fill from octet 0 upwards, and only the last one may be partial.
    o : ``Out(packet_signature(octets, user_shape=1))``
        The same packets; ``user`` is ``tuser``.
    """

    def __init__(self, *, octets: int, outlasts_reset: bool = False):
        self.octets = index(octets)
        self.outlasts_reset = bool(outlasts_reset)
        super().__init__({
            "i": In(axi_stream_signature(self.octets, user=True)),
            "o": Out(packet_signature(self.octets, user_shape=1)),
        })

    def elaborate(self, platform):
        m = Module()

        first = Signal(init=1, reset_less=self.outlasts_reset)
        with m.If(self.i.tvalid & self.i.tready):
            m.d.sync += first.eq(self.i.tlast)

        m.d.comb += self.o.valid.eq(self.i.tvalid)
        m.d.comb += self.i.tready.eq(self.o.ready)
        m.d.comb += self.o.p.data.as_value().eq(self.i.tdata)
        m.d.comb += self.o.p.keep.eq(self.i.tkeep)
        m.d.comb += self.o.p.first.eq(first)
        m.d.comb += self.o.p.last.eq(self.i.tlast)
        m.d.comb += self.o.p.user.eq(self.i.tuser)

        return m


class ToAxiStream(wiring.Component):
    """Give a packet stream the names of AXI4-Stream. Wires only.

    Parameters
    ----------
    octets : :class:`int`
        Octets per beat.

    Members
    -------
    i : ``In(packet_signature(octets))``
        Packets.
    o : ``Out(axi_stream_signature(octets))``
        The same packets.
    """

    def __init__(self, *, octets: int):
        self.octets = index(octets)
        super().__init__({
            "i": In(packet_signature(self.octets)),
            "o": Out(axi_stream_signature(self.octets)),
        })

    def elaborate(self, platform):
        m = Module()

        m.d.comb += self.o.tvalid.eq(self.i.valid)
        m.d.comb += self.i.ready.eq(self.o.tready)
        m.d.comb += self.o.tdata.eq(self.i.p.data.as_value())
        m.d.comb += self.o.tkeep.eq(self.i.p.keep)
        m.d.comb += self.o.tlast.eq(self.i.p.last)

        return m
