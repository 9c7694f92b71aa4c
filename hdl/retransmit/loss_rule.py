"""What becomes of a packet that is under way."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor import NOW_BITS, Status, index_bits, slot_bits
from mrcnic.hdl.wire.psn import PSN_BITS

from .nack_board import Refusal
from .pick_log import STAMP_BITS
from .retry_rule import RETRY_BITS, RetryOutlook, RetryState
from .scoreboard import ProbeAnswer

__all__ = ["PROBE_MARK", "Action", "Cause", "Facts", "Finding", "LossRule", "Room", "WalkState"]

#: Upper octet of the identifiers of this room's probes; the lower one counts.
PROBE_MARK = 0x52


class Cause(enum.Enum, shape=2):
    """Why a packet is sent again."""

    HOLE = 0
    TIMEOUT = 1
    NACK = 2
    PORT = 3


class Finding(data.StructLayout):
    """What the walker found out about a slot.

    Members
    -------
    settled : 1
        The slot is occupied, and no send or fetch refers to it.
    stopped : 1
        Its QP was stopped.
    slot, qp, octets, ev_index : where it is, and its packet
    acked, oldest, resent : 1
        It was acknowledged; it is the first that was not; it was sent more than once.
    cack : 24
        Of the QP.
    stamp, stamp_limit : 16
        Of its last send; the same plus ``reorder_packets``.
    age : 24
        Ticks since then.
    travelled, overdue, quiet, cut_off : 1
        A round trip has passed since then; the time of the hole rule is over; the QP has not sent
        for a while; its port is down, and a round trip has passed.
    refused, refusal, refusal_due : 1, Refusal, 1
        A NACK of that send has come; which; and it is time to act on it.
    base_rto, linear_count, retry_limit, endless : of the QP
    probe_stamp, last_ev, answer : of the QP
        Stamp of the last probe; EV of the last send; last answer to a probe.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "settled": 1,
            "stopped": 1,
            "slot": slot_bits(config),
            "qp": index_bits(config.qps),
            "octets": range(config.mtu + 1),
            "ev_index": index_bits(config.evs),
            "acked": 1,
            "oldest": 1,
            "resent": 1,
            "cack": PSN_BITS,
            "stamp": STAMP_BITS,
            "stamp_limit": STAMP_BITS,
            "age": NOW_BITS,
            "travelled": 1,
            "overdue": 1,
            "quiet": 1,
            "cut_off": 1,
            "refused": 1,
            "refusal": Refusal,
            "refusal_due": 1,
            "base_rto": NOW_BITS,
            "linear_count": 3,
            "retry_limit": RETRY_BITS,
            "endless": 1,
            "probe_stamp": STAMP_BITS,
            "last_ev": index_bits(config.evs),
            "answer": ProbeAnswer(),
        })


class WalkState(data.StructLayout):
    """What the walker remembers of a QP. All zero at the start.

    Members
    -------
    known, cack : 1, 24
        Cack as it was last seen, if it was.
    failed : 1
        The QP has failed: slots are freed without a word.
    probing, probe_count, probe_until : 1, 8, 24
        A probe is out; its number; until when none follows it.
    retry : of the retry rule
    """

    def __init__(self):
        super().__init__({
            "known": 1,
            "cack": PSN_BITS,
            "failed": 1,
            "probing": 1,
            "probe_count": 8,
            "probe_until": NOW_BITS,
            "retry": RetryState(),
        })


class Room(data.StructLayout):
    """Which streams can take something now; what does not fit waits for the next lap."""

    def __init__(self):
        super().__init__({"retired": 1, "ev_event": 1, "failed": 1, "probe": 1})


class Action(data.StructLayout):
    """What is to be done about a slot.

    Members
    -------
    free, retire : 1
        Give it back; and say so.
    resend, cause, blame : 1, Cause, 1
        Send it again; why; and its EV is to blame.
    fail, status : 1, Status
        Its QP fails.
    probe, probe_id : 1, 16
        Send a reliability probe.
    """

    def __init__(self):
        super().__init__({
            "free": 1,
            "retire": 1,
            "resend": 1,
            "cause": Cause,
            "blame": 1,
            "fail": 1,
            "status": Status,
            "probe": 1,
            "probe_id": 16,
        })


class Facts(data.StructLayout):
    """What follows from a finding and its QP's state.

    Members
    -------
    finding, state : as they were read
    outlook : of the retry counter
    later, beyond : 1
        A later send was acknowledged; one more than ``reorder_packets`` later was, or a probe.
    answered : 1
        The QP's probe was.
    progress : 1
        Cack has moved.
    probe_held : 1
        It is too early for another probe.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "finding": Finding(config),
            "state": WalkState(),
            "outlook": RetryOutlook(),
            "later": 1,
            "beyond": 1,
            "answered": 1,
            "progress": 1,
            "probe_held": 1,
        })


class LossRule(wiring.Component):
    """Decide about one slot: acknowledged, lost, or to be waited for. Combinational.

    The rules are those of docs/protocol.md, "Requestor event reactions". In their order here:
    a port that went down, a NACK, a hole, a time-out. A time-out blames the EV only if a later
    send was acknowledged; otherwise only the oldest packet is sent again, and a probe goes out. A
    packet that was refused has arrived, so its EV is never blamed.

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
        live, retire, judged, lost, resend = (Signal() for _ in range(5))
        by_nack, by_hole, by_timeout, blame = (Signal() for _ in range(4))
        fatal, exhausted, fail, probe = (Signal() for _ in range(4))
        cause = Signal(Cause)

        m.d.comb += [
            live.eq(finding.settled & ~finding.stopped & ~state.failed),
            retire.eq(live & finding.acked & self.room.retired),
            by_nack.eq(finding.refused & finding.refusal_due),
            by_hole.eq(finding.overdue & facts.beyond & ~finding.refused),
            by_timeout.eq(expired & (facts.later | finding.oldest | finding.refused)),
            blame.eq(~finding.cut_off & ~finding.refused & (by_hole | (expired & facts.later))),
            judged.eq(
                live
                & ~finding.acked
                & ~self.stale
                & self.room.failed
                & (~blame | self.room.ev_event)
            ),
            lost.eq(finding.cut_off | by_nack | by_hole | by_timeout),
            fatal.eq(finding.refused & (finding.refusal == Refusal.FATAL)),
            fail.eq(judged & (fatal | exhausted)),
            resend.eq(judged & ~fail & lost),
        ]
        with m.If(finding.cut_off):
            m.d.comb += cause.eq(Cause.PORT)
        with m.Elif(by_nack):
            m.d.comb += cause.eq(Cause.NACK)
        with m.Elif(by_hole):
            m.d.comb += cause.eq(Cause.HOLE)
        with m.Else():
            m.d.comb += cause.eq(Cause.TIMEOUT)

        # Ask the peer where nothing else would make it speak.
        wanted = finding.quiet | (expired & ~facts.later & finding.oldest)
        m.d.comb += probe.eq(
            judged & wanted & ~facts.probe_held & ~facts.answered & self.room.probe
        )

        m.d.comb += [
            self.action.free.eq(retire | (finding.settled & ~live)),
            self.action.retire.eq(retire),
            self.action.resend.eq(resend),
            self.action.cause.eq(cause),
            self.action.blame.eq(resend & blame),
            self.action.fail.eq(fail),
            self.action.status.eq(Mux(fatal, Status.REMOTE_ERROR, Status.RETRY_EXCEEDED)),
            self.action.probe.eq(probe),
            self.action.probe_id.eq((state.probe_count + 1)[:8] | (PROBE_MARK << 8)),
        ]
        charged = self._charge(m, judged & (cause == Cause.NACK), judged & lost, cause, exhausted)
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

    def _charge(self, m, by_nack, lost, cause, exhausted):
        """Charge the retry counter for a NACK or a time-out; return whether that was done."""
        finding, outlook = self.facts.finding, self.facts.outlook
        first_trim = (finding.refusal == Refusal.AT_ONCE) & ~finding.resent
        charge_nack, charge_timeout, charge = Signal(), Signal(), Signal()
        until = (self.now + outlook.rto)[:NOW_BITS]
        m.d.comb += [
            charge_nack.eq(by_nack & ~first_trim & ~outlook.now.nack_held),
            charge_timeout.eq(lost & (cause == Cause.TIMEOUT) & ~outlook.now.timeout_held),
            charge.eq(charge_nack | charge_timeout),
            exhausted.eq(charge & outlook.exhausted),
        ]
        retry = self.next.retry
        m.d.comb += [
            retry.retries.eq(Mux(charge, outlook.retries, outlook.now.retries)),
            retry.rto.eq(Mux(charge, outlook.rto, outlook.now.rto)),
            retry.timeout_held.eq(outlook.now.timeout_held | charge_timeout),
            retry.timeout_until.eq(Mux(charge_timeout, until, outlook.now.timeout_until)),
            retry.nack_held.eq(outlook.now.nack_held | charge_nack),
            retry.nack_until.eq(Mux(charge_nack, until, outlook.now.nack_until)),
        ]
        return charge
