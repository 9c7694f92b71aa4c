"""What is kept of an EV that is probed. No logic."""

from amaranth.lib import data, enum

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import NOW_BITS, index_bits

__all__ = [
    "ANSWERS",
    "BACKOFFS",
    "UNIT_BITS",
    "WHEN_BITS",
    "PendingProbe",
    "WatchOperation",
    "WatchOperationKind",
    "WatchRow",
]

#: Answers in a row that bring an EV back.
ANSWERS = 3

#: Times that the wait between two probes may double.
BACKOFFS = 7

#: When a probe is due is kept in units of so many bits less than ``now``, 64 ticks or 8.2 us, and
#: in so many bits, half of which, 16.8 ms, are told apart.
UNIT_BITS, WHEN_BITS = 6, 12


class WatchRow(data.StructLayout):
    """One EV of one QP, in 18 bits.

    Members
    -------
    answers : 0 to 3
        0: the EV is not watched. Otherwise one more than the answers in a row.
    waiting : 1
        A probe is out.
    backoff : 0 to 7
        How often the wait was doubled.
    when : 12
        When a probe is due; while one is out, the lower octet of its id.
    """

    def __init__(self):
        super().__init__({
            "answers": range(ANSWERS + 1),
            "waiting": 1,
            "backoff": range(BACKOFFS + 1),
            "when": WHEN_BITS,
        })


class PendingProbe(data.StructLayout):
    """A probe that was sent, and when."""

    def __init__(self, config: NicConfig):
        super().__init__({
            "qp": index_bits(config.qps),
            "ev_index": index_bits(config.evs),
            "number": 8,
            "sent": NOW_BITS,
        })


class WatchOperationKind(enum.Enum, shape=3):
    """What is done to a row."""

    #: Send a probe if one is due.
    WALK = 0
    #: The EV has gone out of use.
    WATCH = 1
    #: A probe was answered.
    ANSWERED = 2
    #: A probe was not answered.
    UNANSWERED = 3
    #: The QP begins a new life.
    CLEAR = 4


class WatchOperation(data.StructLayout):
    """An operation on a row.

    Members
    -------
    kind : :class:`WatchOperationKind`
    qp, ev_index : which row
    number : 8
        Lower octet of the probe's id.
    marked : 1
        The answer says that the probe met congestion.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "kind": WatchOperationKind,
            "qp": index_bits(config.qps),
            "ev_index": index_bits(config.evs),
            "number": 8,
            "marked": 1,
        })
