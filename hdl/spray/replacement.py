"""Another value for an EV, while queue pairs use it."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory

from .ev_table import EvWrite
from .links import Operation, OperationKind, split_ev

__all__ = ["Replacement"]


class Replacement(wiring.Component):
    """Give an EV that has another value a new state, in all QPs of its profile.

    The table has the new value before: news that comes with the old one is stale from then on.
    News that was let in before that is waited for, so none of it hits the new value. Then all QPs
    are looked at, one in 3 cycles, unless none has used the profile since the last time: so a
    profile that is being filled costs nothing.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    user_valid, user_qp, user_profile, user_active : ``In``
        A QP uses a profile from now on, or, if not active, none.
    begin, write : ``In(1)``, ``In(EvWrite())``
        The table has this row since the cycle before ``begin``; it stays until ``done``.
    was_active : ``In(1)``
        The row before it was active.
    mark, drained : ``Out(1)``, ``In(1)``
        See :class:`~.event_filter.EventFilter`.
    o : ``Out(stream.Signature(Operation(config)))``
        PLACE operations.
    done : ``Out(1)``
        All have been taken.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        qp = index_bits(config.qps)
        super().__init__({
            "user_valid": In(1),
            "user_qp": In(qp),
            "user_profile": In(index_bits(config.profiles)),
            "user_active": In(1),
            "begin": In(1),
            "write": In(EvWrite()),
            "was_active": In(1),
            "mark": Out(1),
            "drained": In(1),
            "o": Out(stream.Signature(Operation(config))),
            "done": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        # Who uses what.
        layout = data.StructLayout({"active": 1, "profile": index_bits(config.profiles)})
        m.submodules.users = users = DeepMemory(layout, depth=config.qps)
        used = Signal(config.profiles)
        qp = Signal(index_bits(config.qps))
        m.d.comb += [
            users.write.valid.eq(self.user_valid),
            users.write.row.eq(self.user_qp),
            users.write.data.active.eq(self.user_active),
            users.write.data.profile.eq(self.user_profile),
            users.row[0].eq(qp),
        ]
        with m.If(self.user_valid & self.user_active):
            m.d.sync += used.eq(used | (1 << self.user_profile))

        # The profile and the EV, which the index is made of.
        profile = Signal(index_bits(config.profiles))
        of_profile = Signal(config.profiles)
        m.d.comb += of_profile.eq(1 << profile)
        rest = Signal(16)
        plane, local = split_ev(m, config, rest[: index_bits(config.evs)])
        row = self.write.row
        m.d.comb += [
            self.o.payload.kind.eq(OperationKind.PLACE),
            self.o.payload.qp.eq(qp),
            self.o.payload.plane.eq(plane),
            self.o.payload.local.eq(local),
            self.o.payload.targeted.eq(1),
            self.o.payload.there.eq(row.valid),
            self.o.payload.active.eq(row.active),
            self.o.payload.was_active.eq(self.was_active),
        ]

        anyone = Signal()
        last = Signal()
        m.d.comb += last.eq(qp == config.qps - 1)
        user = users.data[0]
        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.sync += [rest.eq(self.write.index), profile.eq(0), qp.eq(0), anyone.eq(0)]
                with m.If(self.begin):
                    m.next = "SPLIT"
            with m.State("SPLIT"):
                with m.If(rest >= config.evs):
                    m.d.sync += [rest.eq(rest - config.evs), profile.eq(profile + 1)]
                with m.Elif((used & of_profile).any()):
                    m.next = "MARK"
                with m.Else():
                    m.next = "DONE"
            with m.State("MARK"):
                m.next = "DRAIN"
            with m.State("DRAIN"), m.If(self.drained):
                m.next = "READ"
            with m.State("READ"):
                m.next = "LOOK"
            with m.State("LOOK"):
                with m.If(user.active & (user.profile == profile)):
                    m.d.sync += anyone.eq(1)
                    m.next = "PLACE"
                with m.Else():
                    m.d.sync += qp.eq(qp + 1)
                    m.next = "READ"
                    with m.If(last):
                        m.next = "DONE"
                        with m.If(~anyone):
                            m.d.sync += used.eq(used & ~of_profile)
            with m.State("PLACE"), m.If(self.o.ready):
                m.d.sync += qp.eq(qp + 1)
                m.next = "READ"
                with m.If(last):
                    m.next = "DONE"
            with m.State("DONE"):
                m.next = "IDLE"
        m.d.comb += [
            self.mark.eq(fsm.ongoing("MARK")),
            self.o.valid.eq(fsm.ongoing("PLACE")),
            self.done.eq(fsm.ongoing("DONE")),
        ]
        return m
