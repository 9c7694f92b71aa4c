"""What acknowledged sends say of those before them."""

from amaranth.hdl import Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.wire.serial import ahead

from .pick_log import STAMP_BITS

__all__ = ["StampRule", "StampState"]

#: A waiver so many sends behind the highest acknowledged one has done its work.
_WAIVER_BITS = STAMP_BITS - 2


class StampState(data.StructLayout):
    """Of a QP.

    Members
    -------
    valid, highest : 1, 16
        Highest stamp that was acknowledged, if one was.
    waived, waiver : 1, 16
        Stamp of an answered probe: sends before it are lost however few came after them.
    """

    def __init__(self):
        super().__init__({"valid": 1, "highest": STAMP_BITS, "waived": 1, "waiver": STAMP_BITS})


class StampRule(wiring.Component):
    """Keep the highest acknowledged stamp, and compare a packet with it. Combinational.

    Members
    -------
    state : ``In(StampState())``
    stamp, limit : ``In(16)``
        The packet's stamp, and the same plus ``reorder_packets``.
    acked : ``In(1)``
        The packet was acknowledged.
    probe_acked, probe_stamp : ``In(1)``, ``In(16)``
        A reliability probe was; it goes before ``acked``.
    later : ``Out(1)``
        A later send was acknowledged.
    beyond : ``Out(1)``
        One more than ``reorder_packets`` later was, or a later probe.
    next : ``Out(StampState())``
        Next state.
    """

    state: In(StampState())
    stamp: In(STAMP_BITS)
    limit: In(STAMP_BITS)
    acked: In(1)
    probe_acked: In(1)
    probe_stamp: In(STAMP_BITS)
    later: Out(1)
    beyond: Out(1)
    next: Out(StampState())

    def elaborate(self, platform):
        m = Module()

        state = self.state
        waived = state.waived & (ahead(state.waiver, self.stamp) > 0)
        m.d.comb += [
            self.later.eq(state.valid & (ahead(state.highest, self.stamp) > 0)),
            self.beyond.eq(state.valid & (ahead(state.highest, self.limit) > 0) | waived),
        ]

        # Both candidates are compared before it is known which of them it is.
        higher = ~state.valid | (ahead(self.stamp, state.highest) > 0)
        probe_higher = ~state.valid | (ahead(self.probe_stamp, state.highest) > 0)
        m.d.comb += self.next.eq(state)
        with m.If(Mux(self.probe_acked, probe_higher, self.acked & higher)):
            m.d.comb += self.next.valid.eq(1)
            m.d.comb += self.next.highest.eq(Mux(self.probe_acked, self.probe_stamp, self.stamp))
        with m.If(self.probe_acked):
            m.d.comb += [self.next.waived.eq(1), self.next.waiver.eq(self.probe_stamp)]
        with m.Elif(ahead(state.highest, state.waiver) >= (1 << _WAIVER_BITS)):
            m.d.comb += self.next.waived.eq(0)  # before it comes to look like a new one

        return m
