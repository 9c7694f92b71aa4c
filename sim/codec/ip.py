"""IP headers of packets, version 6 or 4, read into the same fields."""

from typing import NamedTuple

from mrcnic.hdl.wire.headers import IPV4, IPV6

from .errors import DropReason, PacketError

__all__ = ["IpFields", "check_ipv4_checksum", "check_ipv4_shape", "ipv4_checksum", "read_ip"]

#: Header length of IPv4, in units of 4 octets: packets of ours have no options.
_IPV4_WORDS = IPV4.octets // 4


class IpFields(NamedTuple):
    """What an IP header says, whichever its version.

    Attributes
    ----------
    version : :class:`int`
        6 or 4.
    source, destination : :class:`int`
        Addresses, of 128 or 32 bits.
    dscp, ecn, hop_limit : :class:`int`
        As in IPv6; the hop limit is the time to live of IPv4.
    next_header : :class:`int`
        The protocol of IPv4.
    payload_length : :class:`int`
        Octets behind the header, by what it says.
    flow_label : :class:`int`
        Of IPv6 only.
    identification : :class:`int`
        Of IPv4 only.
    """

    version: int
    source: int
    destination: int
    dscp: int
    ecn: int
    hop_limit: int
    next_header: int
    payload_length: int
    flow_label: int = 0
    identification: int = 0

    @property
    def octets(self) -> int:
        """Length of the header."""
        return IPV6.octets if self.version == 6 else IPV4.octets

    def encode(self) -> bytes:
        """Return the header."""
        if self.version == 6:
            return IPV6.pack(
                version=6,
                dscp=self.dscp,
                ecn=self.ecn,
                flow_label=self.flow_label,
                payload_length=self.payload_length,
                next_header=self.next_header,
                hop_limit=self.hop_limit,
                source=self.source,
                destination=self.destination,
            )
        fields = {
            "version": 4,
            "header_length": _IPV4_WORDS,
            "dscp": self.dscp,
            "ecn": self.ecn,
            "total_length": IPV4.octets + self.payload_length,
            "identification": self.identification,
            "do_not_fragment": 1,
            "time_to_live": self.hop_limit,
            "protocol": self.next_header,
            "source": self.source,
            "destination": self.destination,
        }
        return IPV4.pack(**fields, checksum=ipv4_checksum(IPV4.pack(**fields)))


def ipv4_checksum(header: bytes) -> int:
    """Return the checksum of an IPv4 header (RFC 791, section 3.1).

    It is 0 if the header has one already and that is right.

    Examples
    --------
    >>> hex(ipv4_checksum(bytes.fromhex("4500003c000040004011 0000 0a000001 0a000002")))
    '0x26af'
    """
    total = int.from_bytes(header, "big") % 0xFFFF  # the words' sum, with its carries added in
    return 0xFFFF - total if total else 0


def read_ip(octets: bytes, *, version: int | None = None) -> IpFields:
    """Read the IP header at the start of ``octets``.

    Parameters
    ----------
    version : :class:`int`, optional
        What it must be, because the header in front says so.

    Raises
    ------
    PacketError
        If it is cut, or of another version.
    """
    found = octets[0] >> 4 if octets else version or 6
    if found not in (4, 6) or version not in (None, found):
        raise PacketError(DropReason.BAD_VERSION, f"IP version {found} is not {version or 6}")
    return _read_ipv6(octets) if found == 6 else _read_ipv4(octets)


def _read_ipv6(octets: bytes) -> IpFields:
    header = _unpack(IPV6, octets, "IPv6")
    return IpFields(
        version=6,
        source=header["source"],
        destination=header["destination"],
        dscp=header["dscp"],
        ecn=header["ecn"],
        hop_limit=header["hop_limit"],
        flow_label=header["flow_label"],
        next_header=header["next_header"],
        payload_length=header["payload_length"],
    )


def _read_ipv4(octets: bytes) -> IpFields:
    header = _unpack(IPV4, octets, "IPv4")
    return IpFields(
        version=4,
        source=header["source"],
        destination=header["destination"],
        dscp=header["dscp"],
        ecn=header["ecn"],
        hop_limit=header["time_to_live"],
        identification=header["identification"],
        next_header=header["protocol"],
        payload_length=header["total_length"] - IPV4.octets,
    )


def check_ipv4_shape(octets: bytes) -> None:
    """Refuse an IPv4 header behind which there is something else than UDP.

    Raises
    ------
    PacketError
        If it has options, or is a fragment's.
    """
    header = IPV4.unpack(octets)
    if header["header_length"] != _IPV4_WORDS:
        raise PacketError(
            DropReason.IPV4_OPTIONS,
            f"an IPv4 header of {header['header_length']} words in place of {_IPV4_WORDS}",
        )
    if header["more_fragments"] or header["fragment_offset"]:
        raise PacketError(DropReason.IPV4_FRAGMENT, "the packet is a fragment")


def check_ipv4_checksum(octets: bytes) -> None:
    """Refuse an IPv4 header that was damaged.

    Raises
    ------
    PacketError
        If its checksum does not match.
    """
    if ipv4_checksum(octets[: IPV4.octets]):
        raise PacketError(DropReason.BAD_CHECKSUM, "the checksum of the IPv4 header does not match")


def _unpack(table, octets: bytes, name: str) -> dict[str, int]:
    if len(octets) < table.octets:
        raise PacketError(
            DropReason.BAD_LENGTH, f"the packet ends {len(octets)} octets into an {name} header"
        )
    return table.unpack(octets)
