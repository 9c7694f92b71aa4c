"""Everything the loss rule wants to know of a slot, collected in four cycles."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import Settings
from mrcnic.hdl.descriptor.sizes import NOW_BITS, index_bits, slot_bits
from mrcnic.hdl.wire.psn import PSN_BITS

from .finding import Finding
from .nack_board import Refusal, Refused
from .pick_log import LastSend, Sent
from .qp_states import RetrySettings, Visit
from .retry_rule import FOR_EVER, LONGEST_RTO
from .scoreboard import Query
from .slot_rows import SlotKey

__all__ = ["SlotSurvey"]


class SlotSurvey(wiring.Component):
    """Go round all slots, one per cycle, and find out about each.

    First what is kept by slot, then what is kept by QP, then differences, then comparisons: a
    register behind each. What is kept of a slot that is settled only ever changes by what the
    walker does about it, so nothing is out of date that matters.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    slot : ``Out(slot_bits)``
        Asks for a slot.
    key, sent, resent, refused : ``In``
        The answers, one cycle later.
    ledger_slot : ``Out(slot_bits)``
        Asks the ledger, in the cycle of these answers.
    busy, occupied : ``In(1)``
        Its answers, in the same cycle.
    query : ``Out(Query(config))``
        Asks the scoreboard; its ``at.qp`` asks the others as well.
    stopped, retry, last : ``In``
        The answers, one cycle later.
    visit : ``Out(Visit(config))``
        For those who wait for a QP to have no slots.
    finding : ``Out(Finding(config))``
        A slot per cycle, four cycles after it was asked for.
    next_qp : ``Out(index_bits(qps))``
        QP of the next finding.
    settings, now, port_up : ``In``
    """

    def __init__(self, config: NicConfig):
        self.config = config
        bits = slot_bits(config)
        super().__init__({
            "slot": Out(bits),
            "key": In(SlotKey(config)),
            "sent": In(Sent(config)),
            "resent": In(2),
            "refused": In(Refused(config)),
            "ledger_slot": Out(bits),
            "busy": In(1),
            "occupied": In(1),
            "query": Out(Query(config)),
            "stopped": In(1),
            "retry": In(RetrySettings()),
            "last": In(LastSend(config)),
            "visit": Out(Visit(config)),
            "finding": Out(Finding(config)),
            "next_qp": Out(index_bits(config.qps)),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "port_up": In(config.lanes),
        })

    def elaborate(self, platform):
        m = Module()

        config = self.config
        by_slot, by_qp = Signal(Finding(config)), Signal(Finding(config))
        times = data.StructLayout({
            "sent": Sent(config),
            "refused": Refused(config),
            "occupied": 1,
            "psn": PSN_BITS,
        })
        held = Signal(times)

        # By slot.
        m.d.sync += self.slot.eq(self.slot + 1)
        m.d.sync += self.ledger_slot.eq(self.slot)
        same = self.refused.qp == self.key.qp
        m.d.comb += [
            self.query.at.qp.eq(self.key.qp),
            self.query.at.psn.eq(self.key.psn),
        ]
        m.d.sync += [
            by_slot.slot.eq(self.ledger_slot),
            by_slot.settled.eq(self.occupied & ~self.busy),
            by_slot.qp.eq(self.key.qp),
            by_slot.octets.eq(self.key.octets),
            by_slot.ev_index.eq(self.sent.ev_index),
            by_slot.resent.eq(self.resent != 0),
            by_slot.stamp.eq(self.sent.stamp),
            by_slot.refused.eq(
                same & (self.refused.psn == self.key.psn) & (self.refused.stamp == self.sent.stamp)
            ),
            by_slot.refusal.eq(self.refused.refusal),
            held.sent.eq(self.sent),
            held.refused.eq(self.refused),
            held.occupied.eq(self.occupied),
            held.psn.eq(self.key.psn),
        ]

        # By QP.
        m.d.comb += [
            self.visit.occupied.eq(held.occupied),
            self.visit.qp.eq(by_slot.qp),
            self.visit.last.eq(by_slot.slot == config.slots - 1),
        ]
        base = Signal(NOW_BITS)
        with m.Switch(self.retry.timeout):
            for timeout in range(32):
                with m.Case(timeout):  # 1.024 us are 8 ticks
                    m.d.comb += base.eq(min(8 << timeout, LONGEST_RTO))
        idle, refused_age, lane_age = Signal(NOW_BITS), Signal(NOW_BITS), Signal(NOW_BITS)
        m.d.sync += [
            by_qp.eq(by_slot),
            by_qp.stopped.eq(self.stopped),
            by_qp.acked.eq(self.query.acked),
            by_qp.oldest.eq((held.psn - self.query.cack)[:PSN_BITS] == 1),
            by_qp.cack.eq(self.query.cack),
            by_qp.stamp_limit.eq(by_slot.stamp + self.settings.reorder_packets),
            by_qp.age.eq(self.now - held.sent.time),
            by_qp.dark.eq(~self.port_up.any()),
            by_qp.refusal_due.eq(self.query.cack != held.refused.cack),
            by_qp.base_rto.eq(base),
            by_qp.linear_count.eq(self.retry.linear_count),
            by_qp.retry_limit.eq(self.retry.linear_count + self.retry.exponential_count),
            by_qp.endless.eq(
                (self.retry.exponential_count == FOR_EVER) | self.settings.retry_limit_off
            ),
            by_qp.probe_stamp.eq(self.last.probe_stamp),
            by_qp.last_ev.eq(self.last.sent.ev_index),
            by_qp.answer.eq(self.query.answer),
            idle.eq(self.now - self.last.sent.time),
            refused_age.eq(self.now - held.refused.time),
        ]
        all_up_for = self._up_for(m)
        with m.Switch(held.sent.plane):
            for p, up_for in enumerate(all_up_for):
                with m.Case(p):
                    m.d.sync += lane_age.eq(up_for)

        # Comparisons of times.
        rtt = self.settings.base_rtt
        hole, quiet = Signal(18), Signal(18)
        m.d.sync += hole.eq(rtt + (rtt >> 2) + self.settings.target_delay)
        m.d.sync += quiet.eq(rtt + (rtt >> 1))
        m.d.comb += self.next_qp.eq(by_qp.qp)
        m.d.sync += [
            self.finding.eq(by_qp),
            self.finding.travelled.eq(by_qp.age > rtt),
            self.finding.overdue.eq(by_qp.age > hole),
            self.finding.cut_off.eq((by_qp.age > lane_age) & (by_qp.age > rtt)),
            self.finding.quiet.eq(idle > quiet),
        ]
        with m.If(by_qp.refusal == Refusal.AT_ONCE):
            m.d.sync += self.finding.refusal_due.eq(1)
        with m.Elif(by_qp.refusal == Refusal.LATER):
            m.d.sync += self.finding.refusal_due.eq(refused_age > rtt)

        return m

    def _up_for(self, m):
        """Return for how many ticks each port has been up; it stays at the most there is."""
        last, tick = Signal(NOW_BITS), Signal()
        m.d.sync += [last.eq(self.now), tick.eq(self.now != last)]
        all_up_for = [Signal(NOW_BITS, name=f"up_for_{p}") for p in range(self.config.lanes)]
        for p, up_for in enumerate(all_up_for):
            with m.If(~self.port_up[p]):
                m.d.sync += up_for.eq(0)
            with m.Elif(tick & ~up_for.all()):
                m.d.sync += up_for.eq(up_for + 1)
        return all_up_for
