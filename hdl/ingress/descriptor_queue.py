"""Descriptors that wait for the engine."""

from collections.abc import Mapping

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.inwards import RxDescriptor
from mrcnic.hdl.descriptor.sizes import index_bits

from .frame import QueuedFields

__all__ = ["DESCRIPTORS", "DescriptorQueue"]

#: Descriptors that a queue holds: what a block RAM has rows for at its widest.
DESCRIPTORS = 512


class DescriptorQueue(wiring.Component):
    """FIFO of receive descriptors, with memory for those fields only that its packets have.

    A descriptor comes out three cycles after it went in; one per cycle passes.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    widths : mapping of :class:`str` to :class:`int`
        How many low bits of each field are kept. All others come out as zero.

    Members
    -------
    lane : ``In(index_bits(lanes))``
        Port that the packets came in by, which all of them get.
    i : ``In(QueuedFields(config))``
        Descriptor to be queued.
    push : ``In(1)``
        Queue it; only if there is ``room``.
    room : ``Out(1)``
        There is room for one.
    o : ``Out(stream.Signature(RxDescriptor(config)))``
        Descriptors, in order.
    """

    def __init__(self, config: NicConfig, widths: Mapping[str, int]):
        self.widths = dict(widths)
        super().__init__({
            "lane": In(index_bits(config.lanes)),
            "i": In(QueuedFields(config)),
            "push": In(1),
            "room": Out(1),
            "o": Out(stream.Signature(RxDescriptor(config))),
        })

    def elaborate(self, platform):
        m = Module()

        row = data.StructLayout(self.widths)
        m.submodules.queue = queue = fifo.SyncFIFOBuffered(width=row.size, depth=DESCRIPTORS)
        kept = (Value.cast(self.i[name])[:width] for name, width in self.widths.items())
        m.d.comb += queue.w_data.eq(Cat(kept))
        m.d.comb += queue.w_en.eq(self.push)
        m.d.comb += self.room.eq(queue.w_rdy)

        # One assignment for all, in the order of the layout.
        read = data.View(row, queue.r_data)
        fields = []
        for name, entry in self.o.payload.shape():
            kept = self.widths.get(name, 0)
            if kept:
                fields.append(read[name])
            if kept < entry.width:
                fields.append(self.lane if name == "lane" else Const(0, entry.width - kept))
        m.d.comb += self.o.payload.eq(Cat(fields))

        m.d.comb += self.o.valid.eq(queue.r_rdy)
        m.d.comb += queue.r_en.eq(self.o.ready)

        return m
