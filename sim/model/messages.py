"""What the two halves of the model say to each other and to their hosts."""

from dataclasses import dataclass
from enum import Enum

__all__ = [
    "Ack",
    "Immediate",
    "Mark",
    "Nack",
    "Probe",
    "QueuePair",
    "Sack",
    "Verdict",
    "WorkRequest",
    "Write",
]


class Verdict(Enum):
    """What a responder makes of a write packet."""

    NEW = "new"
    DUPLICATE = "duplicate"
    BEYOND = "beyond"
    TRIMMED = "trimmed"
    REFUSED = "refused"
    DEAD = "dead"


class Mark(Enum):
    """What a SACK says of the path of the packet that caused it."""

    NONE = 0
    SKIP = 1
    BAD = 2


@dataclass(frozen=True, kw_only=True)
class QueuePair:
    """What both ends of a connection agree on (docs/protocol.md, "QP context").

    Attributes
    ----------
    qpn, remote_qpn : :class:`int`
        Own number and the peer's.
    tx_psn, rx_psn : :class:`int`
        First PSN sent, and first expected.
    mtu : :class:`int`
        Path MTU, in octets.
    window : :class:`int`
        PSNs that may be under way.
    max_immediates : :class:`int`
        Writes with immediate that may be under way.
    cwnd : :class:`int`
        Congestion window, in octets.
    base_rtt_ns, target_delay_ns, rto_ns : :class:`int`
        Times of the loss rule, and the first retransmission time-out.
    linear_count, exponential_count : :class:`int`
        Time-outs before doubling starts; doublings before the QP fails (25: it never does).
    reorder_packets : :class:`int`
        Later sends that must be exceeded before a hole counts as lost.
    sack_threshold : :class:`int`
        Octets after which a SACK goes out unasked.
    dynamic_mpr : :class:`bool`
        SACKs tell of the responder's window, which may change.
    trim_nack : :class:`bool`
        Both ends tell each other of trimmed packets.
    """

    qpn: int
    remote_qpn: int
    tx_psn: int = 0
    rx_psn: int = 0
    mtu: int = 4096
    window: int = 1024
    max_immediates: int = 32
    cwnd: int = 225_000
    base_rtt_ns: int = 12_000
    target_delay_ns: int = 9_000
    rto_ns: int = 65_536
    linear_count: int = 7
    exponential_count: int = 7
    reorder_packets: int = 3
    sack_threshold: int = 16384
    trim_nack: bool = True
    dynamic_mpr: bool = False


@dataclass(frozen=True, kw_only=True)
class WorkRequest:
    """One RDMA WRITE."""

    identifier: int
    remote_address: int
    rkey: int
    content: bytes
    immediate: int | None = None


@dataclass(frozen=True, kw_only=True)
class Write:
    """A write packet."""

    psn: int
    msn: int
    rqmsn: int
    last: bool
    va: int
    rkey: int
    dmalen: int
    payload: bytes
    immediate: int | None
    ack_request: bool
    resent: bool
    ev_index: int
    sent_ns: int
    ce: bool = False


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A reliability probe."""

    probe_id: int
    ev_index: int
    sent_ns: int
    ce: bool = False


@dataclass(frozen=True, kw_only=True)
class Sack:
    """A selective acknowledgement; ``bitmap`` bit 0 is PSN cack + ``offset``."""

    cack: int
    offset: int
    bitmap: int
    mark: Mark
    ev_index: int
    sent_ns: int
    trigger_offset: int = 0
    probe_id: int | None = None
    trigger_resent: bool = False
    ooo_count: int = 0
    rcvd_units: int = 0
    mpr: int = 0


@dataclass(frozen=True, kw_only=True)
class Nack:
    """A packet that was not taken."""

    psn: int
    reason: int
    ev_index: int
    sent_ns: int


@dataclass(frozen=True, kw_only=True)
class Ack:
    """A transport ACK, or a NAK if ``syndrome`` says so."""

    psn: int
    msn: int
    syndrome: int


@dataclass(frozen=True, kw_only=True)
class Immediate:
    """What the receiving host is told of a write with immediate."""

    immediate: int
    octets: int
