"""Segments behind the first, for paths that need a segment routing header."""

from collections.abc import Sequence
from dataclasses import dataclass

from mrcnic.hdl.rows import Table
from mrcnic.hdl.wire.srv6 import SEGMENTS_MAX

from .nic import Nic

__all__ = ["Route", "Routes"]


@dataclass(frozen=True, kw_only=True)
class Route:
    """A route, as rows of QPs and remote NICs name it.

    Attributes
    ----------
    row : :class:`int`
        Its number.
    segments : :class:`int`
        How many there are, the first of them included.
    reduced : :class:`bool`
        The first segment is only in the destination, and not in the list (RFC 8986, section 5.2).
    """

    row: int
    segments: int
    reduced: bool

    @property
    def fields(self) -> dict[str, int]:
        """Fields of a row."""
        return {"segments": self.segments, "reduced": int(self.reduced), "route": self.row}


class Routes:
    """All routes of a NIC: each holds the segments behind the first, for every port."""

    def __init__(self, nic: Nic):
        self._nic = nic
        self._free = list(range(nic.config.routes))

    async def add(self, segments: Sequence[Sequence[int]], *, reduced: bool = False) -> Route:
        """Write the segments that follow a path's first one.

        Parameters
        ----------
        segments
            Addresses in the order in which they are visited, for each port; as many for each.
        reduced
            Leave the first segment out of the list.

        Raises
        ------
        ValueError
            If that is not a route, or no row is left.
        """
        lanes, rows = self._nic.config.lanes, self._nic.config.routes
        if len(segments) != lanes:
            raise ValueError(f"segments must be given for {lanes} ports, not {len(segments)}")
        count = len(segments[0])
        if any(len(of_port) != count for of_port in segments):
            raise ValueError("segments must be as many for each port")
        if count >= SEGMENTS_MAX:
            raise ValueError(f"segments must be at most {SEGMENTS_MAX - 1}, not {count}")
        if reduced and not count:
            raise ValueError("reduced needs a second segment")
        if not self._free:
            raise ValueError(f"there must be {rows} routes at most")
        row = self._free.pop(0)
        for port, of_port in enumerate(segments):
            for n, segment in enumerate(of_port, 1):
                index = (port * rows + row) * SEGMENTS_MAX + n
                await self._nic.write_row(Table.ROUTE, index, segment=segment)
        return Route(row=row, segments=1 + count, reduced=reduced)

    def remove(self, route: Route):
        """Let another route have the row; no QP may still use it."""
        if route.row in self._free:
            raise ValueError(f"there is no route {route.row}")
        self._free.append(route.row)
