"""Picks and all else that is done to EV states, in turn."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import RemoteMask
from mrcnic.hdl.descriptor.outwards import TxRequest
from mrcnic.hdl.descriptor.sizes import index_bits

from .answer_counts import AnswerCounts
from .ev_state import EvState
from .links import MaskedEvs, Operation, OperationKind, Outcome, Placed, ProfileRow, join_ev
from .plane_picker import PlanePicker
from .turnstile import Turnstile, Waiting

__all__ = ["CREDITS", "Scheduler"]

#: Packets that may be between pick and lane, per lane.
CREDITS = 4


class Scheduler(wiring.Component):
    """Give each packet a plane and an EV, and keep the EV states.

    An operation begins in each cycle: a pick, or one of the others; those on the same QP begin 3
    cycles apart, so each sees what the one before has done. All planes look for an EV, and at the
    same time the plane is chosen. A packet for whose planes no lane has room begins again, and so
    do up to four that were behind it; meanwhile no other is taken.

    A packet comes out 6 cycles after it was taken, if a lane has room. Ports are looked at 3
    cycles before that, lanes 2. If packets and other operations both wait, they take turns: of
    one QP a packet in 3 cycles, and a packet in 6 while news comes all the time.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(TxRequest(config)))``
        Packets.
    enable : ``In(1)``
        EV states have been cleared: packets may be taken.
    peer_valid, peer_qp, peer : ``In``
        Row of the remote NIC, for a QP.
    others : ``In(stream.Signature(Operation(config)))``
        All operations that are no picks.
    profile, started : ``In(ProfileRow(config)).array(lanes)``, ``Out(1)``
        For START operations; it is being taken.
    port_up, lane_ready, lane_taken : ``In(lanes)``
        The port is up; the lane has room for a packet; it takes one.
    remote_mask : ``In(stream.Signature(RemoteMask(config)))``
        Planes in which peers can receive.
    qp, masked : ``Out``, ``In(MaskedEvs(config)).array(lanes)``
        Whose EVs are looked at; a cycle later: those that take a masked link.
    placed : ``Out(Placed(config))``
        Packets with their path.
    placed_qp : ``Out``
        QP of the packet that is placed in the next cycle.
    outcome : ``Out(Outcome(config))``
        What became of an operation, 4 cycles after it began; an operation begins 2 cycles after it
        was taken, or later.
    restored, dropped : ``Out(1)``
        A SKIP EV was passed over, and is GOOD again; a packet whose path is fixed was dropped,
        because its lane had no room for long.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        qp = index_bits(config.qps)
        super().__init__({
            "i": In(stream.Signature(TxRequest(config))),
            "enable": In(1),
            "peer_valid": In(1),
            "peer_qp": In(qp),
            "peer": In(index_bits(config.peers)),
            "others": In(stream.Signature(Operation(config))),
            "profile": In(ProfileRow(config)).array(config.lanes),
            "started": Out(1),
            "port_up": In(config.lanes),
            "lane_ready": In(config.lanes),
            "lane_taken": In(config.lanes),
            "remote_mask": In(stream.Signature(RemoteMask(config))),
            "qp": Out(qp),
            "masked": In(MaskedEvs(config)).array(config.lanes),
            "placed": Out(Placed(config)),
            "placed_qp": Out(qp),
            "outcome": Out(Outcome(config)),
            "restored": Out(1),
            "dropped": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        m.submodules.turnstile = turnstile = Turnstile(config)
        connect(m, flipped(self.i), turnstile.i)
        connect(m, flipped(self.others), turnstile.others)
        m.d.comb += [
            turnstile.enable.eq(self.enable),
            turnstile.peer_valid.eq(self.peer_valid),
            turnstile.peer_qp.eq(self.peer_qp),
            turnstile.peer.eq(self.peer),
            self.dropped.eq(turnstile.dropped),
        ]

        # The operation, and the packet, in each cycle from the one in which it begins.
        valid, operation, packet = [turnstile.valid], [turnstile.operation], [turnstile.packet]
        for n in range(1, 5):
            valid.append(Signal(name=f"valid_{n}"))
            operation.append(Signal(Operation(config), name=f"operation_{n}"))
            packet.append(Signal(Waiting(config), name=f"packet_{n}"))
            for values in (valid, operation, packet):
                m.d.sync += values[-1].eq(values[-2])
        done = valid[3]
        picks = Signal()
        m.d.comb += picks.eq(done & (operation[3].kind == OperationKind.PICK))

        m.submodules.picker = picker = PlanePicker(config)
        connect(m, flipped(self.remote_mask), picker.remote_mask)
        request = packet[0].request
        starts = operation[3].kind == OperationKind.START
        m.d.comb += [
            self.qp.eq(operation[0].qp),
            picker.qp.eq(operation[0].qp),
            picker.peer.eq(packet[0].peer),
            picker.avoid.eq(request.avoid),
            picker.avoid_plane.eq(request.avoid_plane),
            picker.fixed.eq(request.fixed),
            picker.avoided.eq(packet[0].plane),
            picker.port_up.eq(self.port_up),
            picker.takes.eq(picks & picker.found & ~operation[3].fixed),
            picker.clears.eq(done & starts),
            self.started.eq(done & starts),
            turnstile.again.eq(picks & ~picker.found),
            turnstile.again_packet.eq(packet[3]),
        ]
        m.submodules.counts = counts = AnswerCounts(config)
        m.d.comb += [counts.i.eq(operation[0]), counts.valid.eq(done)]

        states = self._states(m, valid[0], operation[0], picker, picks, counts.enough)
        self._count(m, picker, picks & picker.found)
        self._place(m, states, picker, packet, picks & picker.found)

        hits = Signal.like(states[0].hits)
        for name, _ in hits.shape():
            m.d.comb += hits[name].eq(Cat(state.hits[name] for state in states).any())
        m.d.sync += [
            self.outcome.valid.eq(done),
            self.outcome.operation.eq(operation[3]),
            self.outcome.hits.eq(hits),
            self.outcome.good_answers.eq(counts.count),
            self.outcome.enough.eq(counts.enough),
            self.outcome.places.eq(reduce(or_, (state.places for state in states))),
        ]
        m.d.comb += self.restored.eq(Cat(state.restored for state in states).any())
        return m

    def _states(self, m, valid, operation, picker, picks, enough):
        noise = Signal(32, init=0x5EED)
        steps = 5  # an operation per cycle, so each needs other bits than the one before
        bits = [noise[n] ^ noise[n + 2] ^ noise[n + 3] ^ noise[n + 7] for n in range(steps)]
        m.d.sync += noise.eq(Cat(noise[steps:], *bits))
        states = []
        for p in range(self.config.lanes):
            m.submodules[f"state_{p}"] = state = EvState(self.config, plane=p)
            m.d.comb += [
                state.valid.eq(valid),
                state.i.eq(operation),
                state.chance.eq(noise[8:24]),
                state.wins.eq(picks & picker.found & picker.plane[p]),
                state.enough.eq(enough),
                state.profile.eq(self.profile[p]),
                state.masked.eq(self.masked[p]),
                picker.flags[p].eq(state.flags),
            ]
            states.append(state)
        return states

    def _count(self, m, picker, found):
        """Count what is between pick and lane; say which lanes have room."""
        for p in range(self.config.lanes):
            pending = Signal(range(CREDITS + 1), name=f"pending_{p}")
            comes = found & picker.plane[p]
            m.d.sync += pending.eq(pending + comes - self.lane_taken[p])
            # One that is found in this cycle is not counted yet.
            few = (pending < CREDITS - 1) | ((pending == CREDITS - 1) & ~comes)
            m.d.comb += picker.room[p].eq(self.lane_ready[p] & few)

    def _place(self, m, states, picker, packet, found):
        """Bring packet and EV together: the EV is known a cycle after the plane."""
        config = self.config
        plane = Signal(index_bits(config.lanes))
        none = Signal()
        local = Signal.like(states[0].local)
        with m.Switch(picker.plane):
            for p, state in enumerate(states):
                with m.Case(1 << p):
                    m.d.sync += plane.eq(p)
                    m.d.sync += none.eq(state.none)
        with m.Switch(plane):
            for p, state in enumerate(states):
                with m.Case(p):
                    m.d.comb += local.eq(state.local)
        m.d.sync += self.placed.valid.eq(found)
        m.d.comb += [
            self.placed_qp.eq(packet[3].request.qp),
            self.placed.request.eq(packet[4].request),
            self.placed.plane.eq(plane),
            self.placed.ev_index.eq(join_ev(m, config, plane, local)),
            self.placed.none.eq(none),
        ]
