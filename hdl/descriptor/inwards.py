"""From a frame to host memory. No logic."""

from amaranth.lib import data

from mrcnic.hdl.config import NicConfig

from .body import Body
from .sizes import index_bits

__all__ = ["ReceiveCompletion", "RxDescriptor", "RxEndpoint", "Verdict"]


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
    trimmed, last_hop : 1
        A switch has cut the packet, on the last hop: there is no payload, and nothing has checked
        what is left of it.
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
            "trimmed": 1,
            "last_hop": 1,
        })


class RxEndpoint(data.StructLayout):
    """An endpoint request or response, whose ICRC is good.

    Members
    -------
    lane : port it came in by
    source : 128
        The peer's own address.
    response : 1
        It answers a request.
    operation : 2
        0 port status, 1 EV probe.
    identifier : 16
        Of the request.
    port_status_mask : 32
        Ports that work, of a request.
    tx_timestamp : 16
        Of the request, echoed in a response.
    ce : 1
        Congestion on the way.
    ev : 32
        From source port and flow label.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "lane": index_bits(config.lanes),
            "source": 128,
            "response": 1,
            "operation": 2,
            "identifier": 16,
            "port_status_mask": 32,
            "tx_timestamp": 16,
            "ce": 1,
            "ev": 32,
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


class ReceiveCompletion(data.StructLayout):
    """A write with immediate has arrived whole and is in memory.

    Members
    -------
    qp : index of the QP
    immediate : 32
        The number that came with it.
    octets : 32
        Length of the message.
    """

    def __init__(self, config: NicConfig):
        super().__init__({"qp": index_bits(config.qps), "immediate": 32, "octets": 32})
