"""Paths of a QP: which plane and which EV a packet takes (docs/protocol.md, "EV states")."""

import random
from collections.abc import Collection

from .paths import Paths

__all__ = ["Spray"]


class Spray:
    """EV states of one QP in all planes, and the pick.

    Parameters
    ----------
    planes : list of list of :class:`int`
        EV indices of each plane.
    active_per_plane : :class:`int`
        How many of each plane's EVs are in use at first; the rest are backups.
    least : :class:`int`
        GOOD active EVs that each plane is to have while it has backups.
    retire_ns, retire_max_ns : :class:`int`
        How long a bad EV stays out, unless probes bring it back before: the first time, and at
        the most.
    rng : :class:`random.Random`
        Orders the rotations.
    """

    def __init__(
        self,
        planes: list[list[int]],
        *,
        active_per_plane: int | None = None,
        least: int = 0,
        retire_ns: int = 100_000,
        retire_max_ns: int = 10_000_000,
        rng: random.Random,
    ):
        self.planes = planes
        self.paths = [Paths(evs, evs[:active_per_plane], least=least) for evs in planes]
        self.plane_of = {ev: n for n, plane in enumerate(planes) for ev in plane}
        self.rng = rng
        self.retire_ns = retire_ns
        self.retire_max_ns = retire_max_ns
        self.served = [0] * len(planes)
        self._retired: dict[int, tuple[int, int]] = {}  # EV: (back at, how long it was out)

    def pick(self, now_ns: int, *, usable: Collection[int], avoid: int | None = None) -> int | None:
        """Return the EV for the next packet, or None if no plane can be used.

        Parameters
        ----------
        usable : collection of :class:`int`
            Planes whose port is up and has room, and in which the peer can receive.
        avoid : :class:`int`, optional
            EV that is taken only if there is no other.
        """
        self._revive(now_ns)
        spared = {avoid}
        for evs_of in (
            lambda paths: paths.usable - spared,
            lambda paths: paths.usable,
            lambda paths: paths.bad,  # the floor: something must be tried
        ):
            if planes := [plane for plane in usable if evs_of(self.paths[plane])]:
                plane = min(planes, key=lambda plane: self.served[plane])
                self.served[plane] += 1
                return self.paths[plane].pick(self._order(plane), avoid=avoid)
        return None

    def skip(self, ev: int):
        """Note that congestion was met on ``ev``."""
        plane = self.plane_of[ev]
        self.paths[plane].mark(ev, self._order(plane))

    def blame(self, ev: int, now_ns: int):
        """Note that a packet was lost on ``ev``."""
        plane = self.plane_of[ev]
        if self.paths[plane].blame(ev, self._order(plane)):
            _, out = self._retired.get(ev, (0, 0))
            out = min(2 * out, self.retire_max_ns) if out else self.retire_ns
            self._retired[ev] = (now_ns + out, out)

    def answer(self, ev: int, *, marked: bool = False):
        """Note that a probe of ``ev`` was answered."""
        self.paths[self.plane_of[ev]].answer(ev, marked=marked)

    def miss(self, ev: int):
        """Note that a probe of ``ev`` was not answered."""
        self.paths[self.plane_of[ev]].miss(ev)

    def deny(self, ev: int):
        """Take ``ev`` out of use, until it is allowed again."""
        plane = self.plane_of[ev]
        self.paths[plane].deny(ev, self._order(plane))

    def allow(self, ev: int):
        """Give back an EV that was denied."""
        self.paths[self.plane_of[ev]].allow(ev)

    def _order(self, plane: int) -> list[list[int]]:
        evs = self.planes[plane]
        return [[ev] for ev in self.rng.sample(evs, len(evs))]

    def _revive(self, now_ns: int):
        for ev, (back_at, _) in self._retired.items():
            if now_ns >= back_at:
                self.paths[self.plane_of[ev]].revive(ev)
