"""Paths of a QP: which plane and which EV a packet takes (docs/protocol.md, "EV states")."""

import random
from collections.abc import Collection, Set

from .paths import Paths
from .watch import Watch

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
    rng : :class:`random.Random`
        Orders the rotations.
    probing : :class:`int`
        How a :class:`~.watch.Watch` probes what is out of use: nothing else brings an EV back.
    """

    def __init__(
        self,
        planes: list[list[int]],
        *,
        active_per_plane: int | None = None,
        least: int = 0,
        rng: random.Random,
        **probing: int,
    ):
        self.planes = planes
        self.paths = [Paths(evs, evs[:active_per_plane], least=least) for evs in planes]
        self.plane_of = {ev: n for n, plane in enumerate(planes) for ev in plane}
        self.rng = rng
        self.served = [0] * len(planes)
        self.watch = Watch(self.plane_of, **probing)

    def pick(
        self,
        *,
        usable: Collection[int],
        avoid: int | None = None,
        masked: Set[int] = frozenset(),
    ) -> int | None:
        """Return the EV for the next packet, or None if no plane can be used.

        Parameters
        ----------
        usable : collection of :class:`int`
            Planes whose port is up and has room, and in which the peer can receive.
        avoid : :class:`int`, optional
            EV that is taken only if there is no other.
        masked : set of :class:`int`
            EVs whose links seem dead. Planes that have no others are taken only if all are so.
        """
        spared = {avoid}
        dark = {plane for plane in usable if masked.issuperset(self.planes[plane])}
        for evs_of in (
            lambda plane: self._lit(plane, dark) - spared,
            lambda plane: self._lit(plane, dark),
            # The floor: something must be tried.
            lambda plane: self.paths[plane].bad or (plane in dark and self.paths[plane].usable),
        ):
            if planes := [plane for plane in usable if evs_of(plane)]:
                plane = min(planes, key=lambda plane: self.served[plane])
                self.served[plane] += 1
                return self.paths[plane].pick(self._order(plane), avoid=avoid, masked=masked)
        return None

    def _lit(self, plane, dark):
        return set() if plane in dark else self.paths[plane].usable

    def skip(self, ev: int):
        """Note that congestion was met on ``ev``."""
        plane = self.plane_of[ev]
        self.paths[plane].mark(ev, self._order(plane))

    def blame(self, ev: int, now_ns: int):
        """Note that a packet was lost on ``ev``."""
        plane = self.plane_of[ev]
        self.paths[plane].blame(ev, self._order(plane))
        if ev in self.paths[plane].bad:
            self.watch.start(ev, now_ns)

    def probe(self, now_ns: int, *, usable: Collection[int]) -> tuple[int, int] | None:
        """Return an EV that is to be probed now, and the id of the probe, if there is one."""
        for ev in self.watch.missed(now_ns):
            self.paths[self.plane_of[ev]].miss(ev)
        return self.watch.due(now_ns, usable=usable)

    def answer(self, probe_id: int, now_ns: int, *, marked: bool = False):
        """Note that a probe was answered; an answer that nobody waits for changes nothing."""
        if (ev := self.watch.answered(probe_id, now_ns)) is not None:
            self.paths[self.plane_of[ev]].answer(ev, marked=marked)

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
