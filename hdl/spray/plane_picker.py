"""Which plane a packet takes."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory

from .links import FlagsWrite, PlaneFlags

__all__ = ["PlanePicker"]

#: Bits of a plane's lead over the plane served least. A plane that was out of use for long makes
#: up for no more than 2**bits - 1 packets.
_LEAD_BITS = 3


class PlanePicker(wiring.Component):
    """Choose the least served plane among those that can take a packet now.

    A choice takes three cycles: ask in one, and in the third after it ``found`` tells. In that
    cycle the next may be asked for, of the same QP too. The rules, in order:

    1. A plane whose port is down is not chosen, unless all are down: nobody may wait for a port
       that perhaps never comes back. Its lane drops what it gets.
    2. Planes with a GOOD or SKIP EV are considered; if there is none, those with an ASSUMED_BAD
       one; if there is none, all. That a plane has no room does not take it out of this.
    3. The plane to be avoided, and a plane whose only EV is the one to be avoided, are left out
       if that leaves others.
    4. Of the planes that remain and have room, the least served is chosen; if none has room, none.

    How much each plane was served is kept per QP as its lead over the others, at most 7. A choice
    counts the plane up; at 7 it counts all others down instead, to no less than zero. So planes
    in use keep their differences, while one that was down makes up for 7 packets at the most.
    Equals take turns; the QP's number says who is first, so that QPs do not all start alike.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    start : ``In(1)``
        Ask for the plane of a packet of ``qp``.
    qp : ``In``
    avoid, avoid_plane, avoided : ``In``
        An EV of plane ``avoided`` is to be avoided; so is the whole plane.
    room, port_up : ``In(lanes)``
        Which lanes have room, and which ports are up. Looked at two cycles after ``start``.
    clear, clear_qp : ``In``
        Forget how planes of a QP were served; not in a cycle with ``found``.
    flags_write : ``In``
        New flags of (``qp``, ``plane``). A choice asked for in the same cycle or later knows them.
    found, plane : ``Out``
        Which plane it is to be.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        qp = index_bits(config.qps)
        plane = index_bits(config.lanes)
        super().__init__({
            "start": In(1),
            "qp": In(qp),
            "avoid": In(1),
            "avoid_plane": In(1),
            "avoided": In(plane),
            "room": In(config.lanes),
            "port_up": In(config.lanes),
            "clear": In(1),
            "clear_qp": In(qp),
            "flags_write": In(FlagsWrite(config)),
            "found": Out(1),
            "plane": Out(plane),
        })

    def elaborate(self, platform):
        m = Module()
        lanes = self.config.lanes

        asked = Signal()
        qp = Signal.like(self.qp)
        avoid = Signal()
        avoid_plane = Signal()
        avoided = Signal(lanes)
        m.d.sync += asked.eq(self.start)
        m.d.sync += qp.eq(self.qp)
        m.d.sync += avoid.eq(self.avoid)
        m.d.sync += avoid_plane.eq(self.avoid_plane)
        m.d.sync += avoided.eq(1 << self.avoided)

        up = Signal(lanes)
        m.d.comb += up.eq(Mux(self.port_up.any(), self.port_up, -1))

        # First cycle after the question: which planes are considered.
        flags = self._flags(m)
        some, several, bad = (
            Cat(plane[name] for plane in flags) for name in ("some", "several", "bad")
        )
        considered = Signal(lanes)
        floor = Signal()
        with m.If((some & up).any()):
            m.d.comb += considered.eq(some & up)
        with m.Else():
            m.d.comb += floor.eq(1)
            m.d.comb += considered.eq(Mux((bad & up).any(), bad & up, up))
        left_out = avoided & Mux(avoid_plane | floor, -1, ~several) & avoid.replicate(lanes)
        better = considered & ~left_out
        chosen_from = Signal(lanes)
        m.d.sync += chosen_from.eq(Mux(better.any(), better, considered))

        # Second cycle: the least served of those with room.
        asked_before = Signal()
        leads = Signal(data.ArrayLayout(_LEAD_BITS, lanes))
        ranks = Signal(data.ArrayLayout(index_bits(lanes), lanes))
        m.d.sync += asked_before.eq(asked)
        winner = Signal(lanes)
        allowed = Signal(lanes)
        m.d.comb += allowed.eq(chosen_from & self.room & up)
        for p in range(lanes):
            order = Cat(ranks[p], leads[p])
            beaten = Cat(
                allowed[q] & (Cat(ranks[q], leads[q]) < order) for q in range(lanes) if q != p
            )
            m.d.comb += winner[p].eq(allowed[p] & ~beaten.any())

        m.d.sync += self.found.eq(asked_before & allowed.any())
        for p in range(lanes):
            with m.If(winner[p]):
                m.d.sync += self.plane.eq(p)

        self._count(m, qp, leads, ranks, winner)
        return m

    def _flags(self, m):
        """Return the flags of each plane, a cycle after ``start``."""
        written = Signal.like(self.flags_write)
        qp = Signal.like(self.qp)
        m.d.sync += written.eq(self.flags_write)
        m.d.sync += qp.eq(self.qp)
        flags = []
        for p in range(self.config.lanes):
            memory = DeepMemory(PlaneFlags(), depth=self.config.qps)
            m.submodules[f"flags_{p}"] = memory
            m.d.comb += memory.row[0].eq(self.qp)
            m.d.comb += [
                memory.write.valid.eq(self.flags_write.valid & (self.flags_write.plane == p)),
                memory.write.row.eq(self.flags_write.qp),
                memory.write.data.eq(self.flags_write.flags),
            ]
            known = Signal(PlaneFlags(), name=f"known_{p}")
            m.d.comb += known.eq(memory.data[0])
            with m.If(written.valid & (written.plane == p) & (written.qp == qp)):
                m.d.comb += known.eq(written.flags)
            flags.append(known)
        return flags

    def _count(self, m, qp, leads, ranks, winner):
        """Read the leads a cycle after ``start``, and write them back with ``found``."""
        lanes = self.config.lanes
        m.submodules.leads = memory = DeepMemory(len(leads.as_value()), depth=self.config.qps)
        after = Signal.like(leads)
        owner = Signal.like(qp)
        m.d.sync += owner.eq(qp)
        later_owner = Signal.like(qp)
        m.d.sync += later_owner.eq(owner)

        m.d.comb += memory.row[0].eq(self.qp)
        m.d.comb += memory.write.valid.eq(self.found | self.clear)
        with m.If(self.found):
            m.d.comb += memory.write.row.eq(later_owner)
            m.d.comb += memory.write.data.eq(after)
        with m.Else():
            m.d.comb += memory.write.row.eq(self.clear_qp)
        written = Signal.like(memory.write)
        m.d.sync += written.eq(memory.write)
        with m.If(written.valid & (written.row == qp)):
            m.d.sync += leads.eq(written.data)
        with m.Else():
            m.d.sync += leads.eq(memory.data[0])

        first = Signal(range(max(2, lanes)))
        number = qp[: len(first)]
        m.d.comb += first.eq(number)
        if lanes.bit_count() != 1:
            with m.If(number >= lanes):
                m.d.comb += first.eq(number - lanes)
        with m.Switch(first):
            for n in range(lanes):
                with m.Case(n):
                    for p in range(lanes):
                        m.d.sync += ranks[p].eq((p - n) % lanes)

        for p in range(lanes):
            with m.If((winner & Cat(leads[q].all() for q in range(lanes))).any()):
                m.d.sync += after[p].eq(Mux(winner[p] | (leads[p] == 0), leads[p], leads[p] - 1))
            with m.Else():
                m.d.sync += after[p].eq(leads[p] + winner[p])
