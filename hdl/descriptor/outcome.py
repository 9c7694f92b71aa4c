"""What comes back of packets sent. No logic."""

from amaranth.lib import data, enum

from mrcnic.hdl.config import NicConfig

from .sizes import index_bits

__all__ = [
    "LINKS",
    "Acknowledgement",
    "Completion",
    "EvEvent",
    "EvEventKind",
    "EvProbeResult",
    "EvWatch",
    "LinkWatch",
    "NackNotice",
    "ProbeAnswer",
    "QpFailure",
    "QpStop",
    "RemoteMask",
    "RestRequest",
    "Retired",
    "Status",
]

#: Links that may be masked at a time.
LINKS = 16


class Status(enum.Enum, shape=4):
    """How a work request ended."""

    OK = 0
    #: The QP does not exist or is not active, or the request was bad; nothing was sent.
    REFUSED = 1
    #: No answer from the peer in all retries.
    RETRY_EXCEEDED = 2
    #: The peer refused the access (transport NAK).
    REMOTE_ACCESS = 3
    #: The peer reported an unexpected event (NACK 0x19), or another fatal NAK.
    REMOTE_ERROR = 4
    #: Host memory answered with an error.
    LOCAL_ERROR = 5
    #: The QP failed before this request's turn came.
    FLUSHED = 6


class Completion(data.StructLayout):
    """End of a work request. In the order of the requests, per QP.

    Members
    -------
    qp : index of the QP
    identifier : 32
        Of the request.
    status : :class:`Status`
        How it ended.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "qp": index_bits(config.qps),
            "identifier": 32,
            "status": Status,
        })


class Acknowledgement(data.StructLayout):
    """A valid SACK, for the scoreboard.

    Members
    -------
    qp : index of the QP
    cack : 24
        Highest PSN before the first gap.
    base, bitmap : 24, 64
        PSN of bit 0, and which PSNs from there on have arrived. Bits at or below ``cack``, and
        of PSNs never sent, are zero.
    probe, probe_id : 1, 16
        Answers a reliability probe.
    trigger_resent : 1
        Caused by a resend (BTH.rtx of the SACK).
    trigger : 24
        PSN that caused the SACK (without ``probe``).
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "qp": index_bits(config.qps),
            "cack": 24,
            "base": 24,
            "bitmap": 64,
            "probe": 1,
            "probe_id": 16,
            "trigger_resent": 1,
            "trigger": 24,
        })


class NackNotice(data.StructLayout):
    """A valid NACK of a PSN under way, for the scoreboard."""

    def __init__(self, config: NicConfig):
        super().__init__({"qp": index_bits(config.qps), "psn": 24, "reason": 8})


class Retired(data.StructLayout):
    """A slot was freed: its packet no longer counts against the congestion window."""

    def __init__(self, config: NicConfig):
        super().__init__({"qp": index_bits(config.qps), "octets": range(config.mtu + 1)})


class QpFailure(data.StructLayout):
    """A QP cannot go on: from retransmit to requester."""

    def __init__(self, config: NicConfig):
        super().__init__({"qp": index_bits(config.qps), "status": Status})


class QpStop(data.StructLayout):
    """A QP sends no more: its slots are to be freed. From requester to retransmit."""

    def __init__(self, config: NicConfig):
        super().__init__({"qp": index_bits(config.qps)})


class EvEventKind(enum.Enum, shape=3):
    """What was learnt of an EV."""

    #: Congestion on the way: pass it over once.
    SKIP = 0
    #: A packet was lost on it, or the peer says so: out of use.
    BAD = 1
    #: A probe of it was answered; with or without a mark of congestion on the way.
    ANSWERED = 2
    ANSWERED_MARKED = 3
    #: A probe of it was not answered in time.
    UNANSWERED = 4
    #: The host takes it out of use, or back into use.
    DENY = 5
    ALLOW = 6


class EvEvent(data.StructLayout):
    """News of an EV.

    Members
    -------
    qp : index of the QP
    kind : :class:`EvEventKind`
    ev_index : which EV
    echoed, ev : 1, 32
        The news came with an EV from the wire; it counts only if the table still has that value.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "qp": index_bits(config.qps),
            "kind": EvEventKind,
            "ev_index": index_bits(config.evs),
            "echoed": 1,
            "ev": 32,
        })


class EvWatch(data.StructLayout):
    """An EV went out of use: it is to be probed until answers bring it back.

    Members
    -------
    qp : index of the QP
    ev_index : which EV
    """

    def __init__(self, config: NicConfig):
        super().__init__({"qp": index_bits(config.qps), "ev_index": index_bits(config.evs)})


class LinkWatch(data.StructLayout):
    """A link is masked: it is to be probed until answers clear it.

    Members
    -------
    link : 0 to LINKS - 1
        Its number, until it is cleared.
    peer, plane, ev : as in :class:`~.outwards.EvProbeRequest`: a path that takes the link
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "link": range(LINKS),
            "peer": index_bits(config.peers),
            "plane": index_bits(config.lanes),
            "ev": 32,
        })


class ProbeAnswer(data.StructLayout):
    """A reliability probe was answered.

    Members
    -------
    qp : index of the QP
    probe_id : 16
        Of the probe: 8 bits of EV index, then 8 bits that tell probes of the same EV apart.
    marked : 1
        The probe met congestion on its way.
    """

    def __init__(self, config: NicConfig):
        super().__init__({"qp": index_bits(config.qps), "probe_id": 16, "marked": 1})


class RemoteMask(data.StructLayout):
    """Which of its ports a remote NIC can be reached by.

    Members
    -------
    peer : row of the remote NIC
    mask : lanes
        Planes that work there.
    """

    def __init__(self, config: NicConfig):
        super().__init__({"peer": index_bits(config.peers), "mask": config.lanes})


class RestRequest(data.StructLayout):
    """A plane is to rest for a remote NIC: most paths of a QP have failed there.

    Members
    -------
    peer : row of the remote NIC
    plane : which one
    """

    def __init__(self, config: NicConfig):
        super().__init__({"peer": index_bits(config.peers), "plane": index_bits(config.lanes)})


class EvProbeResult(data.StructLayout):
    """What came of an :class:`~.outwards.EvProbeRequest`.

    Members
    -------
    peer, plane, ev : as in the request
    answered : 1
        The answer came in time.
    marked : 1
        It met congestion on its way back.
    round_trip : 16
        Ticks that it took.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "peer": index_bits(config.peers),
            "plane": index_bits(config.lanes),
            "ev": 32,
            "answered": 1,
            "marked": 1,
            "round_trip": 16,
        })
