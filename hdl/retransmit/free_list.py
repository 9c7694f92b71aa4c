"""Payload slots that nobody uses."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import slot_bits

__all__ = ["FreeList"]


class FreeList(wiring.Component):
    """Hand out free slots, the one that has been free for longest first.

    A walk puts every slot in after reset, in which time none is handed out: ``slots`` cycles.
    After that a slot can go out, and one come back, in each cycle. A slot that came back can go
    out again two cycles later.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    free : ``In(StructLayout({"valid": 1, "slot": slot_bits}))``
        A slot comes back. It must have been handed out before.
    o : ``Out(stream.Signature(slot_bits))``
        Slots handed out.
    taken : ``Out(range(slots + 1))``
        How many are out.
    level, filled : ``Out(range(slots + 1))``
        How many are in; how many the walk has put in.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        bits = slot_bits(config)
        super().__init__({
            "free": In(data.StructLayout({"valid": 1, "slot": bits})),
            "o": Out(stream.Signature(bits)),
            "taken": Out(range(config.slots + 1)),
            "level": Out(range(config.slots + 1)),
            "filled": Out(range(config.slots + 1)),
        })

    def elaborate(self, platform):
        m = Module()

        slots = self.config.slots
        m.submodules.waiting = waiting = fifo.SyncFIFOBuffered(
            width=slot_bits(self.config), depth=slots
        )
        filling = Signal()
        m.d.comb += [filling.eq(self.filled != slots), self.level.eq(waiting.level)]
        m.d.comb += [
            waiting.w_en.eq(filling | self.free.valid),
            waiting.w_data.eq(self.free.slot),
            waiting.r_en.eq(self.o.ready & ~filling),
            self.o.valid.eq(waiting.r_rdy & ~filling),
            self.o.payload.eq(waiting.r_data),
        ]
        with m.If(filling):
            m.d.comb += waiting.w_data.eq(self.filled)
            m.d.sync += self.filled.eq(self.filled + 1)

        m.d.sync += self.taken.eq(self.taken + (self.o.valid & self.o.ready) - self.free.valid)

        return m
