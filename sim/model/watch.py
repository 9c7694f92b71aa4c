"""Probes of a QP's EVs that are out of use (docs/protocol.md, "EV state machine")."""

from collections.abc import Collection
from dataclasses import dataclass

from mrcnic.hdl.wire.opcodes import ProbeKind

__all__ = ["Watch"]

#: Answers in a row that end the watch of an EV, and times that a wait may double.
_ANSWERS, _DOUBLINGS = 3, 7


@dataclass
class _Watched:
    """An EV that is probed: its probe is due at a time, or out since then."""

    when_ns: int
    answers: int = 0
    doublings: int = 0
    probe_id: int | None = None


class Watch:
    """Say which EV is to be probed when, and what an answer shows.

    Parameters
    ----------
    plane_of : :class:`dict`
        Plane of each EV.
    delay_ns, delay_max_ns : :class:`int`
        From the loss to the first probe, and at most between probes: each that is not answered
        doubles the wait.
    timeout_ns : :class:`int`
        Without an answer for so long, a probe is lost.
    interval_ns : :class:`int`
        Between two probes in one plane.
    """

    def __init__(
        self,
        plane_of: dict[int, int],
        *,
        delay_ns: int = 100_000,
        delay_max_ns: int = 10_000_000,
        timeout_ns: int = 65_536,
        interval_ns: int = 10_000,
    ):
        self.plane_of = plane_of
        self.delay_ns = delay_ns
        self.delay_max_ns = delay_max_ns
        self.timeout_ns = timeout_ns
        self.interval_ns = interval_ns
        self._watched: dict[int, _Watched] = {}
        self._number = ProbeKind.PATH
        self._next_ns: dict[int, int] = {}  # by plane

    def start(self, ev: int, now_ns: int):
        """Watch ``ev``, or watch it anew."""
        self._watched[ev] = _Watched(now_ns + self.delay_ns)

    def due(self, now_ns: int, *, usable: Collection[int]) -> tuple[int, int] | None:
        """Return an EV whose probe leaves now, and the probe's id."""
        for ev, state in self._watched.items():
            plane = self.plane_of[ev]
            waits = state.probe_id is not None or now_ns < state.when_ns
            if waits or plane not in usable or now_ns < self._next_ns.get(plane, now_ns):
                continue
            self._next_ns[plane] = now_ns + self.interval_ns
            state.probe_id, state.when_ns = ev << 8 | self._number, now_ns
            self._number = self._number + 1 if self._number < 255 else ProbeKind.PATH
            return ev, state.probe_id
        return None

    def answered(self, probe_id: int, now_ns: int) -> int | None:
        """Return the EV whose probe was answered, or ``None`` if nobody waits for that answer."""
        ev = probe_id >> 8
        state = self._watched.get(ev)
        if state is None or state.probe_id != probe_id:
            return None
        if state.answers + 1 == _ANSWERS:
            del self._watched[ev]
        else:
            self._watched[ev] = _Watched(now_ns + self.delay_ns, answers=state.answers + 1)
        return ev

    def missed(self, now_ns: int) -> list[int]:
        """Return the EVs whose probes were not answered in time, each once."""
        late = [
            ev
            for ev, state in self._watched.items()
            if state.probe_id is not None and now_ns - state.when_ns > self.timeout_ns
        ]
        for ev in late:
            doublings = min(self._watched[ev].doublings + 1, _DOUBLINGS)
            wait = min(self.delay_ns << doublings, self.delay_max_ns)
            self._watched[ev] = _Watched(now_ns + wait, doublings=doublings)
        return late
