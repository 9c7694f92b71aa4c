"""Retransmission time-outs and the retry counter of a QP."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import TICK_NS
from mrcnic.hdl.descriptor import NOW_BITS
from mrcnic.hdl.wire.serial import ahead

__all__ = ["FOR_EVER", "LONGEST_RTO", "RETRY_BITS", "RetryRule", "RetryState"]

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


class RetryRule(wiring.Component):
    """Charge the retry counter, and stretch the time-out. Combinational.

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
    now : ``In(24)``
    rto : ``Out(24)``
        Current time-out.
    timeout, nack : ``In(1)``
        A packet's time-out has expired; a NACK that is charged.
    exhausted : ``Out(1)``
        This charge is the last one.
    next : ``Out(RetryState())``
        Next state.
    """

    state: In(RetryState())
    progress: In(1)
    base: In(NOW_BITS)
    linear_count: In(3)
    limit: In(RETRY_BITS)
    endless: In(1)
    now: In(NOW_BITS)
    rto: Out(NOW_BITS)
    timeout: In(1)
    nack: In(1)
    exhausted: Out(1)
    next: Out(RetryState())

    def elaborate(self, platform):
        m = Module()

        state = Signal(RetryState())
        m.d.comb += state.eq(self.state)
        with m.If(self.progress):
            m.d.comb += [state.eq(0), state.rto.eq(self.base)]
        m.d.comb += self.rto.eq(state.rto)

        timeout_held = state.timeout_held & (ahead(state.timeout_until, self.now) > 0)
        nack_held = state.nack_held & (ahead(state.nack_until, self.now) > 0)
        charge_timeout = self.timeout & ~timeout_held
        charge_nack = self.nack & ~nack_held
        charge = charge_timeout | charge_nack

        retries = Signal(RETRY_BITS)
        rto, doubled = Signal(NOW_BITS), Signal(NOW_BITS + 1)
        m.d.comb += [
            retries.eq(Mux(state.retries.all(), state.retries, state.retries + 1)),
            doubled.eq(state.rto << 1),
            rto.eq(state.rto),
            self.next.eq(state),
            self.next.timeout_held.eq(timeout_held | charge_timeout),
            self.next.nack_held.eq(nack_held | charge_nack),
        ]
        with m.If(retries >= self.linear_count):
            m.d.comb += rto.eq(Mux(doubled > LONGEST_RTO, LONGEST_RTO, doubled))
        until = Signal(NOW_BITS)
        m.d.comb += until.eq(self.now + rto)
        with m.If(charge):
            m.d.comb += [self.next.retries.eq(retries), self.next.rto.eq(rto)]
        with m.If(charge_timeout):
            m.d.comb += self.next.timeout_until.eq(until)
        with m.If(charge_nack):
            m.d.comb += self.next.nack_until.eq(until)
        m.d.comb += self.exhausted.eq(charge & (retries >= self.limit) & ~self.endless)

        return m
