"""A switch with uN segments (RFC 9800, NEXT-CSID) and static routes."""

import zlib

from mrcnic.sim.codec.transit import flow, forwarded, hop_limit, ipv6_destination, is_ipv6
from mrcnic.sim.codec.usid import active_usid, shift

from .counters import Counters, DropCause
from .link import Link

__all__ = ["Switch"]

#: Octets of an address that are compared: block and one uSID.
_MATCH_OCTETS = 6


class Switch:
    """Where frames go, and what becomes of them on the way.

    A packet with the switch's own block and uSID in front has the next uSID moved up. Then the
    first 48 bits are looked up. Addresses that are not carriers are looked up whole; where more
    links than one will do, a hash of source port and flow label takes one of them.

    Parameters
    ----------
    name : :class:`str`
        Name.
    block, usid : :class:`int`
        Its own segment.
    mac : :class:`bytes`
        MAC address; other frames are not taken.

    Attributes
    ----------
    counters : :class:`~mrcnic.sim.fabric.counters.Counters`
        Frames that went through, and frames refused.
    """

    def __init__(self, name: str, *, block: int, usid: int, mac: bytes):
        self.name = name
        self.mac = mac
        self.counters = Counters()
        self._block = block
        self._own = self._prefix(usid)
        self._segments: dict[bytes, Link] = {}
        self._hosts: dict[bytes, tuple[Link, ...]] = {}

    def _prefix(self, usid: int) -> bytes:
        return (self._block << 16 | usid).to_bytes(_MATCH_OCTETS, "big")

    def add_segment(self, usid: int, link: Link) -> None:
        """Route packets with ``usid`` in front to ``link``."""
        self._segments[self._prefix(usid)] = link

    def add_host(self, address: int, links: tuple[Link, ...]) -> None:
        """Route packets to ``address`` to one of ``links``."""
        self._hosts[address.to_bytes(16, "big")] = links

    def forward(self, frame: bytes) -> tuple[Link, bytes] | DropCause:
        """Return the link that a frame leaves by, and the frame as it leaves, or why it is lost."""
        if frame[:6] != self.mac:
            return DropCause.WRONG_MAC
        if not is_ipv6(frame):
            return DropCause.NOT_IPV6
        if hop_limit(frame) <= 1:
            return DropCause.HOP_LIMIT
        destination = ipv6_destination(frame)
        if destination[:_MATCH_OCTETS] == self._own:
            address = shift(int.from_bytes(destination, "big"))
            if not active_usid(address):
                return DropCause.FOR_THE_SWITCH
            destination = address.to_bytes(16, "big")
        link = self._segments.get(destination[:_MATCH_OCTETS])
        if link is None:
            links = self._hosts.get(destination)
            if not links:
                return DropCause.NO_ROUTE
            link = links[zlib.crc32(flow(frame)) % len(links)]
        return link, forwarded(frame, link.macs, destination)
