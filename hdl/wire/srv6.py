"""Entropy values and uSIDs, in plain Python (docs/protocol.md, "EV and uSID layout")."""

from .headers import Header

__all__ = ["CARRIER", "ENTROPY", "SEGMENTS_MAX", "USID", "USID_SLOTS"]

#: An entropy value, which names a path: UDP source port, then 16 bits of the flow label.
ENTROPY = Header(prefix=8, index=8, plane=4, uplink=8, reserved=4)

#: Name of a switch, or of a NIC's port. An uplink is the low octet of the index.
USID = Header(plane=4, kind=2, index=10)

#: uSIDs that a carrier has room for.
USID_SLOTS = 6

#: Segments of a path that a segment routing header is made for.
SEGMENTS_MAX = 8

#: An address that carries uSIDs, in the order in which they are used (RFC 9800).
CARRIER = Header(block=32, **{f"usid_{n}": 16 for n in range(USID_SLOTS)})
