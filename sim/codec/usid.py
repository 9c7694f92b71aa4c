"""Micro-SIDs: 16-bit names of switches and NIC ports, up to six in an IPv6 address (RFC 9800).

An address that carries them is a *carrier*: a 32-bit block, then the uSIDs in the order in which
the packet meets them; a zero ends the list.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from .entropy import EvFields

__all__ = [
    "DEFAULT_BLOCK",
    "USID_SLOTS",
    "CarrierTemplate",
    "Usid",
    "UsidKind",
    "active_usid",
    "carrier",
    "carrier_usids",
    "shift",
]

#: Locator block of carriers, fcbb:bbbb::/32.
DEFAULT_BLOCK = 0xFCBBBBBB

#: uSIDs that a carrier has room for.
USID_SLOTS = 6

_USID_SPACE = 1 << 16 * USID_SLOTS


class UsidKind(IntEnum):
    """What a uSID names."""

    T0 = 1
    T1 = 2
    NIC = 3


class Usid(NamedTuple):
    """Fields of a uSID as this project lays it out.

    Attributes
    ----------
    plane : :class:`int`
        0 to 15.
    kind : :class:`int`
        One of :class:`UsidKind`.
    index : :class:`int`
        0 to 1023. What it counts is the kind's.

    Examples
    --------
    >>> hex(Usid(plane=2, kind=UsidKind.NIC, index=5).pack())
    '0x2c05'
    >>> Usid.unpack(0xF3FF)
    Usid(plane=15, kind=0, index=1023)
    """

    plane: int
    kind: int
    index: int

    def pack(self) -> int:
        """Return the uSID.

        Raises
        ------
        ValueError
            If a field does not fit.
        """
        for name, limit in (("plane", 16), ("kind", 4), ("index", 1024)):
            value = getattr(self, name)
            if value not in range(limit):
                raise ValueError(f"{name} of a uSID must be below {limit}, not {value}")
        return self.plane << 12 | self.kind << 10 | self.index

    @classmethod
    def unpack(cls, usid: int) -> "Usid":
        """Return the fields of ``usid``."""
        return cls(plane=usid >> 12, kind=usid >> 10 & 3, index=usid & 0x3FF)


def carrier(block: int, usids: Sequence[int]) -> int:
    """Return the IPv6 address that carries ``usids``.

    Raises
    ------
    ValueError
        If there are more than six, or one is zero, which would end the list, or too wide.
    """
    if len(usids) > USID_SLOTS:
        raise ValueError(f"a carrier holds at most {USID_SLOTS} uSIDs, not {len(usids)}")
    address = block
    for usid in usids:
        if usid not in range(1, 1 << 16):
            raise ValueError(f"a uSID must be from 1 to 65535, not {usid}")
        address = address << 16 | usid
    return address << 16 * (USID_SLOTS - len(usids))


def carrier_usids(address: int) -> list[int]:
    """Return the uSIDs in ``address``, up to the first zero."""
    usids = []
    for slot in range(USID_SLOTS):
        usid = address >> 16 * (USID_SLOTS - 1 - slot) & 0xFFFF
        if not usid:
            break
        usids.append(usid)
    return usids


def active_usid(address: int) -> int:
    """Return the uSID behind the block: the one whose turn it is."""
    return address >> 80 & 0xFFFF


def shift(address: int) -> int:
    """Take the active uSID out: the others move up, and the block stays (RFC 9800, section 4.1).

    Examples
    --------
    >>> hex(shift(0xFCBBBBBB_2401_2801_2402_2C05_0000_0000))
    '0xfcbbbbbb280124022c05000000000000'
    """
    return address >> 96 << 96 | (address << 16) % _USID_SPACE


@dataclass(frozen=True, kw_only=True)
class CarrierTemplate:
    """Carrier of a destination, to which each packet's EV adds its plane and uplink.

    Attributes
    ----------
    carrier : :class:`int`
        Address with those left zero.
    plane_slots : :class:`int`
        Mask of the uSIDs that take the plane; bit 0 is the first behind the block.
    uplink_slots : :class:`int`
        Mask of the one uSID, if any, that takes the uplink as its index.
    """

    carrier: int
    plane_slots: int
    uplink_slots: int

    def expand(self, ev: int) -> int:
        """Return the carrier for ``ev``."""
        fields = EvFields.unpack(ev)
        address = self.carrier
        for slot in range(USID_SLOTS):
            usid = fields.plane << 12 if self.plane_slots >> slot & 1 else 0
            if self.uplink_slots >> slot & 1:
                usid |= fields.uplink
            address |= usid << 16 * (USID_SLOTS - 1 - slot)
        return address
