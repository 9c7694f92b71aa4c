"""What switches do to the octets of a frame.

These functions are on the path of every simulated packet, so they work on octets in place of
objects. Each takes a frame from its Ethernet header on, which :func:`is_ipv6` has let pass.
"""

from itertools import takewhile

from mrcnic.hdl.wire.headers import BTH, ETHERNET, IPV4, IPV6, METH, TSETH, UDP, VLAN, Header
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
    """Return where a field starts in its header, in octets, rounded down."""
    bits = sum(header.fields[one] for one in takewhile(lambda one: one != name, header.fields))
    return bits // 8


_FLOW_LABEL = _offset(IPV6, "flow_label")
_NEXT_HEADER = _offset(IPV6, "next_header")
_HOP_LIMIT = _offset(IPV6, "hop_limit")
_DESTINATION = _offset(IPV6, "destination")

#: Where the type of an untagged frame stands, which is behind its MAC addresses.
_TYPE = _offset(ETHERNET, "ether_type")
_IPV6_TYPE = int(EtherType.IPV6).to_bytes(2, "big")
_TAG_TYPES = frozenset(
    int(kind).to_bytes(2, "big") for kind in (EtherType.VLAN, EtherType.SERVICE_VLAN)
)

#: Length of what may be behind an outer IPv6 header and a routing header; others are not cut.
_INNER_OCTETS = {NextHeader.IPV6: IPV6.octets, NextHeader.IPV4: IPV4.octets}

#: Octets of a write that a trim leaves behind its IP headers.
_KEPT = UDP.octets + BTH.octets + METH.octets + TSETH.octets

_TRIMMABLE = frozenset({Dscp.TRIMMABLE, Dscp.TRIMMABLE_RETX})


def _start(frame: bytes) -> int:
    """Return where the IPv6 header starts, behind whatever VLAN tags there are."""
    at = _TYPE
    while frame[at : at + 2] in _TAG_TYPES:
        at += VLAN.octets
    return at + 2


def is_ipv6(frame: bytes) -> bool:
    """Return whether the frame has an IPv6 header, whole."""
    at = _start(frame)
    return (
        len(frame) >= at + IPV6.octets and frame[at - 2 : at] == _IPV6_TYPE and frame[at] >> 4 == 6
    )


def carries_ipv6(frame: bytes) -> bool:
    """Return whether another IPv6 header, or a routing header, stands behind the first."""
    return frame[_start(frame) + _NEXT_HEADER] in (NextHeader.IPV6, NextHeader.ROUTING)


def ipv6_destination(frame: bytes) -> bytes:
    """Return the outermost destination address."""
    at = _start(frame)
    return frame[at + _DESTINATION : at + IPV6.octets]


def hop_limit(frame: bytes) -> int:
    """Return the outermost hop limit."""
    return frame[_start(frame) + _HOP_LIMIT]


def dscp(frame: bytes) -> int:
    """Return the outermost DSCP value."""
    return _traffic_class(frame, _start(frame)) >> 2


def flow(frame: bytes) -> bytes:
    """Return what tells flows apart to a switch that does not look at uSIDs.

    That is the flow label and the two octets behind the IPv6 header: the source port, if there
    is a UDP header.
    """
    at = _start(frame)
    label = at + _FLOW_LABEL
    return (
        bytes([frame[label] & 0x0F])
        + frame[label + 1 : label + 3]
        + frame[at + IPV6.octets : at + IPV6.octets + 2]
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
    at = _start(frame)
    limit = at + _HOP_LIMIT
    return b"".join((
        macs,
        frame[_TYPE:limit],
        bytes([frame[limit] - 1]),
        frame[limit + 1 : at + _DESTINATION],
        destination,
        frame[at + IPV6.octets :],
    ))


def marked(frame: bytes) -> bytes:
    """Return the frame with CE in its outermost header, if its sender understands ECN."""
    at = _start(frame)
    traffic_class = _traffic_class(frame, at)
    if traffic_class & 3 == Ecn.NOT_ECT:
        return frame
    return _with_traffic_class(frame, at, traffic_class | Ecn.CE)


def trimmed(frame: bytes, *, last_hop: bool) -> bytes | None:
    """Return what a switch leaves of the frame when it has no room, or ``None`` if nothing.

    Length fields stay as they are. Default DSCP values are assumed.

    Parameters
    ----------
    last_hop : :class:`bool`
        The switch is the one in front of the receiver.
    """
    at = _start(frame)
    if _traffic_class(frame, at) >> 2 not in _TRIMMABLE:
        return None
    end, kind = at + IPV6.octets, frame[at + _NEXT_HEADER]
    if kind == NextHeader.ROUTING and len(frame) > end + 1:
        kind, end = frame[end], end + 8 + 8 * frame[end + 1]
    end += _INNER_OCTETS.get(kind, 0) + _KEPT
    value = Dscp.TRIMMED_LASTHOP if last_hop else Dscp.TRIMMED
    ecn = _traffic_class(frame, at) & 3
    return _with_traffic_class(frame[:end], at, value << 2 | ecn)


def _traffic_class(frame: bytes, at: int) -> int:
    return frame[at] << 4 & 0xF0 | frame[at + 1] >> 4


def _with_traffic_class(frame: bytes, at: int, value: int) -> bytes:
    changed = bytes([frame[at] & 0xF0 | value >> 4, value << 4 & 0xF0 | frame[at + 1] & 0x0F])
    return frame[:at] + changed + frame[at + 2 :]
