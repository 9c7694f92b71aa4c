"""Descriptors that wait for the engine."""

from collections.abc import Mapping
from operator import index

from amaranth.hdl import Cat, Module
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor import RxDescriptor

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
    port : :class:`int`
        Port that the packets came in by, which all of them get as ``lane``.

    Members
    -------
    i : ``In(RxDescriptor(config))``
        Descriptor to be queued.
    push : ``In(1)``
        Queue it; only if there is ``room``.
    room : ``Out(1)``
        There is room for one.
    o : ``Out(stream.Signature(RxDescriptor(config)))``
        Descriptors, in order.
    """

    def __init__(self, config: NicConfig, widths: Mapping[str, int], *, port: int):
        self.widths = dict(widths)
        self.port = index(port)
        super().__init__({
            "i": In(RxDescriptor(config)),
            "push": In(1),
            "room": Out(1),
            "o": Out(stream.Signature(RxDescriptor(config))),
        })

    def elaborate(self, platform):
        m = Module()

        def kept(descriptor):
            return Cat(_value(descriptor[name])[:width] for name, width in self.widths.items())

        m.submodules.queue = queue = fifo.SyncFIFOBuffered(
            width=sum(self.widths.values()), depth=DESCRIPTORS
        )
        m.d.comb += queue.w_data.eq(kept(self.i))
        m.d.comb += queue.w_en.eq(self.push)
        m.d.comb += self.room.eq(queue.w_rdy)
        m.d.comb += kept(self.o.payload).eq(queue.r_data)
        m.d.comb += self.o.payload.lane.eq(self.port)
        m.d.comb += self.o.valid.eq(queue.r_rdy)
        m.d.comb += queue.r_en.eq(self.o.ready)

        return m


def _value(field):
    return field.as_value() if hasattr(field, "as_value") else field
