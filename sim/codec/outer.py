"""What goes in front of a packet on the way: Ethernet and the outer IPv6 header."""

from dataclasses import dataclass

from mrcnic.hdl.wire.headers import ETHERNET, VLAN
from mrcnic.hdl.wire.opcodes import Ecn, EtherType, NextHeader

from .errors import DropReason, PacketError
from .ip import IpFields
from .routing import SegmentRouting

__all__ = ["MAX_TAGS", "Ethernet", "Outer", "VlanTag"]

#: VLAN tags that a frame may have.
MAX_TAGS = 2

_TAG_TYPES = frozenset({EtherType.VLAN, EtherType.SERVICE_VLAN})


@dataclass(frozen=True, kw_only=True)
class VlanTag:
    """One VLAN tag (IEEE 802.1Q).

    Attributes
    ----------
    vid, priority, drop_eligible : :class:`int`
        Its control information.
    ether_type : :class:`int`
        Type in front of it, which says that it is one; the outer one of two should have
        :attr:`~mrcnic.hdl.wire.opcodes.EtherType.SERVICE_VLAN`.
    """

    vid: int
    priority: int = 0
    drop_eligible: int = 0
    ether_type: int = EtherType.VLAN

    @classmethod
    def unpack(cls, control: int, ether_type: int = EtherType.VLAN) -> "VlanTag":
        """Return the tag with this control information, of 16 bits."""
        fields = VLAN.unpack((control << 16).to_bytes(VLAN.octets, "big"))
        del fields["ether_type"]
        return cls(**fields, ether_type=ether_type)

    @property
    def control(self) -> int:
        """The control information, of 16 bits."""
        return int.from_bytes(self.encode(0), "big") >> 16

    def encode(self, ether_type: int) -> bytes:
        """Return the tag and the type of what is behind it."""
        return VLAN.pack(
            priority=self.priority,
            drop_eligible=self.drop_eligible,
            vid=self.vid,
            ether_type=ether_type,
        )


@dataclass(kw_only=True)
class Ethernet:
    """Header of a frame.

    Attributes
    ----------
    destination, source : :class:`int`
        MAC addresses.
    tags : tuple of :class:`VlanTag`
        VLAN tags, the outer one first.
    """

    destination: int
    source: int
    tags: tuple[VlanTag, ...] = ()

    def encode(self, packet: bytes) -> bytes:
        """Return ``packet``, which is IPv6 or IPv4, with this header in front."""
        inner = EtherType.IPV4 if packet[0] >> 4 == 4 else EtherType.IPV6
        first, *types = (*(tag.ether_type for tag in self.tags), inner)
        header = ETHERNET.pack(destination=self.destination, source=self.source, ether_type=first)
        tags = (tag.encode(behind) for tag, behind in zip(self.tags, types, strict=True))
        return b"".join((header, *tags, packet))

    @classmethod
    def decode(cls, frame: bytes) -> tuple["Ethernet", int, bytes]:
        """Read the header at the start of a frame.

        Returns
        -------
        The header, the version of the IP header behind it, and what starts with that.

        Raises
        ------
        PacketError
            If something other than IP is behind at most two tags.
        """
        header = ETHERNET.unpack(frame)
        at, kind, tags = ETHERNET.octets, header["ether_type"], []
        while kind in _TAG_TYPES and len(tags) < MAX_TAGS and at + VLAN.octets <= len(frame):
            fields = VLAN.unpack(frame[at:])
            behind = fields.pop("ether_type")
            tags.append(VlanTag(**fields, ether_type=kind))
            at, kind = at + VLAN.octets, behind
        if kind not in (EtherType.IPV6, EtherType.IPV4):
            raise PacketError(DropReason.NOT_IPV6, f"Ethernet type {kind:#06x} is not IPv6 or IPv4")
        read = cls(destination=header["destination"], source=header["source"], tags=tuple(tags))
        return read, 6 if kind == EtherType.IPV6 else 4, frame[at:]


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
        """Return ``inner``, which is IPv6 or IPv4, with this header in front."""
        next_header = NextHeader.IPV4 if inner[0] >> 4 == 4 else NextHeader.IPV6
        if self.routing is not None:
            inner = self.routing.encode(next_header) + inner
            next_header = NextHeader.ROUTING
        header = IpFields(
            version=6,
            source=self.source,
            destination=self.destination,
            dscp=self.dscp,
            ecn=self.ecn,
            hop_limit=self.hop_limit,
            flow_label=self.flow_label,
            next_header=next_header,
            payload_length=len(inner),
        )
        return header.encode() + inner
