"""Segment routing header (RFC 8754) and its checks."""

from dataclasses import dataclass

from mrcnic.hdl.wire.headers import SRH

from .errors import DropReason, PacketError

__all__ = ["ROUTING_TYPE_SRH", "SegmentRouting", "read_routing_header", "route"]

#: Routing type of an SRH.
ROUTING_TYPE_SRH = 4

_PAD1 = 0


@dataclass(kw_only=True)
class SegmentRouting:
    """Segment routing header.

    Attributes
    ----------
    segments : :class:`tuple` of :class:`int`
        Addresses as they stand in the header: the last to be visited comes first.
    segments_left : :class:`int`
        Index of the segment under way.
    flags, tag : :class:`int`
        As in RFC 8754.
    tlvs : :class:`bytes`
        What stands behind the segments, a multiple of 8 octets.
    """

    segments: tuple[int, ...]
    segments_left: int = 0
    flags: int = 0
    tag: int = 0
    tlvs: bytes = b""

    def encode(self, next_header: int) -> bytes:
        """Return the header, which is followed by ``next_header``."""
        header = SRH.pack(
            next_header=next_header,
            header_length=2 * len(self.segments) + len(self.tlvs) // 8,
            routing_type=ROUTING_TYPE_SRH,
            segments_left=self.segments_left,
            last_entry=len(self.segments) - 1,
            flags=self.flags,
            tag=self.tag,
        )
        return header + b"".join(one.to_bytes(16, "big") for one in self.segments) + self.tlvs


def route(path: tuple[int, ...], *, reduced: bool = False) -> SegmentRouting | None:
    """Return the header with which a packet starts on a path, or ``None`` if none is needed.

    Parameters
    ----------
    path : tuple of :class:`int`
        Segments in the order in which they are visited. The first is the packet's destination.
    reduced : :class:`bool`
        The first is left out of the list (RFC 8986, section 5.2).
    """
    listed = path[1:] if reduced else path
    if not listed:
        return None
    return SegmentRouting(segments=listed[::-1], segments_left=len(path) - 1)


def read_routing_header(octets: bytes) -> tuple[int, int, SegmentRouting | None]:
    """Read the routing header at the start of ``octets``.

    Returns
    -------
    The number of the header behind it, the length of this one in octets, and its contents, which
    are ``None`` where it is of another type than an SRH and has no segments left (RFC 8200,
    section 4.4: such a header is passed over).

    Raises
    ------
    PacketError
        If it is malformed.
    """
    if len(octets) < SRH.octets:
        raise PacketError(DropReason.BAD_LENGTH, "the packet ends in its routing header")
    fixed = SRH.unpack(octets)
    length = 8 + 8 * fixed["header_length"]
    left = fixed["segments_left"]
    if fixed["routing_type"] != ROUTING_TYPE_SRH and left:
        raise PacketError(
            DropReason.BAD_SRH,
            f"routing type {fixed['routing_type']} with {left} segments left is not ours to route",
        )
    if len(octets) < length:
        raise PacketError(DropReason.BAD_LENGTH, "the packet ends in its routing header")
    if fixed["routing_type"] != ROUTING_TYPE_SRH:
        return fixed["next_header"], length, None
    last = fixed["last_entry"]
    end_of_segments = 8 + 16 * (last + 1)
    if end_of_segments > length:
        raise PacketError(
            DropReason.BAD_SRH,
            f"last entry {last} does not fit in a segment routing header of {length} octets",
        )
    if left > last + 1:
        raise PacketError(DropReason.BAD_SRH, f"{left} segments left point past last entry {last}")
    tlvs = octets[end_of_segments:length]
    _check_tlvs(tlvs)
    starts = range(8, end_of_segments, 16)
    return (
        fixed["next_header"],
        length,
        SegmentRouting(
            segments=tuple(int.from_bytes(octets[at : at + 16], "big") for at in starts),
            segments_left=left,
            flags=fixed["flags"],
            tag=fixed["tag"],
            tlvs=tlvs,
        ),
    )


def _check_tlvs(tlvs: bytes) -> None:
    """Walk the TLVs; the first must start where the segments end, the last end with the header."""
    at = 0
    while at < len(tlvs):
        if tlvs[at] == _PAD1:
            at += 1
        else:
            at += 2 + tlvs[at + 1] if at + 1 < len(tlvs) else 2
    if at != len(tlvs):
        raise PacketError(
            DropReason.BAD_SRH, "a TLV reaches past the end of its segment routing header"
        )
