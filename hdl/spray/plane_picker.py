"""Which plane a packet takes."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import RemoteMask
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory

from .links import PlaneFlags
from .plane_leads import PlaneLeads

__all__ = ["PlanePicker"]


class PlanePicker(wiring.Component):
    """Choose the least served plane among those that can take a packet now.

    A choice takes three cycles: ask in one, and in the third after it ``found`` tells. A question
    per cycle may be asked, those of the same QP 3 cycles apart. The rules, in order:

    1. A plane can be reached if its port is up, and the peer says that it can receive there.
    2. Of the planes that can be reached, those with a GOOD or SKIP EV are considered; if there is
       none, those with an ASSUMED_BAD one. That a plane has no room does not take it out of this.
    3. The plane to be avoided, and a plane whose only EV is the one to be avoided, are left out
       if that leaves others.
    4. If there is none at all, what the peer says is left aside: it may be old, and nobody may
       wait for a peer for ever. Then any plane whose port is up; and with all ports down, any:
       nobody may wait for a port that perhaps never comes back. Its lane drops what it gets.
    5. Of the planes that remain and have room, the least served is chosen; if none has room, none.

    A packet whose path is fixed takes that plane, if it has room. How much planes were served is
    counted by :class:`~.plane_leads.PlaneLeads`.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    qp, peer : ``In``
        Of the packet that asks; and from where on its cycles are counted.
    avoid, avoid_plane, fixed, avoided : ``In``
        An EV of plane ``avoided`` is to be avoided; so is the whole plane; or it is to be taken.
    flags : ``In(PlaneFlags()).array(lanes)``
        EVs of the QP, in the first cycle after the question.
    port_up : ``In(lanes)``
        Which ports are up, in that cycle.
    room : ``In(lanes)``
        Which lanes have room, in the second.
    takes, clears : ``In(1)``
        In the third: ``plane`` is taken, or it is to be forgotten how planes of the QP were served.
    remote_mask : ``In(stream.Signature(RemoteMask(config)))``
        Planes in which a peer can receive; all, before it says so. Always ready.
    found, plane : ``Out(1)``, ``Out(lanes)``
        In the third cycle: which plane it is to be, a bit for each.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        lanes = config.lanes
        super().__init__({
            "qp": In(index_bits(config.qps)),
            "peer": In(index_bits(config.peers)),
            "avoid": In(1),
            "avoid_plane": In(1),
            "fixed": In(1),
            "avoided": In(index_bits(lanes)),
            "flags": In(PlaneFlags()).array(lanes),
            "port_up": In(lanes),
            "room": In(lanes),
            "takes": In(1),
            "clears": In(1),
            "remote_mask": In(stream.Signature(RemoteMask(config))),
            "found": Out(1),
            "plane": Out(lanes),
        })

    def elaborate(self, platform):
        m = Module()
        lanes = self.config.lanes

        m.submodules.leads = leads = PlaneLeads(self.config)
        m.d.comb += [
            leads.qp.eq(self.qp),
            leads.plane.eq(self.plane),
            leads.takes.eq(self.takes),
            leads.clears.eq(self.clears),
        ]
        avoided = Signal(lanes)
        all_of_it, fixed = Signal(), Signal()
        avoids = self.avoid & ~self.fixed
        m.d.sync += avoided.eq(Mux(self.avoid | self.fixed, (1 << self.avoided)[:lanes], 0))
        m.d.sync += [all_of_it.eq(avoids & self.avoid_plane), fixed.eq(self.fixed)]

        # First cycle after the question: which planes come into question, best first. Pairs are
        # decided in this cycle, and the best pair in the next.
        some, several, bad = (
            Cat(flags[name] for flags in self.flags) for name in ("some", "several", "bad")
        )
        left_out = avoided & Mux(all_of_it, -1, ~several)[:lanes]
        reach = Signal(lanes)
        m.d.comb += reach.eq(self.port_up & ~self._masked(m))
        pairs = []
        for n, (better, other) in enumerate((
            (some & reach & ~left_out, some & reach),
            (bad & reach & ~avoided, bad & reach),
            (some & self.port_up, bad & self.port_up),
            (self.port_up, (1 << lanes) - 1),
        )):
            wanted = Signal(lanes, name=f"wanted_{n}")
            accepted = Signal(lanes, name=f"accepted_{n}")
            pair = Signal(data.StructLayout({"planes": lanes, "some": 1}), name=f"pair_{n}")
            m.d.comb += [wanted.eq(better), accepted.eq(other)]
            m.d.sync += pair.planes.eq(Mux(wanted.any(), wanted, accepted))
            m.d.sync += pair.some.eq((wanted | accepted).any())
            pairs.append(pair)
        forced, target = Signal(), Signal(lanes)
        m.d.sync += [forced.eq(fixed), target.eq(avoided)]

        # Second cycle: the least served of those with room.
        chosen_from = Signal(lanes)
        m.d.comb += chosen_from.eq(pairs[-1].planes)
        for pair in reversed(pairs[:-1]):
            with m.If(pair.some):
                m.d.comb += chosen_from.eq(pair.planes)
        with m.If(forced):
            m.d.comb += chosen_from.eq(target)
        allowed = Signal(lanes)
        m.d.comb += allowed.eq(chosen_from & self.room)
        m.d.sync += self.found.eq(allowed.any())
        for p in range(lanes):
            m.d.sync += self.plane[p].eq(allowed[p] & ~(allowed & leads.before[p]).any())

        return m

    def _masked(self, m):
        """Return, a cycle after the question, planes in which the peer cannot receive."""
        m.submodules.masks = memory = DeepMemory(self.config.lanes, depth=self.config.peers)
        offered = self.remote_mask
        m.d.comb += [
            offered.ready.eq(1),
            memory.write.valid.eq(offered.valid),
            memory.write.row.eq(offered.payload.peer),
            memory.write.data.eq(~offered.payload.mask),
            memory.row[0].eq(self.peer),
        ]
        written, fresh = Signal(self.config.lanes), Signal()
        m.d.sync += written.eq(memory.write.data)
        m.d.sync += fresh.eq(offered.valid & (offered.payload.peer == self.peer))
        return Mux(fresh, written, memory.data[0])
