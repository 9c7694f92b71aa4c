"""Invariant CRC of a packet, in plain Python (InfiniBand specification, volume 1, annex A17).

It is the CRC-32 of Ethernet over eight octets of ones, then the packet from its own IP header (the
inner one) to its pad, with the fields that change on the way read as ones. It stands behind the pad
with the least significant octet first.
"""

import zlib

from .headers import BTH, IPV4, IPV6, UDP, Header

__all__ = ["ICRC_INITIAL", "ICRC_MASK", "ICRC_MASK_IPV4", "icrc"]

#: State of the CRC after the eight octets of ones that go before each packet.
ICRC_INITIAL = 0xDEBB20E3


def _ones(header: Header, *names: str) -> bytes:
    return header.pack(**{name: 2 ** header.fields[name] - 1 for name in names})


#: From the inner IPv6 header to the BTH: ones where switches may change a field, which therefore
#: counts as ones whatever it is (docs/protocol.md, "ICRC").
ICRC_MASK = (
    _ones(IPV6, "dscp", "ecn", "flow_label", "hop_limit")
    + _ones(UDP, "checksum")
    + _ones(BTH, "variant_reserved")
)

#: The same from an inner IPv4 header on.
ICRC_MASK_IPV4 = _ones(IPV4, "dscp", "ecn", "time_to_live", "checksum") + ICRC_MASK[IPV6.octets :]

_START = ICRC_INITIAL ^ 0xFFFFFFFF  # zlib's states are inverted


def icrc(packet: bytes) -> bytes:
    """Return the ICRC of ``packet``, as its octets on the wire.

    Parameters
    ----------
    packet : :class:`bytes`
        From the inner IPv6 or IPv4 header to the pad.

    Raises
    ------
    ValueError
        If the packet ends before its BTH does.
    """
    mask = ICRC_MASK_IPV4 if packet[:1] and packet[0] >> 4 == 4 else ICRC_MASK
    octets = len(mask)
    if len(packet) < octets:
        raise ValueError(f"packet must have at least {octets} octets, not {len(packet)}")
    start = int.from_bytes(packet[:octets], "big") | int.from_bytes(mask, "big")
    crc = zlib.crc32(start.to_bytes(octets, "big"), _START)
    return zlib.crc32(packet[octets:], crc).to_bytes(4, "little")
