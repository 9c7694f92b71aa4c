"""Picks and all else that is done to EV states, in turn."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import TxRequest
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.stream_arbiter import StreamArbiter

from .ev_state import EvState
from .links import (
    Failure,
    Operation,
    OperationKind,
    PathEvent,
    Placed,
    ProfileRow,
    join_ev,
    split_ev,
)
from .plane_picker import PlanePicker

__all__ = ["CREDITS", "Scheduler"]

#: Packets that may be between pick and lane, per lane.
CREDITS = 4

#: Slots in a row that a packet waits for while news of EVs pile up.
_PATIENCE = 3


class Scheduler(wiring.Component):
    """Give each packet a plane and an EV, and keep the EV states.

    Time goes in slots of three cycles. In each slot the EV states take one operation: a pick
    whose plane has been found in the slot before, or one of the others: events, returns, starts.
    If both wait they take turns, so with events all the time a packet takes 6 cycles instead of 3.
    While ``urgent`` is set, three others go before a packet. Every operation is over before the
    next begins, so there are no hazards; only the search for a plane runs beside, and it is not
    begun in a slot in which an operation that changes the flags of planes begins.

    A packet comes out 7 to 9 cycles after it was offered, if a lane has room. Ports and lanes are
    looked at 5 cycles before that.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(TxRequest(config)))``
        Packets. One is held inside until a lane has room for it.
    enable : ``In(1)``
        EV states have been cleared: packets may be taken.
    news : ``In(stream.Signature(PathEvent(config)))``, with ``urgent : In(1)``
        What was learnt of EVs.
    returns : ``In(stream.Signature(Failure(config)))``
        EVs that may be used again.
    starts, profile, started : ``In``, ``In``, ``Out``
        START operations; see :class:`~.ev_state.EvState`.
    failures : ``Out(stream.Signature(Failure(config)))``, with ``room : In(1)``
        EVs that have gone out of use; news is taken only while there is room.
    port_up, lane_ready, lane_taken : ``In(lanes)``
        The port is up; the lane has room for a packet; it takes one.
    placed : ``Out(Placed(config))``
        Packets with their path.
    placed_qp : ``Out``
        QP of the packet that is placed in the next cycle.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(TxRequest(config))),
            "enable": In(1),
            "news": In(stream.Signature(PathEvent(config))),
            "urgent": In(1),
            "returns": In(stream.Signature(Failure(config))),
            "starts": In(stream.Signature(Operation(config))),
            "profile": In(ProfileRow(config)),
            "started": Out(1),
            "failures": Out(stream.Signature(Failure(config))),
            "room": In(1),
            "port_up": In(config.lanes),
            "lane_ready": In(config.lanes),
            "lane_taken": In(config.lanes),
            "placed": Out(Placed(config)),
            "placed_qp": Out(index_bits(config.qps)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        m.submodules.picker = picker = PlanePicker(config)
        m.submodules.state = state = EvState(config)
        others = self._others(m)

        # A slot is three cycles; everything is decided in its first.
        slot = Signal(3, init=1)
        first = slot[0]
        m.d.sync += slot.eq(slot.rotate_left(1))

        # The packet at the head: kept until its plane is found.
        head = Signal(TxRequest(config))
        head_valid = Signal()
        asking = Signal(TxRequest(config))
        leaving = picker.found
        vacant = leaving | ~head_valid
        waiting = ~vacant | (self.i.valid & self.enable)
        m.d.comb += self.i.ready.eq(first & self.enable & vacant)
        m.d.comb += asking.eq(Mux(vacant, self.i.payload.as_value(), head.as_value()))
        with m.If(first):
            m.d.sync += head.eq(asking)
            m.d.sync += head_valid.eq(waiting)

        # Whose slot: a packet's whose plane is known; else another operation, unless it would
        # keep a packet waiting for too long.
        postponed = Signal(range(_PATIENCE + 1))
        limit = Mux(self.urgent, _PATIENCE, 2)
        changes = others.payload.kind != OperationKind.SKIP
        too_long = waiting & (postponed >= limit)
        other = Signal()
        start = Signal()
        m.d.comb += other.eq(first & others.valid & ~leaving & ~(changes & too_long))
        reserved = others.valid & (leaving | self.urgent) & ~too_long
        m.d.comb += start.eq(first & waiting & ~(other & changes) & ~reserved)
        with m.If(start):
            m.d.sync += postponed.eq(0)
        with m.Elif(first & waiting & ~too_long):
            m.d.sync += postponed.eq(postponed + 1)
        m.d.comb += others.ready.eq(other)

        # The plane.
        avoided, avoided_local = split_ev(m, config, asking.avoid_ev)
        m.d.comb += [
            picker.start.eq(start),
            picker.qp.eq(asking.qp),
            picker.avoid.eq(asking.avoid),
            picker.avoid_plane.eq(asking.avoid_plane),
            picker.avoided.eq(avoided),
            picker.port_up.eq(self.port_up),
            picker.clear.eq(other & (others.payload.kind == OperationKind.START)),
            picker.clear_qp.eq(others.payload.qp),
            picker.flags_write.eq(state.flags_write),
        ]
        self._count(m, picker, first)

        # The operation. What the head avoids was taken apart when its plane was asked for.
        pick = Signal(Operation(config))
        head_avoided = Signal.like(avoided)
        head_local = Signal.like(avoided_local)
        with m.If(first):
            m.d.sync += head_avoided.eq(avoided)
            m.d.sync += head_local.eq(avoided_local)
        m.d.comb += [
            pick.kind.eq(OperationKind.PICK),
            pick.qp.eq(head.qp),
            pick.plane.eq(picker.plane),
            pick.local.eq(head_local),
            pick.targeted.eq(head.avoid & (head_avoided == picker.plane)),
            state.valid.eq(leaving | other),
            state.i.eq(Mux(leaving, pick.as_value(), others.payload.as_value())),
            state.profile.eq(self.profile),
            self.started.eq(state.started),
        ]
        noise = Signal(32, init=0x5EED)
        m.d.sync += noise.eq(Cat(noise[1:], noise[0] ^ noise[2] ^ noise[3] ^ noise[7]))
        m.d.comb += state.chance.eq(noise[8:24])

        self._place(m, picker, state, head, leaving)
        return m

    def _others(self, m):
        """Return what is to be done to EV states, but for picks, as one stream."""
        m.submodules.others = arbiter = StreamArbiter(Operation(self.config), inputs=3)
        news, returns, starts = arbiter.i
        event = self.news.payload
        m.d.comb += [
            news.valid.eq(self.news.valid & self.room),
            self.news.ready.eq(news.ready & self.room),
            news.payload.kind.eq(Mux(event.bad, OperationKind.BAD, OperationKind.SKIP)),
            news.payload.qp.eq(event.qp),
            news.payload.plane.eq(event.plane),
            news.payload.local.eq(event.local),
            news.payload.targeted.eq(1),
        ]
        plane, local = split_ev(m, self.config, self.returns.payload.ev_index)
        m.d.comb += [
            returns.valid.eq(self.returns.valid),
            self.returns.ready.eq(returns.ready),
            returns.payload.kind.eq(OperationKind.RETURN),
            returns.payload.qp.eq(self.returns.payload.qp),
            returns.payload.plane.eq(plane),
            returns.payload.local.eq(local),
            returns.payload.targeted.eq(1),
        ]
        connect(m, flipped(self.starts), starts)
        return arbiter.o

    def _count(self, m, picker, first):
        """Count what is between pick and lane; say which lanes have room."""
        for p in range(self.config.lanes):
            pending = Signal(range(CREDITS + 1), name=f"pending_{p}")
            m.d.sync += pending.eq(
                pending + (picker.found & (picker.plane == p)) - self.lane_taken[p]
            )
            m.d.comb += picker.room[p].eq(self.lane_ready[p] & (pending < CREDITS))

    def _place(self, m, picker, state, head, leaving):
        """Bring packet and EV together: the EV comes four cycles after the plane."""
        request = [head]
        plane = [picker.plane]
        for n in range(2):
            kept = Signal(TxRequest(self.config), name=f"request_{n}")
            where = Signal.like(picker.plane, name=f"plane_{n}")
            # Three cycles in each: that is a slot.
            with m.If(leaving if n == 0 else state.flags_write.valid):
                m.d.sync += kept.eq(request[-1])
                m.d.sync += where.eq(plane[-1])
            request.append(kept)
            plane.append(where)
        failed = Signal(Failure(self.config))
        m.d.comb += [
            self.placed_qp.eq(request[1].qp),
            self.placed.valid.eq(state.pick.valid),
            self.placed.request.eq(request[-1]),
            self.placed.plane.eq(plane[-1]),
            self.placed.ev_index.eq(join_ev(m, self.config, plane[-1], state.pick.local)),
            self.placed.none.eq(state.pick.none),
            failed.qp.eq(state.failure.qp),
            failed.ev_index.eq(join_ev(m, self.config, state.failure.plane, state.failure.local)),
            self.failures.valid.eq(state.failed),
            self.failures.payload.eq(failed),
        ]
