"""How much each plane was served."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory

__all__ = ["PlaneLeads"]

#: Bits of a plane's lead over the plane served least. A plane that was out of use for long makes
#: up for no more than 2**bits - 1 packets.
_LEAD_BITS = 3


class PlaneLeads(wiring.Component):
    """Tell for each two planes which comes first, and count which one was taken.

    How much each plane was served is kept per QP as its lead over the others, at most 7. A packet
    counts its plane up; at 7 it counts all others down instead, to no less than zero. So planes
    in use keep their differences, while one that was down makes up for 7 packets at the most.
    Equals take turns; the QP's number says who is first, so that QPs do not all start alike.

    A question per cycle, those of the same QP 3 cycles apart.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    qp : ``In``
        Whose planes.
    before : ``Out(lanes).array(lanes)``
        Two cycles later: for each plane, those that come before it.
    plane : ``In(lanes)``
        Three cycles later: plane chosen, a bit for each.
    takes, clears : ``In(1)``
        It is taken; all is to be forgotten instead.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        lanes = config.lanes
        super().__init__({
            "qp": In(index_bits(config.qps)),
            "before": Out(lanes).array(lanes),
            "plane": In(lanes),
            "takes": In(1),
            "clears": In(1),
        })

    def elaborate(self, platform):
        m = Module()
        lanes = self.config.lanes
        layout = data.ArrayLayout(_LEAD_BITS, lanes)

        m.submodules.memory = memory = DeepMemory(layout.size, depth=self.config.qps)
        written, fresh = Signal(layout), Signal()
        m.d.comb += memory.row[0].eq(self.qp)
        m.d.sync += written.eq(memory.write.data)
        m.d.sync += fresh.eq(memory.write.valid & (memory.write.row == self.qp))

        # The first cycle after the question: leads, and who is first among equals.
        known = Signal(layout)
        m.d.comb += known.eq(memory.data[0])
        with m.If(fresh):
            m.d.comb += known.eq(written)
        first = Signal(range(max(2, lanes)))
        number = self.qp[: len(first)]
        m.d.sync += first.eq(number)
        if lanes.bit_count() != 1:
            with m.If(number >= lanes):
                m.d.sync += first.eq(number - lanes)
        earlier = [Signal(lanes, name=f"earlier_{p}") for p in range(lanes)]
        with m.Switch(first):
            for n in range(lanes):
                with m.Case(n):
                    for p in range(lanes):
                        ranks = ((q - n) % lanes for q in range(lanes))
                        ahead = sum(1 << q for q, r in enumerate(ranks) if r < (p - n) % lanes)
                        m.d.comb += earlier[p].eq(ahead)
        for p in range(lanes):
            for q in range(lanes):
                equal = (known[q] == known[p]) & earlier[p][q]
                m.d.sync += self.before[p][q].eq((known[q] < known[p]) | equal)

        # The third: count.
        owners = [self.qp]
        counted = [known]
        for n in range(1, 4):
            owner = Signal.like(self.qp, name=f"owner_{n}")
            m.d.sync += owner.eq(owners[-1])
            owners.append(owner)
        for n in range(2, 4):
            kept = Signal(layout, name=f"known_{n}")
            m.d.sync += kept.eq(counted[-1])
            counted.append(kept)
        served = counted[-1]
        m.d.comb += memory.write.valid.eq(self.takes | self.clears)
        m.d.comb += memory.write.row.eq(owners[-1])
        after = Signal(layout)
        m.d.comb += memory.write.data.eq(after)
        ahead = Signal()
        m.d.comb += ahead.eq((self.plane & Cat(lead.all() for lead in served)).any())
        for p in range(lanes):
            with m.If(self.clears):
                m.d.comb += after[p].eq(0)
            with m.Elif(~ahead):
                m.d.comb += after[p].eq(served[p] + self.plane[p])
            with m.Else():
                m.d.comb += after[p].eq(served[p] - (~self.plane[p] & served[p].any()))

        return m
