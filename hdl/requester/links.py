"""Layouts that the parts of the requester exchange. No logic.

News have a ``valid`` and no ``ready``: each lasts a cycle, and whoever needs it keeps a copy. So
every state has one writer, and its readers never wait for each other.
"""

from amaranth.lib import data, enum

from mrcnic.hdl import rows
from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import Status
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.wire.layout import HeaderLayout

__all__ = [
    "OVERHEAD_OCTETS",
    "Life",
    "LifeNews",
    "Opened",
    "Passed",
    "Popped",
    "Progress",
    "Pushed",
    "Sent",
    "pmtu_code",
    "position_bits",
]

#: Congestion window credit that a packet takes beyond its padded payload: 40 octets and, of the
#: UDP length, UDP, BTH, METH, TSETH, RETH and ICRC. An immediate is not counted, because
#: :class:`~mrcnic.hdl.descriptor.outcome.Retired` does not tell of it.
OVERHEAD_OCTETS = 40 + 8 + 12 + 4 + 4 + 16 + 4


def position_bits(config: NicConfig) -> int:
    """Return the width of a position in a send queue, whose low bits are an entry's number.

    Two positions differ by a queue's length at most, so two bits more keep their order.
    """
    return index_bits(config.send_queue) + 2


def pmtu_code(config: NicConfig) -> int:
    """Return the largest MTU code: the path MTU is ``256 << code``."""
    return (config.mtu // 256).bit_length() - 1


class Life(enum.Enum, shape=2):
    """What a QP may do."""

    #: Does not exist, or was stopped: its work requests are refused.
    CLOSED = 0
    OPEN = 1
    #: Its work requests are flushed.
    FAILED = 2


class LifeNews(data.StructLayout):
    """A QP's life has changed.

    Members
    -------
    valid, qp
    life, status
        The new state, and why it failed.
    epoch : 1
        Changes with each failure, so that each is reported once.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": 1,
            "qp": index_bits(config.qps),
            "life": Life,
            "status": Status,
            "epoch": 1,
        })


class Opened(data.StructLayout):
    """A QP opens: all its numbers start from its row.

    In this cycle nobody writes news of any QP to its own state, which leaves the write ports of
    all memories to the row.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": 1,
            "qp": index_bits(config.qps),
            "row": HeaderLayout(rows.QP_ROW),
        })


class Pushed(data.StructLayout):
    """A work request is in its send queue.

    Members
    -------
    valid, qp
    position
        Where; the next one comes behind it.
    identifier, with_immediate
        As in the request.
    refused : 1
        Nothing is to be sent for it.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": 1,
            "qp": index_bits(config.qps),
            "position": position_bits(config),
            "identifier": 32,
            "with_immediate": 1,
            "refused": 1,
        })


class Passed(data.StructLayout):
    """The segmenter is through with work requests.

    Members
    -------
    valid, qp
    head
        Position of the next one.
    ended : 1
        They have ended with this: refused ones, or those of a QP that is not open.
    dropped : 1
        The QP is closed, and nothing of it will be sent any more.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": 1,
            "qp": index_bits(config.qps),
            "head": position_bits(config),
            "ended": 1,
            "dropped": 1,
        })


class Sent(data.StructLayout):
    """A packet was made.

    Members
    -------
    valid, qp
    next_psn : 24
        PSN of the next packet.
    messages : 24
        Messages sent whole.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": 1,
            "qp": index_bits(config.qps),
            "next_psn": 24,
            "messages": 24,
        })


class Progress(data.StructLayout):
    """The peer has acknowledged something.

    Members
    -------
    valid, qp
    cack : 24
        Highest PSN before the first gap.
    messages : 24
        Messages that are done at the peer.
    mpr : 8
        The peer's window.
    cack_moved, messages_moved, mpr_moved : 1
        Which of them is new.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": 1,
            "qp": index_bits(config.qps),
            "cack": 24,
            "messages": 24,
            "mpr": 8,
            "cack_moved": 1,
            "messages_moved": 1,
            "mpr_moved": 1,
        })


class Popped(data.StructLayout):
    """Work requests have left their send queue.

    Members
    -------
    valid, qp
    done
        Position of the oldest that is left.
    immediates : 16
        Writes with immediate that are done at the peer.
    immediates_moved : 1
        Whether that is new.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": 1,
            "qp": index_bits(config.qps),
            "done": position_bits(config),
            "immediates": 16,
            "immediates_moved": 1,
        })
