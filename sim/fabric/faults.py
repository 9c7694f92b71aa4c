"""What goes wrong in a fabric: failures at given times, and meddling with single frames."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields

from .link import LinkSettings
from .times import parse_time
from .topology import Topology

__all__ = [
    "Fault",
    "Meddler",
    "Predicate",
    "corrupt_if",
    "corrupted",
    "delay_if",
    "drop_if",
    "duplicate_if",
    "parse_fault",
]

#: Whether a frame is meant: called with its octets, the time in picoseconds, and the name of the
#: link that it is about to go on, such as ``"p0t00-p0t10"`` for the direction from T0 to T1.
Predicate = Callable[[bytes, int, str], bool]

#: What becomes of a frame that is about to go on a link: any number of copies, each with an extra
#: delay in picoseconds. ``None`` leaves it alone.
Meddler = Callable[[bytes, int, str], Iterable[tuple[int, bytes]] | None]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A change of state of a switch or a link.

    Attributes
    ----------
    target : :class:`str` or :class:`tuple` of :class:`str`
        Name of a switch, or of both ends of a link, the lower one first.
    time_ps : :class:`int`
        When.
    up : :class:`bool`
        Whether it works from then on.
    worse : tuple of (:class:`str`, number)
        It works all the same, but its links have these settings of
        :class:`~mrcnic.sim.fabric.link.LinkSettings` from then on, or, if ``up``, those of the
        fabric again.
    """

    target: str | tuple[str, str]
    time_ps: int
    up: bool = False
    worse: tuple[tuple[str, float], ...] = ()

    def __str__(self):
        what = self.target if isinstance(self.target, str) else "-".join(self.target)
        if self.worse:
            return f"{what} {'as before' if self.up else 'worse'}"
        return f"{what} {'back' if self.up else 'down'}"


def parse_fault(text: str, topology: Topology) -> tuple[Fault, ...]:
    """Read ``WHAT@TIME``: what fails at that time.

    ``WHAT`` is a switch (``p0t10``), a link (``p0t00-p0t10``), or a host's port (``a0``), which
    means its link. ``WHAT@TIME-TIME`` works again from the second time on, and ``+WHAT@TIME``
    works again from this time on. With ``:NAME=VALUE,...`` behind it, it does not fail: that is how
    its links are meanwhile, in settings of :class:`~mrcnic.sim.fabric.link.LinkSettings`.

    Raises
    ------
    ValueError
        If there is no such thing in the fabric, or a time or a setting cannot be read.

    Examples
    --------
    >>> from mrcnic.sim.fabric.topology import default_topology
    >>> parse_fault("p0t10@20us", default_topology())
    (Fault(target='p0t10', time_ps=20000000, up=False, worse=()),)
    """
    what, at, when = text.partition("@")
    if not at:
        raise ValueError(f"a failure must be NODE@TIME or NODE@TIME-TIME, not {text!r}")
    up = what.startswith("+")
    target = _target(what.removeprefix("+").strip(), topology)
    when, _, settings = when.partition(":")
    worse = _settings(settings) if settings else ()
    first, dash, second = when.partition("-")
    if dash and up:
        raise ValueError(f"what comes back does so at one time, not {when!r}")
    start = parse_time(first)
    if not dash:
        return (Fault(target=target, time_ps=start, up=up, worse=worse),)
    end = parse_time(second)
    if end <= start:
        raise ValueError(f"the end of a failure must be after its start, and {when!r} is not so")
    return (
        Fault(target=target, time_ps=start, worse=worse),
        Fault(target=target, time_ps=end, up=True, worse=worse),
    )


def _settings(text: str) -> tuple[tuple[str, float], ...]:
    known = {item.name: type(item.default) for item in fields(LinkSettings)}
    settings = []
    for pair in text.split(","):
        name, _, value = pair.partition("=")
        if name not in known:
            raise ValueError(f"there is no setting {name} of links; they are {', '.join(known)}")
        try:
            settings.append((name, float(value) if known[name] is float else int(value)))
        except ValueError:
            raise ValueError(f"{name} must be a number, not {value!r}") from None
    LinkSettings(**dict(settings))
    return tuple(settings)


def _target(what: str, topology: Topology) -> str | tuple[str, str]:
    if what in topology.switches:
        return what
    if what in topology.ports:
        return next(link for link in topology.links if link[0] == what)
    ends = what.split("-")
    known = (*topology.switches, *topology.ports)
    for end in ends:
        if end not in known:
            raise ValueError(f"there is no node {end}; the nodes are {', '.join(known)}")
    for link in topology.links:
        if sorted(link) == sorted(ends):
            return link
    raise ValueError(f"there is no link between {' and '.join(ends)}")


def drop_if(predicate: Predicate) -> Meddler:
    """Lose the frames that ``predicate`` is true for."""
    return lambda frame, time_ps, place: () if predicate(frame, time_ps, place) else None


def delay_if(predicate: Predicate, delay_ps: int) -> Meddler:
    """Keep frames back, so that later ones overtake them."""
    return lambda frame, time_ps, place: (
        ((delay_ps, frame),) if predicate(frame, time_ps, place) else None
    )


def duplicate_if(predicate: Predicate, delay_ps: int = 0) -> Meddler:
    """Send frames twice, the second copy so much later."""
    return lambda frame, time_ps, place: (
        ((0, frame), (delay_ps, frame)) if predicate(frame, time_ps, place) else None
    )


def corrupt_if(predicate: Predicate, rng: random.Random) -> Meddler:
    """Damage frames; see :func:`corrupted`."""
    return lambda frame, time_ps, place: (
        ((0, corrupted(frame, rng)),) if predicate(frame, time_ps, place) else None
    )


def corrupted(frame: bytes, rng: random.Random) -> bytes:
    """Return a frame with one to three bits in a row of 32 changed, or with its end cut off.

    A CRC of 32 bits finds all such changes of bits that it covers.
    """
    if rng.random() < 0.1:
        return frame[: rng.randrange(1, len(frame))]
    number = int.from_bytes(frame, "big")
    start = rng.randrange(8 * len(frame) - 31)
    for bit in rng.sample(range(32), rng.randint(1, 3)):
        number ^= 1 << start + bit
    return number.to_bytes(len(frame), "big")
