"""Invariant CRC of a packet, in plain Python (InfiniBand specification, volume 1, annex A17).

It is the CRC-32 of Ethernet over eight octets of ones, then the packet from its own IPv6 header
(the inner one) to its pad, with the fields that change on the way read as ones. It stands behind
the pad with the least significant octet first.
"""

import zlib

from .headers import BTH, IPV6, UDP, Header

__all__ = ["ICRC_INITIAL", "ICRC_MASK", "icrc"]

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


_MASK = int.from_bytes(ICRC_MASK, "big")
_START = ICRC_INITIAL ^ 0xFFFFFFFF  # zlib's states are inverted


def icrc(packet: bytes) -> bytes:
    """Return the ICRC of ``packet``, as its octets on the wire.

    Parameters
    ----------
    packet : :class:`bytes`
        From the inner IPv6 header to the pad.

    Raises
    ------
    ValueError
        If the packet ends before its BTH does.
    """
    if len(packet) < len(ICRC_MASK):
        raise ValueError(f"packet must have at least {len(ICRC_MASK)} octets, not {len(packet)}")
    start = int.from_bytes(packet[: len(ICRC_MASK)], "big") | _MASK
    crc = zlib.crc32(start.to_bytes(len(ICRC_MASK), "big"), _START)
    return zlib.crc32(packet[len(ICRC_MASK) :], crc).to_bytes(4, "little")
