"""Paths of a QP: EV states, and which EV a packet takes (docs/protocol.md, "EV states")."""

import random
from collections.abc import Collection
from enum import Enum

__all__ = ["EvState", "Spray"]


class EvState(Enum):
    """What is thought of an EV."""

    GOOD = 0
    DENIED = 1
    SKIP = 2
    ASSUMED_BAD = 3


class Spray:
    """EV states of one QP, and the pick.

    Parameters
    ----------
    planes : list of list of :class:`int`
        EV indices of each plane.
    active_per_plane : :class:`int`
        How many of each plane's EVs are in use at first; the rest are backups.
    retire_ns, retire_max_ns : :class:`int`
        How long a bad EV stays out: the first time, and at the most.
    rng : :class:`random.Random`
        Orders the rotations.
    """

    def __init__(
        self,
        planes: list[list[int]],
        *,
        active_per_plane: int | None = None,
        retire_ns: int = 100_000,
        retire_max_ns: int = 10_000_000,
        rng: random.Random,
    ):
        self.planes = planes
        self.rng = rng
        self.retire_ns = retire_ns
        self.retire_max_ns = retire_max_ns
        self.state = {ev: EvState.GOOD for plane in planes for ev in plane}
        self.plane_of = {ev: n for n, plane in enumerate(planes) for ev in plane}
        self.active = {ev for plane in planes for ev in plane[:active_per_plane]}
        self.served = [0] * len(planes)
        self._order: list[list[int]] = [[] for _ in planes]
        self._retired: dict[int, tuple[int, int]] = {}  # EV: (back at, how long it was out)

    def pick(self, now_ns: int, *, usable: Collection[int], avoid: int | None = None) -> int | None:
        """Return the EV for the next packet, or None if no plane can be used.

        Parameters
        ----------
        usable : collection of :class:`int`
            Planes whose port is up and has room.
        avoid : :class:`int`, optional
            EV that is taken only if there is no other.
        """
        self._revive(now_ns)
        planes = sorted(usable, key=lambda plane: self.served[plane])
        for wanted in (EvState.GOOD, EvState.SKIP):
            for plane in planes:
                if (ev := self._next(plane, wanted, avoid)) is not None:
                    return self._serve(plane, ev)
        for plane in planes:  # the floor: something must be tried
            if bad := [ev for ev in self.planes[plane] if self.state[ev] is EvState.ASSUMED_BAD]:
                return self._serve(plane, min(bad, key=lambda ev: self._retired[ev][0]))
        if avoid is not None and self.plane_of[avoid] in usable:
            return self._serve(self.plane_of[avoid], avoid)
        return None

    def skip(self, ev: int):
        """Note that congestion was met on ``ev``."""
        if self.state[ev] is EvState.GOOD:
            self.state[ev] = EvState.SKIP

    def blame(self, ev: int, now_ns: int):
        """Note that a packet was lost on ``ev``."""
        if self.state[ev] not in (EvState.GOOD, EvState.SKIP):
            return
        self.state[ev] = EvState.ASSUMED_BAD
        _, out = self._retired.get(ev, (0, 0))
        out = min(2 * out, self.retire_max_ns) if out else self.retire_ns
        self._retired[ev] = (now_ns + out, out)
        if ev in self.active:
            backups = [
                other
                for other in self.planes[self.plane_of[ev]]
                if other not in self.active and self.state[other] is EvState.GOOD
            ]
            if backups:
                self.active.remove(ev)
                self.active.add(backups[0])

    def _serve(self, plane: int, ev: int) -> int:
        self.served[plane] += 1
        return ev

    def _next(self, plane: int, wanted: EvState, avoid: int | None) -> int | None:
        restored = False
        for _ in range(2 * len(self.planes[plane])):
            if not self._order[plane]:
                self._order[plane] = self.planes[plane].copy()
                self.rng.shuffle(self._order[plane])
            ev = self._order[plane].pop()
            if ev not in self.active:
                continue
            state = self.state[ev]
            if state is EvState.SKIP and wanted is EvState.GOOD and not restored:
                restored = True  # passed over once, as it was asked for
                self.state[ev] = EvState.GOOD
            elif state is wanted and ev != avoid:
                return ev
        return None

    def _revive(self, now_ns: int):
        for ev, (back_at, _) in self._retired.items():
            if self.state[ev] is EvState.ASSUMED_BAD and now_ns >= back_at:
                self.state[ev] = EvState.GOOD
