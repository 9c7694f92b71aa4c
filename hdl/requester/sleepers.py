"""QPs that wait for a window to open."""

from operator import index

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.descriptor.sizes import index_bits

from .qp_memory import QpMemory

__all__ = ["Sleepers"]


class Sleepers(wiring.Component):
    """Pass on news of the QPs that sleep, and no others.

    A QP must be put to sleep in the cycle in which its windows are read, before it is known
    whether they are open, and may be taken out afterwards. Then no news is lost: what was written
    too late for that reading is looked up late enough to find the QP asleep.

    News pass in two cycles.

    Parameters
    ----------
    count : :class:`int`
        Number of QPs.
    sources : :class:`int`
        Number of sources of news.

    Members
    -------
    write : ``In(StructLayout({"valid": 1, "index": ..., "value": 1}))``
        Put a QP to sleep, or take it out.
    news, wake : arrays of ``sources`` of ``StructLayout({"valid": 1, "index": ...})``
        News; those of sleepers.
    """

    def __init__(self, *, count: int, sources: int):
        self.count = index(count)
        self.sources = index(sources)
        bits = index_bits(self.count)
        news = data.StructLayout({"valid": 1, "index": bits})
        super().__init__({
            "write": In(data.StructLayout({"valid": 1, "index": bits, "value": 1})),
            "news": In(news).array(self.sources),
            "wake": Out(news).array(self.sources),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.asleep = asleep = QpMemory(1, count=self.count, reads=self.sources)
        m.d.comb += asleep.write.eq(self.write)
        for n in range(self.sources):
            heard, looked_up = Signal.like(self.news[n]), Signal.like(self.news[n])
            m.d.sync += heard.eq(self.news[n])
            m.d.comb += asleep.index[n].eq(heard.index)
            m.d.sync += looked_up.eq(heard)
            m.d.comb += self.wake[n].index.eq(looked_up.index)
            m.d.comb += self.wake[n].valid.eq(looked_up.valid & asleep.value[n])

        return m
