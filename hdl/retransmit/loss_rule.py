"""What becomes of a packet that is under way."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import Status
from mrcnic.hdl.descriptor.sizes import NOW_BITS
from mrcnic.hdl.wire.opcodes import ProbeKind

from .finding import Action, Cause, Facts, Room, WalkState
from .nack_board import Refusal

__all__ = ["LossRule"]


class LossRule(wiring.Component):
    """Decide about one slot: acknowledged, lost, or to be waited for. Combinational.

    The rules are those of docs/protocol.md, "Requestor event reactions". In their order here:
    a port that went down, a NACK, a hole, a time-out. A time-out blames the EV only if a later
    send was acknowledged; otherwise only the oldest packet is sent again, and a probe goes out. A
    packet that was refused has arrived, so its EV is never blamed. While all ports are down, only
    time-outs count, which is what ends a QP.

    Members
    -------
    facts, room, now : ``In``
        The slot and its QP, what can be done, and the time.
    stale : ``In(1)``
        The QP's state was written since it was read: the slot waits for the next lap, unless it
        is to be freed.
    action, next : ``Out(Action())``, ``Out(WalkState())``
        What to do, and the QP's next state.
    changed : ``Out(1)``
        The next state is to be written.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "facts": In(Facts(config)),
            "room": In(Room()),
            "now": In(NOW_BITS),
            "stale": In(1),
            "action": Out(Action()),
            "next": Out(WalkState()),
            "changed": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        facts, finding, state = self.facts, self.facts.finding, self.facts.state
        expired = facts.outlook.expired

        # Signals of their own: no tool sees through a structure that is used while it is filled.
        # What is true of the slot and what can be done about it only meet at the end.
        live, retire, judged, lost, resend = (Signal() for _ in range(5))
        by_port, by_nack, by_hole, by_timeout, blame = (Signal() for _ in range(5))
        fatal, exhausted, fail, probe = (Signal() for _ in range(4))
        causes = {cause: Signal(name=f"cause_{cause.name.lower()}") for cause in Cause}

        m.d.comb += [
            live.eq(finding.settled & ~finding.stopped & ~state.failed),
            retire.eq(live & finding.acked & self.room.retired),
            by_nack.eq(finding.refused & finding.refusal_due),
            by_port.eq(finding.cut_off & ~finding.dark),
            by_hole.eq(finding.overdue & facts.beyond & ~finding.refused & ~finding.cut_off),
            by_timeout.eq(expired & (facts.later | finding.oldest | finding.refused)),
            blame.eq(~finding.cut_off & ~finding.refused & (by_hole | (expired & facts.later))),
            judged.eq(
                live
                & ~finding.acked
                & ~self.stale
                & self.room.failed
                & (~blame | self.room.ev_event)
            ),
            causes[Cause.PORT].eq(by_port),
            causes[Cause.NACK].eq(by_nack & ~by_port),
            causes[Cause.HOLE].eq(by_hole & ~by_nack & ~by_port),
            causes[Cause.TIMEOUT].eq(by_timeout & ~by_hole & ~by_nack & ~by_port),
            lost.eq(by_port | by_nack | by_hole | by_timeout),
            fatal.eq(finding.refused & (finding.refusal == Refusal.FATAL)),
            fail.eq(judged & (fatal | exhausted)),
            resend.eq(judged & lost & ~(fatal | exhausted)),
        ]

        # Ask the peer where nothing else would make it speak.
        wanted = finding.quiet | (expired & ~facts.later & finding.oldest)
        m.d.comb += probe.eq(
            judged & wanted & ~facts.probe_held & ~facts.answered & self.room.probe
        )

        m.d.comb += [
            self.action.free.eq(retire | (finding.settled & ~live)),
            self.action.retire.eq(retire),
            self.action.resend.eq(resend),
            self.action.blame.eq(resend & blame),
            self.action.fail.eq(fail),
            self.action.status.eq(Mux(fatal, Status.REMOTE_ERROR, Status.RETRY_EXCEEDED)),
            self.action.probe.eq(probe),
            self.action.probe_id.eq(ProbeKind.TAIL | ((state.probe_count + 1)[:8] << 8)),
        ]
        m.d.comb += [self.action.causes[cause.value].eq(resend & causes[cause]) for cause in Cause]
        charged = self._charge(m, judged, causes, exhausted)
        noted = live & ~self.stale & (facts.progress | facts.answered)
        m.d.comb += [
            self.changed.eq(noted | charged | fail | probe),
            self.next.known.eq(state.known | live),
            self.next.cack.eq(finding.cack),
            self.next.failed.eq(state.failed | fail),
            self.next.probing.eq((state.probing & ~facts.answered) | probe),
            self.next.probe_count.eq(state.probe_count + probe),
            self.next.probe_until.eq(
                Mux(probe, (self.now + facts.outlook.now.rto)[:NOW_BITS], state.probe_until)
            ),
        ]

        return m

    def _charge(self, m, judged, causes, exhausted):
        """Charge the retry counter for a NACK or a time-out; return whether that was done."""
        finding, outlook = self.facts.finding, self.facts.outlook
        first_trim = (finding.refusal == Refusal.AT_ONCE) & ~finding.resent
        by_nack, by_timeout, charge = Signal(), Signal(), Signal()
        until = (self.now + outlook.rto)[:NOW_BITS]
        m.d.comb += [
            by_nack.eq(causes[Cause.NACK] & ~first_trim & ~outlook.now.nack_held),
            by_timeout.eq(causes[Cause.TIMEOUT] & ~outlook.now.timeout_held),
            exhausted.eq((by_nack | by_timeout) & outlook.exhausted),
            charge.eq(judged & (by_nack | by_timeout)),
        ]
        retry = self.next.retry
        m.d.comb += [
            retry.retries.eq(Mux(charge, outlook.retries, outlook.now.retries)),
            retry.rto.eq(Mux(charge, outlook.rto, outlook.now.rto)),
            retry.timeout_held.eq(outlook.now.timeout_held | (judged & by_timeout)),
            retry.timeout_until.eq(Mux(judged & by_timeout, until, outlook.now.timeout_until)),
            retry.nack_held.eq(outlook.now.nack_held | (judged & by_nack)),
            retry.nack_until.eq(Mux(judged & by_nack, until, outlook.now.nack_until)),
        ]
        return charge
