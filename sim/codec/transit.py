"""What switches do to the octets of a frame.

These functions are on the path of every simulated packet, so they work on octets in place of
objects. Each takes a frame from its Ethernet header on, which :func:`is_ipv6` has let pass.
"""

from itertools import takewhile

from mrcnic.hdl.wire.headers import BTH, ETHERNET, IPV6, METH, TSETH, UDP, Header
from mrcnic.hdl.wire.opcodes import Dscp, Ecn, EtherType, NextHeader

__all__ = [
    "carries_ipv6",
    "dscp",
    "flow",
    "forwarded",
    "hop_limit",
    "ipv6_destination",
    "is_ipv6",
    "marked",
    "trimmed",
]


def _offset(header: Header, name: str) -> int:
    """Return where a field starts behind the Ethernet header, in octets, rounded down."""
    bits = sum(header.fields[one] for one in takewhile(lambda one: one != name, header.fields))
    return ETHERNET.octets + bits // 8


_TYPE = ETHERNET.octets - 2
_IPV6 = ETHERNET.octets
_FLOW_LABEL = _offset(IPV6, "flow_label")
_NEXT_HEADER = _offset(IPV6, "next_header")
_HOP_LIMIT = _offset(IPV6, "hop_limit")
_DESTINATION = _offset(IPV6, "destination")
_PAYLOAD = _IPV6 + IPV6.octets
_ETHER_TYPE = int(EtherType.IPV6).to_bytes(2, "big")

#: Octets of a write that a trim leaves behind the IPv6 header in front of UDP.
_KEPT = UDP.octets + BTH.octets + METH.octets + TSETH.octets

_TRIMMABLE = frozenset({Dscp.TRIMMABLE, Dscp.TRIMMABLE_RETX})


def is_ipv6(frame: bytes) -> bool:
    """Return whether the frame has an IPv6 header, whole."""
    return len(frame) >= _PAYLOAD and frame[_TYPE:_IPV6] == _ETHER_TYPE and frame[_IPV6] >> 4 == 6


def carries_ipv6(frame: bytes) -> bool:
    """Return whether another IPv6 header, or a routing header, stands behind the first."""
    return frame[_NEXT_HEADER] in (NextHeader.IPV6, NextHeader.ROUTING)


def ipv6_destination(frame: bytes) -> bytes:
    """Return the outermost destination address."""
    return frame[_DESTINATION:_PAYLOAD]


def hop_limit(frame: bytes) -> int:
    """Return the outermost hop limit."""
    return frame[_HOP_LIMIT]


def dscp(frame: bytes) -> int:
    """Return the outermost DSCP value."""
    return _traffic_class(frame) >> 2


def flow(frame: bytes) -> bytes:
    """Return what tells flows apart to a switch that does not look at uSIDs.

    That is the flow label and the two octets behind the IPv6 header: the source port, if there
    is a UDP header.
    """
    return (
        bytes([frame[_FLOW_LABEL] & 0x0F])
        + frame[_FLOW_LABEL + 1 : _FLOW_LABEL + 3]
        + frame[_PAYLOAD : _PAYLOAD + 2]
    )


def forwarded(frame: bytes, macs: bytes, destination: bytes) -> bytes:
    """Return the frame as it leaves a router: new MAC addresses, one less in the hop limit.

    Parameters
    ----------
    macs : :class:`bytes`
        Destination and source MAC address.
    destination : :class:`bytes`
        Destination IPv6 address.
    """
    return b"".join((
        macs,
        frame[_TYPE:_HOP_LIMIT],
        bytes([frame[_HOP_LIMIT] - 1]),
        frame[_HOP_LIMIT + 1 : _DESTINATION],
        destination,
        frame[_PAYLOAD:],
    ))


def marked(frame: bytes) -> bytes:
    """Return the frame with CE in its outermost header, if its sender understands ECN."""
    traffic_class = _traffic_class(frame)
    if traffic_class & 3 == Ecn.NOT_ECT:
        return frame
    return _with_traffic_class(frame, traffic_class | Ecn.CE)


def trimmed(frame: bytes, *, last_hop: bool) -> bytes | None:
    """Return what a switch leaves of the frame when it has no room, or ``None`` if nothing.

    Length fields stay as they are. Default DSCP values are assumed.

    Parameters
    ----------
    last_hop : :class:`bool`
        The switch is the one in front of the receiver.
    """
    if dscp(frame) not in _TRIMMABLE:
        return None
    end = _PAYLOAD + _KEPT + (IPV6.octets if carries_ipv6(frame) else 0)
    value = Dscp.TRIMMED_LASTHOP if last_hop else Dscp.TRIMMED
    return _with_traffic_class(frame[:end], value << 2 | _traffic_class(frame) & 3)


def _traffic_class(frame: bytes) -> int:
    return frame[_IPV6] << 4 & 0xF0 | frame[_IPV6 + 1] >> 4


def _with_traffic_class(frame: bytes, value: int) -> bytes:
    changed = bytes([frame[_IPV6] & 0xF0 | value >> 4, value << 4 & 0xF0 | frame[_IPV6 + 1] & 0x0F])
    return frame[:_IPV6] + changed + frame[_IPV6 + 2 :]
