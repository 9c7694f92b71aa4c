"""Why octets are not a packet of ours."""

from enum import StrEnum

__all__ = ["DropReason", "PacketError"]


class DropReason(StrEnum):
    """Names of the reasons, which are also the counters' that the NIC keeps for them."""

    #: Less than an Ethernet header.
    RUNT = "runt"
    NOT_IPV6 = "not_ipv6"
    #: Ends before a header or a length field says.
    TRUNCATED = "truncated"
    #: An IPv6 header, inner or outer, is of another version.
    BAD_VERSION = "bad_version"
    #: Length fields contradict each other, or the opcode's headers do not fit.
    BAD_LENGTH = "bad_length"
    BAD_NEXT_HEADER = "bad_next_header"
    #: A routing header that is not well formed, or asks for more than a NIC does.
    SRH_MALFORMED = "srh_malformed"
    BAD_PORT = "bad_port"
    BAD_ICRC = "bad_icrc"
    BAD_TVER = "bad_tver"
    BAD_PKEY = "bad_pkey"
    BAD_OPCODE = "bad_opcode"
    BAD_PAD = "bad_pad"


class PacketError(ValueError):
    """Octets that are not a packet of ours.

    Attributes
    ----------
    reason : :class:`DropReason`
        Which check failed.
    """

    def __init__(self, reason: DropReason, sentence: str):
        super().__init__(sentence)
        self.reason = reason
