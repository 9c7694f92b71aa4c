"""The walk over all slots, which finds what is acknowledged and what is lost."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import EvEvent, EvEventKind, QpFailure, Retired
from mrcnic.hdl.descriptor.outwards import TxRequest
from mrcnic.hdl.descriptor.sizes import NOW_BITS, index_bits, slot_bits
from mrcnic.hdl.wire.opcodes import Opcode, Role

from .finding import Cause, Finding
from .judge import Judge
from .loss_rule import LossRule
from .scoreboard import QpPsn

__all__ = ["SlotPulse", "Walker", "WalkerEvents"]


class SlotPulse(data.StructLayout):
    """A slot, in each cycle in which ``valid`` is set."""

    def __init__(self, config: NicConfig):
        super().__init__({"valid": 1, "slot": slot_bits(config)})


class WalkerEvents(data.StructLayout):
    """One-cycle pulses: resends by cause, QPs that failed, probes."""

    def __init__(self):
        super().__init__({
            "resend_hole": 1,
            "resend_timeout": 1,
            "resend_nack": 1,
            "resend_port": 1,
            "retransmit_failed": 1,
            "probe_sent": 1,
        })


class Walker(wiring.Component):
    """Decide about one slot per cycle, by the :class:`~.loss_rule.LossRule`.

    The walk never stops: where an output has no room, the slot is left as it is until the next
    lap. So a lap takes ``slots`` cycles whatever happens, and resends are queued in the order in
    which the walk finds them: the oldest first to within a lap, which is 1 us for 256 slots.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    finding : ``In(Finding(config))``
        A slot per cycle.
    next_qp : ``In(index_bits(qps))``
        QP of the finding of the next cycle.
    now : ``In(24)``
    clear : ``In(stream.Signature(QpPsn(config)))``
        QPs to be forgotten, while they have no slots.
    free, resend : ``Out(SlotPulse(config))``
        Slots that are given back, and those that are to be sent again.
    retired : ``Out(stream.Signature(Retired(config)))``
    ev_events : ``Out(stream.Signature(EvEvent(config)))``
    failed : ``Out(stream.Signature(QpFailure(config)))``
    probe : ``Out(stream.Signature(TxRequest(config)))``
        Reliability probes, whose ``body.probe.probe_id`` is theirs alone.
    events : ``Out(WalkerEvents())``
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "finding": In(Finding(config)),
            "next_qp": In(index_bits(config.qps)),
            "now": In(NOW_BITS),
            "clear": In(stream.Signature(QpPsn(config))),
            "free": Out(SlotPulse(config)),
            "resend": Out(SlotPulse(config)),
            "retired": Out(stream.Signature(Retired(config))),
            "ev_events": Out(stream.Signature(EvEvent(config))),
            "failed": Out(stream.Signature(QpFailure(config))),
            "probe": Out(stream.Signature(TxRequest(config))),
            "events": Out(WalkerEvents()),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.judge = judge = Judge(self.config)
        m.submodules.rule = rule = LossRule(self.config)
        m.d.comb += [
            judge.finding.eq(self.finding),
            judge.next_qp.eq(self.next_qp),
            judge.now.eq(self.now),
            rule.facts.eq(judge.facts),
            rule.now.eq(self.now),
            rule.stale.eq(judge.stale),
            judge.update.valid.eq(rule.changed),
            judge.update.state.eq(rule.next),
        ]
        connect(m, flipped(self.clear), judge.clear)

        finding = judge.facts.finding
        action = rule.action
        for pulse, done in ((self.free, action.free), (self.resend, action.resend)):
            m.d.sync += [pulse.valid.eq(done), pulse.slot.eq(finding.slot)]
        self._tell(m, rule)
        m.d.sync += [
            self.events.retransmit_failed.eq(action.fail),
            self.events.probe_sent.eq(action.probe),
        ]
        for cause in Cause:
            m.d.sync += self.events[f"resend_{cause.name.lower()}"].eq(action.causes[cause.value])

        return m

    def _tell(self, m, rule):
        """Fill the output streams, each as far as there is room."""
        finding, action = rule.facts.finding, rule.action
        for port, room, said in (
            (self.retired, rule.room.retired, action.retire),
            (self.ev_events, rule.room.ev_event, action.blame),
            (self.failed, rule.room.failed, action.fail),
            (self.probe, rule.room.probe, action.probe),
        ):
            m.d.comb += room.eq(~port.valid | port.ready)
            with m.If(room):
                m.d.sync += [port.valid.eq(said), port.p.qp.eq(finding.qp)]
        with m.If(rule.room.retired):
            m.d.sync += self.retired.p.octets.eq(finding.octets)
        with m.If(rule.room.ev_event):
            m.d.sync += self.ev_events.p.kind.eq(EvEventKind.BAD)
            m.d.sync += self.ev_events.p.ev_index.eq(finding.ev_index)
        with m.If(rule.room.failed):
            m.d.sync += self.failed.p.status.eq(action.status)
        with m.If(rule.room.probe):
            m.d.sync += [
                self.probe.p.opcode.eq(Opcode.PROBE),
                self.probe.p.role.eq(Role.NO_TRIM),
                self.probe.p.body.probe.probe_id.eq(action.probe_id),
                self.probe.p.avoid_ev.eq(finding.last_ev),
                self.probe.p.avoid.eq(1),
                self.probe.p.avoid_plane.eq(1),
            ]
