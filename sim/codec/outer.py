"""What goes in front of a packet on the way: Ethernet and the outer IPv6 header."""

from dataclasses import dataclass

from mrcnic.hdl.wire.headers import ETHERNET, IPV6
from mrcnic.hdl.wire.opcodes import Ecn, EtherType, NextHeader

from .routing import SegmentRouting

__all__ = ["Ethernet", "Outer"]


@dataclass(kw_only=True)
class Ethernet:
    """MAC addresses of a frame."""

    destination: int
    source: int

    def encode(self, packet: bytes) -> bytes:
        """Return ``packet``, which is IPv6, with this header in front."""
        header = ETHERNET.pack(
            destination=self.destination, source=self.source, ether_type=EtherType.IPV6
        )
        return header + packet


@dataclass(kw_only=True)
class Outer:
    """Outer IPv6 header, with its SRH if there is one.

    Attributes
    ----------
    source, destination : :class:`int`
        Addresses; the destination is the uSID carrier.
    dscp, ecn, flow_label, hop_limit : :class:`int`
        As in IPv6.
    routing : :class:`~mrcnic.sim.codec.routing.SegmentRouting` or None
        Segment routing header.
    """

    source: int
    destination: int
    dscp: int
    ecn: int = Ecn.ECT0
    flow_label: int = 0
    hop_limit: int = 64
    routing: SegmentRouting | None = None

    def encode(self, inner: bytes) -> bytes:
        """Return ``inner`` with this header in front."""
        next_header = NextHeader.IPV6
        if self.routing is not None:
            inner = self.routing.encode(NextHeader.IPV6) + inner
            next_header = NextHeader.ROUTING
        header = IPV6.pack(
            version=6,
            dscp=self.dscp,
            ecn=self.ecn,
            flow_label=self.flow_label,
            payload_length=len(inner),
            next_header=next_header,
            hop_limit=self.hop_limit,
            source=self.source,
            destination=self.destination,
        )
        return header + inner
