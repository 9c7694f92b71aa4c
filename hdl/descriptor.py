"""Layouts that rooms exchange. No logic.

Shapes that depend on sizes are functions of the :class:`~mrcnic.hdl.config.NicConfig`.
"""

from amaranth.lib import data, enum

from mrcnic.hdl import rows
from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.layout import HeaderLayout

__all__ = [
    "NOW_BITS",
    "Acknowledgement",
    "AllocateRequest",
    "Body",
    "Completion",
    "EvEvent",
    "EvEventKind",
    "FetchRequest",
    "MacStatus",
    "NackNotice",
    "Picked",
    "PortSettings",
    "QpFailure",
    "QpStop",
    "ReceiveCompletion",
    "Retired",
    "RxDescriptor",
    "SackBody",
    "Settings",
    "SlotRead",
    "Status",
    "StoreBeat",
    "TableWrite",
    "TxDescriptor",
    "TxRequest",
    "Verdict",
    "WorkRequest",
    "WriteBody",
    "index_bits",
    "slot_bits",
]

#: Width of ``now``, in bits: readings are told apart over 1.07 s (half of 2**24 ticks of 128 ns).
NOW_BITS = 24


def index_bits(count: int) -> int:
    """Return the width of an index below ``count``, at least 1.

    Examples
    --------
    >>> index_bits(1), index_bits(16), index_bits(17)
    (1, 4, 5)
    """
    return max(1, (count - 1).bit_length())


def slot_bits(config: NicConfig) -> int:
    """Return the width of a slot number."""
    return index_bits(config.slots)


# ---- settings and tables, from host/ to everybody ------------------------------------------------


class PortSettings(data.StructLayout):
    """What the host sets per port.

    Members
    -------
    enable : 1
        Administrative state; a port that is not enabled is down.
    own_mac, next_hop_mac : 48
        Addresses of this port and of the switch port at its other end.
    underlay : 128
        Source of the outer IPv6 header.
    usid : 16
        Own NIC uSID: the one after the block in frames for this port.
    """

    def __init__(self):
        super().__init__({
            "enable": 1,
            "own_mac": 48,
            "next_hop_mac": 48,
            "underlay": 128,
            "usid": 16,
        })


class Settings(data.StructLayout):
    """What the host sets for the whole NIC; stable except for the cycle of a register write.

    Members
    -------
    loopback : 128
        The NIC's own address: source of inner IPv6 headers, and the only destination taken.
    block : 32
        Locator block of uSIDs.
    udp_port, udp_port_alternative : 16
        Destination port sent and accepted; second port accepted.
    swap_ev : 1
        EV[15:0] is in the source port and EV[31:16] in the flow label, instead of the reverse.
    hop_limit : 8
        Hop limit of both IPv6 headers.
    dscp : ``ArrayLayout(6, 6)``
        DSCP by :class:`~mrcnic.hdl.wire.opcodes.Role`.
    base_rtt, target_delay : 16
        In ticks of 128 ns.
    reorder_packets : 8
        A hole counts as lost only if a packet sent more than so many sends later has arrived.
    sack_threshold : 24
        A SACK goes out when more octets than these have arrived since the last one.
    flush_delay : 16
        A SACK goes out so many ticks after the last packet that none has reported.
    retire_delay, retire_delay_max : 24
        Ticks for which a bad EV is out of use: the first time, and at the most.
    retry_limit_off : 1
        QPs never fail by retries.
    hold_off : 32
        Ticks that a port's signs must have been good before it is up.
    port : ``ArrayLayout(PortSettings(), lanes)``
        Per port.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "loopback": 128,
            "block": 32,
            "udp_port": 16,
            "udp_port_alternative": 16,
            "swap_ev": 1,
            "hop_limit": 8,
            "dscp": data.ArrayLayout(6, 6),
            "base_rtt": 16,
            "target_delay": 16,
            "reorder_packets": 8,
            "sack_threshold": 24,
            "flush_delay": 16,
            "retire_delay": NOW_BITS,
            "retire_delay_max": NOW_BITS,
            "retry_limit_off": 1,
            "hold_off": 32,
            "port": data.ArrayLayout(PortSettings(), config.lanes),
        })


class TableWrite(data.StructLayout):
    """A row for a table. Each room takes every write and uses those that are for it.

    Members
    -------
    table : 4
        :class:`~mrcnic.hdl.rows.Table`.
    index : 16
        Row.
    row : 512
        Contents, least significant bits first; view with ``HeaderLayout(rows.QP_ROW)`` and so on.
    """

    def __init__(self):
        super().__init__({"table": 4, "index": 16, "row": rows.ROW_BITS})


# ---- what a packet says beyond its BTH -----------------------------------------------------------


class WriteBody(data.StructLayout):
    """Headers of a write packet, as numbers. TSETH is filled in by the lane."""

    def __init__(self):
        super().__init__({
            "meth": HeaderLayout(headers.METH),
            "reth": HeaderLayout(headers.RETH),
            "immediate": 32,
        })


class SackBody(data.StructLayout):
    """Headers of a SACK, as numbers."""

    def __init__(self):
        super().__init__({
            "seth": HeaderLayout(headers.SETH),
            "cc_state": HeaderLayout(headers.CC_STATE),
        })


class Body(data.UnionLayout):
    """What stands behind the BTH; the opcode says which member.

    Members
    -------
    write, sack, nack, ack, probe
        Of opcodes ``WRITE_*``, ``SACK``, ``NACK``, ``ACK``, ``PROBE``.
    """

    def __init__(self):
        super().__init__({
            "write": WriteBody(),
            "sack": SackBody(),
            "nack": HeaderLayout(headers.NETH),
            "ack": HeaderLayout(headers.AETH),
            "probe": HeaderLayout(headers.PETH),
        })


# ---- outwards ------------------------------------------------------------------------------------


class WorkRequest(data.StructLayout):
    """One RDMA WRITE that the host asks for.

    Members
    -------
    qp : index of the QP
    identifier : 32
        Comes back in the completion.
    local_address, remote_address : 64
        Where the octets are, and where they go.
    rkey : 32
        Key of the peer's memory region.
    octets : 32
        Length, 1 to 2**32 - 1.
    with_immediate, immediate : 1, 32
        Whether the peer is to be told, and with which number.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "qp": index_bits(config.qps),
            "identifier": 32,
            "local_address": 64,
            "remote_address": 64,
            "rkey": 32,
            "octets": 32,
            "with_immediate": 1,
            "immediate": 32,
        })


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
    """End of a work request. In the order of the requests, per QP."""

    def __init__(self, config: NicConfig):
        super().__init__({
            "qp": index_bits(config.qps),
            "identifier": 32,
            "status": Status,
        })


class ReceiveCompletion(data.StructLayout):
    """A write with immediate has arrived whole and is in memory.

    Members
    -------
    qp : index of the QP
    immediate : 32
    octets : 32
        Length of the message.
    """

    def __init__(self, config: NicConfig):
        super().__init__({"qp": index_bits(config.qps), "immediate": 32, "octets": 32})


class AllocateRequest(data.StructLayout):
    """A new packet, for a slot: from requester to retransmit.

    Members
    -------
    qp, opcode, psn, ack_request, role, octets : as in :class:`TxRequest`; ``octets`` is not 0
    body : :class:`WriteBody`
    local_address : 64
        Where the payload is in host memory.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "qp": index_bits(config.qps),
            "opcode": 8,
            "psn": 24,
            "ack_request": 1,
            "role": 3,
            "body": WriteBody(),
            "octets": range(config.mtu + 1),
            "local_address": 64,
        })


class TxRequest(data.StructLayout):
    """A packet that wants a path: from requester, retransmit or responder to spray.

    Members
    -------
    qp : index of the local QP
    opcode : 8
    psn : 24
    ack_request, retransmission : 1
    role : 3
        :class:`~mrcnic.hdl.wire.opcodes.Role`.
    body : :class:`Body`
    slot, octets : payload slot, and payload octets in it; no payload if ``octets`` is 0
    avoid_ev, avoid : EV index that must not be taken while there is another; whether it holds
    avoid_plane : 1
        The plane of ``avoid_ev`` is to be avoided as well, if another can be used (probes).
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "qp": index_bits(config.qps),
            "opcode": 8,
            "psn": 24,
            "ack_request": 1,
            "retransmission": 1,
            "role": 3,
            "body": Body(),
            "slot": slot_bits(config),
            "octets": range(config.mtu + 1),
            "avoid_ev": index_bits(config.evs),
            "avoid": 1,
            "avoid_plane": 1,
        })


class Picked(data.StructLayout):
    """A path was picked for a :class:`TxRequest`, which is now on its way into a lane.

    Members
    -------
    qp, opcode, psn, slot, octets : as in the request
    ev_index : EV that was picked
    plane : its plane, which is the lane
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "qp": index_bits(config.qps),
            "opcode": 8,
            "psn": 24,
            "slot": slot_bits(config),
            "octets": range(config.mtu + 1),
            "ev_index": index_bits(config.evs),
            "plane": index_bits(config.lanes),
        })


class TxDescriptor(data.StructLayout):
    """A packet for a lane to build: everything its headers need.

    Members
    -------
    opcode, psn, ack_request, retransmission, role, body, slot, octets : as in :class:`TxRequest`
    dqp : 24
        The peer's QPN.
    ev : 32
    destination : 128
        The peer's own address.
    srv6, carrier : 1, 128
        Whether there is an outer IPv6 header, and its destination.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "opcode": 8,
            "psn": 24,
            "ack_request": 1,
            "retransmission": 1,
            "role": 3,
            "body": Body(),
            "slot": slot_bits(config),
            "octets": range(config.mtu + 1),
            "dqp": 24,
            "ev": 32,
            "destination": 128,
            "srv6": 1,
            "carrier": 128,
        })


class SlotRead(data.StructLayout):
    """A lane asks for the first ``octets`` octets of ``slot``."""

    def __init__(self, config: NicConfig):
        super().__init__({"slot": slot_bits(config), "octets": range(config.mtu + 1)})


class FetchRequest(data.StructLayout):
    """Host memory to be read into a slot: ``octets`` from ``address`` on."""

    def __init__(self, config: NicConfig):
        super().__init__({
            "slot": slot_bits(config),
            "address": 64,
            "octets": range(config.mtu + 1),
        })


class StoreBeat(data.StructLayout):
    """One beat of payload for a slot, aligned so that octet 0 of the slot is octet 0 of beat 0.

    Members
    -------
    slot, beat : where it belongs
    data : octets, the first in the least significant bits
    last : 1
        The slot's payload is complete with this beat.
    error : 1
        Host memory answered one of the slot's reads with an error; valid with ``last``.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "slot": slot_bits(config),
            "beat": index_bits(config.mtu // config.beat_octets),
            "data": 8 * config.beat_octets,
            "last": 1,
            "error": 1,
        })


# ---- inwards -------------------------------------------------------------------------------------


class RxDescriptor(data.StructLayout):
    """A packet whose ICRC is known to be good.

    Members
    -------
    lane : port it came in by
    opcode, dqp, psn, ack_request, retransmission, ce : from its headers
    ev : 32
        From source port and flow label.
    tx_timestamp : 16
        From the TSETH or PETH, else zero.
    pad : 2
    body : :class:`Body`
    octets : payload octets, without pad
    payload : 1
        The payload waits in the lane, and the lane waits for a :class:`Verdict`.
    no_room : 1
        The payload was dropped because the lane had no room; there is nothing to place.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "lane": index_bits(config.lanes),
            "opcode": 8,
            "dqp": 24,
            "psn": 24,
            "ack_request": 1,
            "retransmission": 1,
            "ce": 1,
            "ev": 32,
            "tx_timestamp": 16,
            "pad": 2,
            "body": Body(),
            "octets": range(config.mtu + 1),
            "payload": 1,
            "no_room": 1,
        })


class Verdict(data.StructLayout):
    """What becomes of the oldest payload that waits in a lane.

    Members
    -------
    place : 1
        Write it to host memory; otherwise drop it.
    address, octets : where to, and how many octets
    """

    def __init__(self, config: NicConfig):
        super().__init__({"place": 1, "address": 64, "octets": range(config.mtu + 1)})


# ---- what comes back -----------------------------------------------------------------------------


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


class EvEventKind(enum.Enum, shape=2):
    """What was learnt of an EV."""

    #: Congestion on the way: pass it over once.
    SKIP = 0
    #: A packet was lost on it, or the peer says so: out of use.
    BAD = 1


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


# ---- from the MAC --------------------------------------------------------------------------------


class MacStatus(data.StructLayout):
    """Status pins of a MAC, as a hard MAC has them; asynchronous to the engine.

    Members
    -------
    aligned : 1
        Block lock on all lanes, and lanes aligned.
    local_fault, remote_fault : 1
        This end hears nothing of use; the other end says so of itself.
    hi_ber : 1
        High bit error ratio.
    heartbeat : 1
        Toggles for as long as the receive clock runs, at least once in 32 cycles of the engine.
        A MAC without one holds it constant.
    """

    def __init__(self):
        super().__init__({
            "aligned": 1,
            "local_fault": 1,
            "remote_fault": 1,
            "hi_ber": 1,
            "heartbeat": 1,
        })
