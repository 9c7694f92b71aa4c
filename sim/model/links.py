"""Links that seem dead, by the losses of a NIC (docs/protocol.md, "Links that are inferred")."""

from collections.abc import Hashable
from dataclasses import dataclass, field

__all__ = ["Link", "LinkTable", "Links"]

#: Links of each kind that may be under suspicion at a time.
SUSPECTS = 8

#: As far as losses are counted.
_MOST = 7


@dataclass(frozen=True)
class Link:
    """An up-link, or, with a ``site``, the down-link to that last switch."""

    plane: int
    uplink: int
    site: int | None = None


@dataclass
class _Suspect:
    link: Link
    last: Hashable
    sites: set[int]
    count: int = 1
    old: bool = False
    masked: bool = field(default=False)


class LinkTable:
    """Links of one kind: losses on each, and those that are masked.

    Parameters
    ----------
    single : :class:`bool`
        Down-links.
    threshold : :class:`int`
        Losses at which a link is masked.
    """

    def __init__(self, *, single: bool, threshold: int = 3):
        self.single = single
        self.threshold = threshold
        self.entries: list[_Suspect | None] = [None] * SUSPECTS

    @property
    def masked(self) -> set[Link]:
        """Links that are masked."""
        return {entry.link for entry in self.entries if entry and entry.masked}

    def lose(self, link: Link, site: int, ev: Hashable, *, counts: bool = True) -> bool:
        """Note a loss of ``ev``; return whether its link is masked, or would be if it counted."""
        hit = next((n for n, e in enumerate(self.entries) if e and e.link == link), None)
        if hit is None:
            entry = _Suspect(link, ev, {site})
            place = next((n for n, e in enumerate(self.entries) if e is None), None)
            if place is None:
                place = next((n for n, e in enumerate(self.entries) if not e.masked), None)
            if place is None:
                return False
        else:
            place, old = hit, self.entries[hit]
            count = min(old.count + (old.last != ev), _MOST)
            entry = _Suspect(link, ev, old.sites | {site}, count, masked=old.masked)
        enough = entry.count >= self.threshold and (self.single or len(entry.sites) > 1)
        masked = entry.masked or enough
        if counts:
            entry.masked = masked
            self.entries[place] = entry
        return masked

    def age(self):
        """Let time go on: what was not lost again since the last time is forgotten."""
        for n, entry in enumerate(self.entries):
            if entry and not entry.masked:
                if entry.old:
                    self.entries[n] = None
                entry.old = True

    def clear(self, place: int):
        """Forget the entry at ``place``: its link works."""
        self.entries[place] = None


class Links:
    """All that a NIC thinks of links.

    Parameters
    ----------
    threshold : :class:`int`
        Losses at which a link is masked.
    """

    def __init__(self, *, threshold: int = 3):
        self.up = LinkTable(single=False, threshold=threshold)
        self.down = LinkTable(single=True, threshold=threshold)

    def lose(self, plane: int, uplink: int, site: int, ev: Hashable) -> bool:
        """Note a loss; return whether it is absorbed, so that the EV is none the worse for it."""
        link = Link(plane, uplink)
        begins = link not in self.up.masked
        up = self.up.lose(link, site, ev)
        below = Link(plane, uplink, site)
        down = self.down.lose(below, site, ev, counts=not (up and begins))
        return up or down

    def masks(self, plane: int, uplink: int, site: int) -> bool:
        """Return whether a path takes a masked link."""
        return (
            Link(plane, uplink) in self.up.masked or Link(plane, uplink, site) in self.down.masked
        )
