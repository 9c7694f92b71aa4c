"""Layouts of the walk: what is found out about a slot, and what is done about it. No logic."""

from amaranth.lib import data, enum

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import Status
from mrcnic.hdl.descriptor.sizes import NOW_BITS, index_bits, slot_bits
from mrcnic.hdl.wire.psn import PSN_BITS

from .nack_board import Refusal
from .pick_log import STAMP_BITS
from .retry_rule import RETRY_BITS, RetryOutlook, RetryState
from .scoreboard import ProbeAnswer

__all__ = ["Action", "Cause", "Facts", "Finding", "Room", "WalkState"]


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
        for a while; its port has been down since then, and a round trip has passed.
    dark : 1
        All ports are down.
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
            "dark": 1,
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
    resend, causes, blame : 1, 4, 1
        Send it again; why, a bit for each :class:`Cause`; and its EV is to blame.
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
            "causes": len(Cause),
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
