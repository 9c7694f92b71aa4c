"""Opcodes, roles and other numbers with a name, in plain Python."""

from enum import IntEnum

__all__ = [
    "Dscp",
    "Ecn",
    "EtherType",
    "NackReason",
    "NextHeader",
    "Opcode",
    "ProbeKind",
    "Role",
    "Syndrome",
]


class Opcode(IntEnum):
    """First octet of the BTH. The upper three bits, 110, are MRC's group."""

    WRITE_FIRST = 0xC6
    WRITE_MIDDLE = 0xC7
    WRITE_LAST = 0xC8
    WRITE_LAST_IMM = 0xC9
    WRITE_ONLY = 0xCA
    WRITE_ONLY_IMM = 0xCB
    #: Transport ACK or NAK, with an AETH.
    ACK = 0xD1
    ENDPOINT_REQUEST = 0xD8
    ENDPOINT_RESPONSE = 0xD9
    SACK = 0xDC
    NACK = 0xDD
    #: Reliability probe.
    PROBE = 0xDE


class ProbeKind(IntEnum):
    """Lower octet of a reliability probe's id: what the probe is for.

    So an answer meant for one part of the NIC is never taken for another's.
    """

    #: To learn what of the last packets has arrived. The upper octet counts.
    TAIL = 0
    #: To get a lost transport ACK again. The upper octet counts.
    ACK = 1
    #: This and all above: to test an EV, whose index is the upper octet; these count.
    PATH = 2


class Role(IntEnum):
    """What a packet is to the fabric; each role has a DSCP value of its own, set by register."""

    CONTROL = 0
    TRIMMABLE = 1
    TRIMMABLE_RETX = 2
    NO_TRIM = 3
    TRIMMED = 4
    TRIMMED_LASTHOP = 5


class Dscp(IntEnum):
    """Default DSCP value of each role (docs/protocol.md, "IPv6 fields")."""

    CONTROL = 46
    TRIMMABLE = 8
    TRIMMABLE_RETX = 10
    NO_TRIM = 0
    TRIMMED = 16
    TRIMMED_LASTHOP = 18


class Ecn(IntEnum):
    """ECN codepoints (RFC 3168, section 5)."""

    NOT_ECT = 0
    ECT1 = 1
    ECT0 = 2
    CE = 3


class EtherType(IntEnum):
    """Ethernet types that are looked at."""

    IPV4 = 0x0800
    #: VLAN tag, the only one or the inner one.
    VLAN = 0x8100
    IPV6 = 0x86DD
    #: Outer one of two VLAN tags.
    SERVICE_VLAN = 0x88A8


class NextHeader(IntEnum):
    """IPv6 next-header numbers that are looked at."""

    IPV4 = 4
    UDP = 17
    IPV6 = 41
    ROUTING = 43


class NackReason(IntEnum):
    """Why a packet was not taken (docs/protocol.md, "NACK reasons")."""

    TRIMMED = 0x01
    TRIMMED_LASTHOP = 0x02
    NO_BITMAP = 0x06
    NO_BUFFER = 0x07
    NO_RESOURCE = 0x0A
    OUT_OF_WINDOW = 0x0B
    UNEXPECTED = 0x19


class Syndrome(IntEnum):
    """AETH syndromes: an ACK without credit, and the NAKs."""

    ACK = 0x1F
    NAK_INVALID_REQUEST = 0x61
    NAK_ACCESS = 0x62
    NAK_OPERATIONAL = 0x63
