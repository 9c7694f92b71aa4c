"""Rows of remote NICs, for tests."""

from mrcnic.hdl.descriptor.settings import TableWrite
from mrcnic.hdl.rows import PEER_ROW, Table

__all__ = ["ADDRESSES", "CARRIER", "peer_fields", "peer_number", "peer_write"]

#: Addresses of remote NICs by row.
ADDRESSES = [0xFD00_0000_0000_0002 << 64 | n + 1 for n in range(8)]

#: Carrier over two T0s and a T1, plane and uplink left zero.
CARRIER = 0xFCBB_BBBB_0401_0800_0402_0C05_0000_0000


def peer_fields(peer, **fields):
    """Fields of the row of a remote NIC."""
    return {
        "valid": 1,
        "srv6": 1,
        "address": ADDRESSES[peer],
        "carrier": CARRIER,
        "plane_slots": 0b1111,
        "uplink_slots": 0b10,
        "uplink_first": 1,
        "uplinks": 4,
    } | fields


def peer_number(peer, **fields):
    """The same as a number."""
    return int.from_bytes(PEER_ROW.pack(**peer_fields(peer, **fields)))


def peer_write(peer, **fields):
    """The same as the host writes it."""
    return TableWrite().const({
        "table": Table.PEER, "index": peer, "row": peer_number(peer, **fields),
    })  # fmt: skip
