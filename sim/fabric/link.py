"""One direction of a link, with the output queue in front of it."""

import random
from dataclasses import dataclass

from mrcnic.sim.codec.transit import marked, trimmed

from .counters import Counters, DropCause

__all__ = ["OVERHEAD_OCTETS", "Link", "LinkSettings"]

#: What a frame takes on the wire besides itself: preamble, frame check sequence and gap.
OVERHEAD_OCTETS = 8 + 4 + 12

#: A trimmed frame may find the queue this much over its limit: it belongs to a class of its own.
_TRIMMED_EXTRA_OCTETS = 16 * 1024


@dataclass(frozen=True, kw_only=True)
class LinkSettings:
    """What all links of a fabric have in common.

    Attributes
    ----------
    rate_bps : :class:`int`
        Bits per second.
    delay_ps : :class:`int`
        From one end to the other, with what the switch at the end takes, in picoseconds.
    queue_octets : :class:`int`
        Room of an output queue.
    ecn_octets : :class:`int` or None
        Frames that find more than so much in the queue are marked CE, except towards hosts.
    trim : :class:`bool`
        Writes that find the queue full are cut instead of dropped.
    drop : :class:`float`
        Chance of losing a frame.
    """

    rate_bps: int = 100_000_000_000
    delay_ps: int = 500_000
    queue_octets: int = 256 * 1024
    ecn_octets: int | None = None
    trim: bool = False
    drop: float = 0.0

    def __post_init__(self):
        for name in ("rate_bps", "queue_octets"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.delay_ps < 0:
            raise ValueError(f"delay_ps must be at least 0, not {self.delay_ps}")
        if not 0 <= self.drop <= 1:
            raise ValueError(f"drop must be from 0 to 1, not {self.drop}")


class Link:
    """One direction of a link.

    Parameters
    ----------
    source, destination : :class:`str`
        Names of both ends.
    settings : :class:`LinkSettings`
        Rate, delay, queue and so on.
    macs : :class:`bytes`
        Destination and source MAC address of frames that a switch sends here.
    from_host, to_host : :class:`bool`
        Whether an end is a host's. A host's own queue has no limit: the host keeps to the rate.
    seed : :class:`int`
        Of the fabric. Each link has a random generator of its own, so that what happens on one
        does not change what happens on another.

    Attributes
    ----------
    settings : :class:`LinkSettings`
        May be replaced at any time, to make one link worse than the others.
    up : :class:`bool`
        Whether it works.
    losses : :class:`int`
        How often it has gone down: frames that were on it then are lost.
    counters : :class:`~mrcnic.sim.fabric.counters.Counters`
        Counts.
    """

    def __init__(
        self,
        source: str,
        destination: str,
        settings: LinkSettings,
        *,
        macs: bytes = b"",
        from_host: bool = False,
        to_host: bool = False,
        seed: int = 0,
    ):
        self.source = source
        self.destination = destination
        self.name = f"{source}-{destination}"
        self.settings = settings
        self.macs = macs
        self.from_host = from_host
        self.to_host = to_host
        self.up = True
        self.losses = 0
        self.counters = Counters()
        self._random = random.Random(f"{seed} {self.name}")
        self._free_at = 0

    def set_up(self, up: bool, now_ps: int) -> None:
        """Let the link work or not; when it stops, what it holds is lost."""
        if self.up and not up:
            self.losses += 1
            self._free_at = now_ps
        self.up = up

    def backlog(self, now_ps: int) -> int:
        """Return what waits or is being sent, in octets, with what surrounds frames."""
        return max(0, self._free_at - now_ps) * self.settings.rate_bps // (8 * 10**12)

    def send(self, frame: bytes, now_ps: int) -> tuple[int, bytes] | DropCause:
        """Put a frame in the queue.

        Returns
        -------
        When it arrives and what arrives, or why nothing does.
        """
        settings, counters = self.settings, self.counters
        if not self.up:
            return DropCause.LINK_DOWN
        if not self.from_host:
            backlog = self.backlog(now_ps)
            if backlog + len(frame) > settings.queue_octets:
                cut = trimmed(frame, last_hop=self.to_host) if settings.trim else None
                limit = settings.queue_octets + _TRIMMED_EXTRA_OCTETS
                if cut is None or backlog + len(cut) > limit:
                    return DropCause.QUEUE_FULL
                counters.trimmed += 1
                frame = cut
            elif (
                settings.ecn_octets is not None
                and backlog > settings.ecn_octets
                and not self.to_host
            ):
                counters.marked += 1
                frame = marked(frame)
        octets = len(frame) + OVERHEAD_OCTETS
        self._free_at = max(self._free_at, now_ps) + octets * 8 * 10**12 // settings.rate_bps
        counters.frames += 1
        counters.octets += len(frame)
        if settings.drop and self._random.random() < settings.drop:
            return DropCause.RANDOM
        return self._free_at + settings.delay_ps, frame
