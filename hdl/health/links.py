"""Layouts inside the room. No logic."""

from amaranth.lib import data, enum

from mrcnic.hdl import rows
from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.inwards import RxEndpoint
from mrcnic.hdl.descriptor.outcome import LINKS
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.wire.layout import HeaderLayout

__all__ = [
    "ENDPOINT_QP",
    "RECOVERY_PROBE",
    "RESTS",
    "Confirmation",
    "EndpointSend",
    "FoundEndpoint",
    "Operation",
    "PeerWrite",
    "ProbeEcho",
    "ProbeWatch",
    "Proven",
    "StatusNotice",
]

#: QPN of endpoint packets.
ENDPOINT_QP = 2

#: Planes that may rest at a time, each for a remote NIC.
RESTS = 16

#: Set in identifiers of probes of links and planes, clear in those that the host asks for.
RECOVERY_PROBE = 0x8000


class Operation(enum.Enum, shape=2):
    """What an endpoint request asks for."""

    PORT_STATUS = 0
    PROBE = 1


class PeerWrite(data.StructLayout):
    """The host has written the row of a remote NIC."""

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": 1,
            "peer": index_bits(config.peers),
            "row": HeaderLayout(rows.PEER_ROW),
        })


class EndpointSend(data.StructLayout):
    """An endpoint packet to be sent.

    Members
    -------
    peer, own : row of the remote NIC, or the NIC itself
    plane : by which port
    fixed, ev : 1, 32
        With this EV; otherwise one of that plane by chance.
    response, operation, identifier : 1, Operation, 16
    mask : lanes
        Of a request: ports that work.
    tx_timestamp : 16
        Of a response: what the request said. Requests get theirs in the lane.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "peer": index_bits(config.peers),
            "own": 1,
            "plane": index_bits(config.lanes),
            "fixed": 1,
            "ev": 32,
            "response": 1,
            "operation": Operation,
            "identifier": 16,
            "mask": config.lanes,
            "tx_timestamp": 16,
        })


class FoundEndpoint(data.StructLayout):
    """An endpoint packet that came in, and whose it is.

    Members
    -------
    endpoint : :class:`~mrcnic.hdl.descriptor.inwards.RxEndpoint`
    own : 1
        The NIC itself has sent it.
    known, peer : 1, ...
        Row of the remote NIC that has, if there is one.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "endpoint": RxEndpoint(config),
            "own": 1,
            "known": 1,
            "peer": index_bits(config.peers),
        })


class ProbeWatch(data.StructLayout):
    """A link or a plane is to be probed, until three answers in a row have come.

    Members
    -------
    place : 0 to LINKS + RESTS - 1
        Number of the link, or, from ``LINKS`` on, of the rest of a plane.
    peer, plane : which remote NIC answers, and by which port
    fixed, ev : 1, 32
        With this EV; otherwise with one of that plane by chance.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "place": range(LINKS + RESTS),
            "peer": index_bits(config.peers),
            "plane": index_bits(config.lanes),
            "fixed": 1,
            "ev": 32,
        })


class Proven(data.StructLayout):
    """Three answers have come; as in :class:`ProbeWatch`."""

    def __init__(self, config: NicConfig):
        super().__init__({
            "place": range(LINKS + RESTS),
            "peer": index_bits(config.peers),
            "plane": index_bits(config.lanes),
        })


class StatusNotice(data.StructLayout):
    """A remote NIC tells which of its ports work."""

    def __init__(self, config: NicConfig):
        super().__init__({
            "peer": index_bits(config.peers),
            "identifier": 16,
            "mask": config.lanes,
        })


class Confirmation(data.StructLayout):
    """A remote NIC has heard which of our ports work."""

    def __init__(self, config: NicConfig):
        super().__init__({"peer": index_bits(config.peers), "identifier": 16})


class ProbeEcho(data.StructLayout):
    """A probe that came back, or its answer; for a cycle.

    Members
    -------
    valid : 1
    lane : port it came in by
    peer, identifier, tx_timestamp : which probe, and when it was sent
    marked : 1
        It met congestion on its way here.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": 1,
            "lane": index_bits(config.lanes),
            "peer": index_bits(config.peers),
            "identifier": 16,
            "tx_timestamp": 16,
            "marked": 1,
        })
