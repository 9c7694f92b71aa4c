"""Entropy values (EVs): what is in one, and where it goes in a packet (docs/protocol.md, "EV")."""

from typing import NamedTuple

__all__ = ["EvFields", "ev_from_wire", "ev_to_wire"]

#: Upper octet of the upper half: as a source port, it is in RoCE's range for entropy.
_PREFIX = 0xC0


class EvFields(NamedTuple):
    """Fields of an EV as this project lays it out.

    Attributes
    ----------
    index : :class:`int`
        Place in the EV profile, 0 to 255.
    plane : :class:`int`
        0 to 15.
    uplink : :class:`int`
        Index of the T1 switch that the packet goes by, 0 to 255.

    Examples
    --------
    >>> EvFields(index=5, plane=2, uplink=1).pack() == 0xC0052010
    True
    >>> EvFields.unpack(0xC0052010)
    EvFields(index=5, plane=2, uplink=1)
    """

    index: int
    plane: int
    uplink: int

    def pack(self) -> int:
        """Return the EV.

        Raises
        ------
        ValueError
            If a field does not fit.
        """
        for name, limit in (("index", 256), ("plane", 16), ("uplink", 256)):
            value = getattr(self, name)
            if value not in range(limit):
                raise ValueError(f"{name} of an EV must be below {limit}, not {value}")
        return _PREFIX << 24 | self.index << 16 | self.plane << 12 | self.uplink << 4

    @classmethod
    def unpack(cls, ev: int) -> "EvFields":
        """Return the fields of ``ev``."""
        return cls(index=ev >> 16 & 0xFF, plane=ev >> 12 & 0xF, uplink=ev >> 4 & 0xFF)


def ev_to_wire(ev: int, *, swap: bool = False) -> tuple[int, int]:
    """Return the UDP source port and the lower 16 bits of the flow label that carry ``ev``.

    Parameters
    ----------
    swap : :class:`bool`
        The lower half goes in the source port, instead of the upper.
    """
    upper, lower = ev >> 16, ev & 0xFFFF
    return (lower, upper) if swap else (upper, lower)


def ev_from_wire(source_port: int, flow_label: int, *, swap: bool = False) -> int:
    """Return the EV of a packet: the inverse of :func:`ev_to_wire`."""
    upper, lower = source_port, flow_label & 0xFFFF
    if swap:
        upper, lower = lower, upper
    return upper << 16 | lower
