"""Why octets are not a packet of ours."""

from enum import StrEnum

__all__ = ["DropReason", "PacketError"]


class DropReason(StrEnum):
    """Names of the reasons; the NIC's counters have the same ones with ``rx_`` in front."""

    #: Shorter than an Ethernet frame can be.
    RUNT = "runt"
    #: Neither IPv6 nor IPv4, behind two VLAN tags at the most.
    NOT_IPV6 = "not_ipv6"
    #: An IP header, inner or outer, is of another version.
    BAD_VERSION = "bad_version"
    #: A routing header that is not well formed, or asks for more than a NIC does.
    BAD_SRH = "bad_srh"
    #: The routing header is followed by no IP header.
    BAD_NEXT_HEADER = "bad_next_header"
    #: What the inner IP header carries.
    NOT_UDP = "not_udp"
    IPV4_OPTIONS = "ipv4_options"
    IPV4_FRAGMENT = "ipv4_fragment"
    BAD_PORT = "bad_port"
    #: Of an IPv4 header.
    BAD_CHECKSUM = "bad_checksum"
    #: Congestion is marked outside a packet that does not understand ECN (RFC 6040, section 4.2).
    BAD_ECN = "bad_ecn"
    #: The packet is not as long as each of its headers says.
    BAD_LENGTH = "bad_length"
    BAD_TVER = "bad_tver"
    BAD_PKEY = "bad_pkey"
    BAD_OPCODE = "bad_opcode"
    BAD_PAD = "bad_pad"
    ICRC_ERROR = "icrc_error"


class PacketError(ValueError):
    """Octets that are not a packet of ours.

    Attributes
    ----------
    reason : :class:`DropReason`
        Which check failed.
    packet : :class:`~mrcnic.sim.codec.packet.Packet` or None
        What the octets say nevertheless, if all that is wrong with them is the ICRC.
    """

    def __init__(self, reason: DropReason, sentence: str, packet=None):
        super().__init__(sentence)
        self.reason = reason
        self.packet = packet
