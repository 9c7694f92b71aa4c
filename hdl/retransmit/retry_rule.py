"""Retransmission time-outs and the retry counter of a QP."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import TICK_NS
from mrcnic.hdl.descriptor.sizes import NOW_BITS
from mrcnic.hdl.wire.serial import ahead

__all__ = ["FOR_EVER", "LONGEST_RTO", "RETRY_BITS", "RetryOutlook", "RetryRule", "RetryState"]

#: Doubling stops at one second, in ticks: readings of ``now`` are told apart over 1.07 s.
LONGEST_RTO = 1_000_000_000 // TICK_NS

#: Width of the retry counter, which saturates.
RETRY_BITS = 6

#: Value of ``exponential_count`` for which the retries are never exhausted.
FOR_EVER = 25


class RetryState(data.StructLayout):
    """Of a QP.

    Members
    -------
    retries : 6
        Charges since cack moved last.
    rto : 24
        Current time-out, in ticks.
    timeout_held, timeout_until : 1, 24
        No time-out is charged until then.
    nack_held, nack_until : 1, 24
        No NACK is charged until then.
    """

    def __init__(self):
        super().__init__({
            "retries": RETRY_BITS,
            "rto": NOW_BITS,
            "timeout_held": 1,
            "timeout_until": NOW_BITS,
            "nack_held": 1,
            "nack_until": NOW_BITS,
        })


class RetryOutlook(data.StructLayout):
    """What could happen to the retry counter.

    Members
    -------
    now : RetryState
        State as it is, with the time that has passed taken into account.
    expired : 1
        The packet's time-out is over.
    retries, rto : 6, 24
        After one charge more.
    exhausted : 1
        That charge is the last one.
    """

    def __init__(self):
        super().__init__({
            "now": RetryState(),
            "expired": 1,
            "retries": RETRY_BITS,
            "rto": NOW_BITS,
            "exhausted": 1,
        })


class RetryRule(wiring.Component):
    """Say where the retry counter stands, and where one charge more would take it. Combinational.

    The first ``linear_count`` charges leave the time-out as it is, each further one doubles it,
    up to :data:`LONGEST_RTO`. Time-outs are charged at most once per current time-out, and so are
    NACKs. Progress (cack has moved) sets everything back (docs/protocol.md, "Requestor event
    reactions").

    Members
    -------
    state : ``In(RetryState())``
    progress : ``In(1)``
        Cack has moved since the state was written.
    base, linear_count, limit, endless : ``In(24)``, ``In(3)``, ``In(6)``, ``In(1)``
        First time-out; charges that leave it as it is; charges at which the QP fails; it never
        does.
    age, now : ``In(24)``
        Ticks since the packet was sent, and the time.
    outlook : ``Out(RetryOutlook())``
    """

    state: In(RetryState())
    progress: In(1)
    base: In(NOW_BITS)
    linear_count: In(3)
    limit: In(RETRY_BITS)
    endless: In(1)
    age: In(NOW_BITS)
    now: In(NOW_BITS)
    outlook: Out(RetryOutlook())

    def elaborate(self, platform):
        m = Module()

        state = Signal(RetryState())
        m.d.comb += state.eq(self.state)
        with m.If(self.progress):
            m.d.comb += [state.eq(0), state.rto.eq(self.base)]

        retries = Signal(RETRY_BITS)
        doubled = Signal(NOW_BITS + 1)
        m.d.comb += [
            retries.eq(Mux(state.retries.all(), state.retries, state.retries + 1)),
            doubled.eq(state.rto << 1),
        ]
        held = {
            name: state[f"{name}_held"] & (ahead(state[f"{name}_until"], self.now) > 0)
            for name in ("timeout", "nack")
        }
        m.d.comb += [
            self.outlook.now.eq(state),
            self.outlook.now.timeout_held.eq(held["timeout"]),
            self.outlook.now.nack_held.eq(held["nack"]),
            self.outlook.expired.eq(self.age > state.rto),
            self.outlook.retries.eq(retries),
            self.outlook.rto.eq(state.rto),
            self.outlook.exhausted.eq((retries >= self.limit) & ~self.endless),
        ]
        with m.If(retries >= self.linear_count):
            m.d.comb += self.outlook.rto.eq(Mux(doubled > LONGEST_RTO, LONGEST_RTO, doubled))

        return m
