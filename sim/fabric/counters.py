"""Counts of frames and of reasons for losing them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["Counters", "DropCause"]


class DropCause(StrEnum):
    """Why a fabric lost a frame."""

    #: By chance, on a link.
    RANDOM = "random"
    #: A meddler wanted it so.
    MEDDLER = "meddler"
    #: The link, or a switch at one of its ends, was down, or went down with the frame on it.
    LINK_DOWN = "link_down"
    #: The output queue had no room.
    QUEUE_FULL = "queue_full"
    NOT_IPV6 = "not_ipv6"
    #: The frame came to a switch whose address it does not bear.
    WRONG_MAC = "wrong_mac"
    HOP_LIMIT = "hop_limit"
    NO_ROUTE = "no_route"
    #: The carrier was used up: the packet was for the switch itself, which wants none.
    FOR_THE_SWITCH = "for_the_switch"
    #: It went into a kernel that is a switch, and did not come out.
    KERNEL = "kernel"


@dataclass
class Counters:
    """Counts of one place, or sums.

    Attributes
    ----------
    frames, octets : :class:`int`
        What went on from here; octets without frame check sequence.
    marked, trimmed : :class:`int`
        Frames of those that were marked CE, and that were cut.
    drops : :class:`collections.Counter`
        Frames lost here by :class:`DropCause`.
    """

    frames: int = 0
    octets: int = 0
    marked: int = 0
    trimmed: int = 0
    drops: Counter = field(default_factory=Counter)

    @property
    def dropped(self) -> int:
        """Frames lost here for any cause."""
        return self.drops.total()

    @classmethod
    def sum(cls, counters: Iterable["Counters"]) -> "Counters":
        """Return the sum of ``counters``."""
        total = cls()
        for one in counters:
            total.frames += one.frames
            total.octets += one.octets
            total.marked += one.marked
            total.trimmed += one.trimmed
            total.drops.update(one.drops)
        return total
