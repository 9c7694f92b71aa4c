"""What becomes of a packet that is under way."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor import NOW_BITS, Status, index_bits, slot_bits
from mrcnic.hdl.wire.psn import PSN_BITS
from mrcnic.hdl.wire.serial import ahead

from .nack_board import Refusal
from .pick_log import STAMP_BITS
from .retry_rule import RETRY_BITS, RetryRule, RetryState
from .scoreboard import ProbeAnswer
from .stamp_rule import StampRule, StampState

__all__ = ["PROBE_MARK", "Action", "Cause", "Finding", "LossRule", "Room", "WalkState"]

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
    probing, probe_count, probe_time : 1, 8, 24
        A probe is out; its number; since when.
    stamps, retry : of the rules
    """

    def __init__(self):
        super().__init__({
            "known": 1,
            "cack": PSN_BITS,
            "failed": 1,
            "probing": 1,
            "probe_count": 8,
            "probe_time": NOW_BITS,
            "stamps": StampState(),
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


class LossRule(wiring.Component):
    """Decide about one slot: acknowledged, lost, or to be waited for. Combinational.

    The rules are those of docs/protocol.md, "Requestor event reactions". In their order here:
    a port that went down, a NACK, a hole, a time-out. A time-out blames the EV only if a later
    send was acknowledged; otherwise only the oldest packet is sent again, and a probe goes out. A
    packet that was refused has arrived, so its EV is never blamed.

    Members
    -------
    finding, state, room, now : ``In``
        The slot, its QP, what can be done, and the time.
    action, next : ``Out(Action())``, ``Out(WalkState())``
        What to do, and the QP's next state.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "finding": In(Finding(config)),
            "state": In(WalkState()),
            "room": In(Room()),
            "now": In(NOW_BITS),
            "action": Out(Action()),
            "next": Out(WalkState()),
        })

    def elaborate(self, platform):
        m = Module()

        finding, state = self.finding, self.state
        m.submodules.stamps = stamps = StampRule()
        m.submodules.retry = retry = RetryRule()

        # Signals of their own: no tool sees through a structure that is used while it is filled.
        retire, resend, fail, probe = Signal(), Signal(), Signal(), Signal()
        cause = Signal(Cause)

        # Free what was acknowledged. An answered probe is noted first; the slot waits a lap.
        live = Signal()
        answered = Signal()
        waiting = Signal()
        m.d.comb += [
            live.eq(finding.settled & ~finding.stopped & ~state.failed),
            answered.eq(
                live
                & state.probing
                & finding.answer.valid
                & (finding.answer.probe_id == (state.probe_count | (PROBE_MARK << 8)))
            ),
            waiting.eq(live & ~finding.acked),
            retire.eq(live & finding.acked & ~answered & self.room.retired),
            stamps.state.eq(state.stamps),
            stamps.stamp.eq(finding.stamp),
            stamps.limit.eq(finding.stamp_limit),
            # Too early an answer to a resend is the answer to the send before it.
            stamps.acked.eq(retire & (~finding.resent | finding.travelled)),
            stamps.probe_acked.eq(answered),
            stamps.probe_stamp.eq(finding.probe_stamp),
        ]

        # Send again what is lost.
        by_nack, by_hole, expired = Signal(), Signal(), Signal()
        blame, by_timeout = Signal(), Signal()
        m.d.comb += [
            by_nack.eq(finding.refused & finding.refusal_due),
            by_hole.eq(finding.overdue & stamps.beyond & ~finding.refused),
            expired.eq(finding.age > retry.rto),
            by_timeout.eq(expired & (stamps.later | finding.oldest | finding.refused)),
            blame.eq(~finding.cut_off & ~finding.refused & (by_hole | (expired & stamps.later))),
        ]
        able = self.room.failed & (~blame | self.room.ev_event)
        judged = Signal()
        m.d.comb += judged.eq(waiting & able)
        fatal = finding.refused & (finding.refusal == Refusal.FATAL)
        lost = finding.cut_off | by_nack | by_hole | by_timeout
        with m.If(finding.cut_off):
            m.d.comb += cause.eq(Cause.PORT)
        with m.Elif(by_nack):
            m.d.comb += cause.eq(Cause.NACK)
        with m.Elif(by_hole):
            m.d.comb += cause.eq(Cause.HOLE)
        with m.Else():
            m.d.comb += cause.eq(Cause.TIMEOUT)
        m.d.comb += [
            fail.eq(judged & (fatal | retry.exhausted)),
            resend.eq(judged & ~fail & lost),
        ]

        self._charge(m, retry, judged, by_nack, by_timeout & ~by_hole)

        # Ask the peer where nothing else would make it speak.
        unanswered = ahead(self.now, (state.probe_time + retry.rto)[:NOW_BITS]) > 0
        wanted = finding.quiet | (expired & ~stamps.later & finding.oldest)
        m.d.comb += [
            probe.eq(judged & wanted & (~state.probing | unanswered) & ~answered & self.room.probe),
        ]

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
        m.d.comb += [
            self.next.stamps.eq(stamps.next),
            self.next.retry.eq(retry.next),
            self.next.known.eq(state.known | live),
            self.next.cack.eq(finding.cack),
            self.next.failed.eq(state.failed | fail),
            self.next.probing.eq((state.probing & ~answered) | probe),
            self.next.probe_count.eq(state.probe_count + probe),
            self.next.probe_time.eq(Mux(probe, self.now, state.probe_time)),
        ]

        return m

    def _charge(self, m, retry, judged, by_nack, by_timeout):
        """Connect the retry counter, and charge it for a NACK or a time-out."""
        finding, state = self.finding, self.state
        first_trim = (finding.refusal == Refusal.AT_ONCE) & ~finding.resent
        m.d.comb += [
            retry.state.eq(state.retry),
            retry.progress.eq(~state.known | (state.cack != finding.cack)),
            retry.base.eq(finding.base_rto),
            retry.linear_count.eq(finding.linear_count),
            retry.limit.eq(finding.retry_limit),
            retry.endless.eq(finding.endless),
            retry.now.eq(self.now),
            retry.timeout.eq(judged & by_timeout & ~finding.cut_off & ~by_nack),
            retry.nack.eq(judged & by_nack & ~finding.cut_off & ~first_trim),
        ]
