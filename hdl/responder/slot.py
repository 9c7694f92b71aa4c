"""What travels through the responder's pipeline. No logic.

The pipeline moves every third cycle, so that each of its memories can be read, changed and written
before the next slot reads it: in phase 1 reads are issued, in phase 2 their data is there, in phase
0 the result is written and the slot moves on. A slot never stops; room for whatever it may produce
is checked before it starts.
"""

from amaranth.lib import data, enum

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import index_bits

__all__ = [
    "PHASES",
    "TICKET_BITS",
    "Clear",
    "Outcome",
    "Packet",
    "Received",
    "Slot",
    "SlotOp",
    "Visit",
    "WorkItem",
    "window_bits",
]

#: Cycles from slot to slot.
PHASES = 3

#: Width of a ticket; tickets under way never number half as many as there are.
TICKET_BITS = 12


def window_bits(config: NicConfig) -> int:
    """Return the width of a PSN modulo the window."""
    return (config.window - 1).bit_length()


class SlotOp(enum.Enum, shape=3):
    """What a slot is for."""

    #: A packet arrived.
    PACKET = 0
    #: Step cack over what was received before, in the background.
    ADVANCE = 1
    #: The QP may have been idle for so long that a SACK is due.
    FLUSH = 2
    #: A SACK could not show all that was received: one more is due when the QP has been idle.
    REMAIN = 3
    #: Host memory refused a write of the QP.
    FAIL = 4


class WorkItem(data.StructLayout):
    """Work that is no packet: operation and index of the QP."""

    def __init__(self, config: NicConfig):
        super().__init__({"op": SlotOp, "qp": index_bits(config.qps)})


class Packet(data.StructLayout):
    """What the pipeline needs to know of a packet.

    Members
    -------
    lane, dqp, psn, ack_request, retransmission, ce, ev, tx_timestamp, octets, payload, no_room, \
            trimmed, last_hop
        As in the receive descriptor.
    write, probe : 1
        Kind; a packet that is neither is not taken.
    first, last, with_immediate : 1
        Place in its message.
    va, rkey, dmalen, rqmsn, immediate : of a write
    probe_id : of a probe
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "lane": index_bits(config.lanes),
            "dqp": 24,
            "psn": 24,
            "ack_request": 1,
            "retransmission": 1,
            "ce": 1,
            "ev": 32,
            "tx_timestamp": 16,
            "pad": 2,
            "octets": range(config.mtu + 1),
            "payload": 1,
            "no_room": 1,
            "trimmed": 1,
            "last_hop": 1,
            "write": 1,
            "probe": 1,
            "first": 1,
            "last": 1,
            "with_immediate": 1,
            "va": 64,
            "rkey": 32,
            "dmalen": 32,
            "rqmsn": 16,
            "immediate": 32,
            "probe_id": 16,
        })


class Slot(data.StructLayout):
    """One step of the pipeline.

    Members
    -------
    valid : 1
        There is something in the slot.
    op : :class:`SlotOp`
    qp : index of the QP
    packet : :class:`Packet`, of ``PACKET``
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": 1,
            "op": SlotOp,
            "qp": index_bits(config.qps),
            "packet": Packet(config),
        })


class Received(data.StructLayout):
    """What a QP has received.

    Members
    -------
    highest : 24
        Highest PSN.
    following : 24
        PSN that would be expected next if there were no gaps below it.
    octets : 32
        Nominal octets: UDP length and 40 of each new packet.
    """

    def __init__(self):
        super().__init__({"highest": 24, "following": 24, "octets": 32})


class Outcome(data.StructLayout):
    """What was decided of a slot.

    Members
    -------
    known : 1
        The QP exists, and the packet is meant for it.
    spdcid, dpdcid : 16
        Low bits of the QP's own number and of the peer's.
    new : 1
        A write whose PSN was not seen before and that is taken.
    duplicate : 1
        A write whose PSN was seen before.
    probe : 1
        A probe to be answered.
    nack, reason : 1, 8
        A NACK is to be sent.
    acknowledge : 1
        The transport ACK is to be sent once more.
    failed, nak : 1
        The QP has failed before; its NAK is to be sent, for the first time or once more.
    state : :class:`Received`
        What the QP has received, with this slot.
    """

    def __init__(self):
        super().__init__({
            "known": 1,
            "spdcid": 16,
            "dpdcid": 16,
            "new": 1,
            "duplicate": 1,
            "probe": 1,
            "nack": 1,
            "reason": 8,
            "acknowledge": 1,
            "failed": 1,
            "nak": 1,
            "state": Received(),
        })


class Visit(data.StructLayout):
    """Messages of a QP that cack has passed in one step, or a NAK that is due.

    Members
    -------
    qp : index of the QP
    count : number of messages, up to 64
    msn : 24
        Number of messages passed since the QP was made, with these.
    acknowledge : 1
        One of them asked for an ACK.
    nak : 1
        The QP has failed, and these are the last messages that it takes.
    expected : 24
        First PSN that cack has not passed.
    tickets : one per lane
        Writes issued up to then.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "qp": index_bits(config.qps),
            "count": range(65),
            "msn": 24,
            "acknowledge": 1,
            "nak": 1,
            "expected": 24,
            "tickets": data.ArrayLayout(TICKET_BITS, config.lanes),
        })


class Clear(data.StructLayout):
    """Order to clear state; nothing else writes meanwhile.

    Members
    -------
    valid : 1
    qp : index of the QP
    row : row of state that has several rows per QP; others may take any
    psn : 24
        First PSN that will be expected.
    """

    def __init__(self, config: NicConfig):
        rows = max(config.window // 64, config.immediates)
        super().__init__({
            "valid": 1,
            "qp": index_bits(config.qps),
            "row": index_bits(rows),
            "psn": 24,
        })
