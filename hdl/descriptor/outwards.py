"""From a work request to a frame. No logic."""

from amaranth.lib import data

from mrcnic.hdl.config import NicConfig

from .body import Body, WriteBody
from .sizes import index_bits, slot_bits

__all__ = [
    "AllocateRequest",
    "EvProbeRequest",
    "FetchRequest",
    "Picked",
    "SlotRead",
    "StoreBeat",
    "TxDescriptor",
    "TxRequest",
    "WorkRequest",
]


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
    fixed : 1
        The path is ``avoid_ev`` itself, whatever its state (probes of that path).
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
            "fixed": 1,
        })


class Picked(data.StructLayout):
    """A path was picked for a :class:`TxRequest`, which is now on its way into a lane.

    Members
    -------
    qp, opcode, psn, slot, octets : as in the request
    ev_index : EV that was picked
    plane : its plane, which is the lane
    fixed : as in the request: a probe of that very path
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
            "fixed": 1,
        })


class TxDescriptor(data.StructLayout):
    """A packet for a lane to build: everything its headers need.

    Members
    -------
    opcode, psn, ack_request, retransmission, role, body, slot, octets : as in :class:`TxRequest`
    dqp : 24
        The peer's QPN.
    ev : 32
    ipv4, destination : 1, 128
        The peer's own address, and whether it is one of IPv4.
    srv6, carrier : 1, 128
        Whether there is an outer IPv6 header, and its destination.
    segments, reduced, route : 4, 1, ...
        Segment routing header behind it, as in :data:`~mrcnic.hdl.rows.QP_ROW`.
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
            "ipv4": 1,
            "destination": 128,
            "srv6": 1,
            "carrier": 128,
            "segments": 4,
            "reduced": 1,
            "route": index_bits(config.routes),
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


class EvProbeRequest(data.StructLayout):
    """The host wants to know whether a path to a remote NIC works, and how long it is.

    Members
    -------
    peer : row of the remote NIC
    plane, ev : by which port, and with which EV
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "peer": index_bits(config.peers),
            "plane": index_bits(config.lanes),
            "ev": 32,
        })
