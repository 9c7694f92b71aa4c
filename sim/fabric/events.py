"""What goes on between the ports of hosts, driven by events; what switches do is left open."""

import heapq
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count

from .counters import Counters, DropCause
from .faults import Fault, Meddler
from .link import Link, LinkSettings
from .topology import Topology

__all__ = ["EventFabric"]

#: Order of events at one time: what fails then has failed for the frames of that time.
_FAULT, _FRAME = 0, 1


class EventFabric(ABC):
    """Everything between the ports of the hosts, except what its switches do with a frame.

    Frames go from port to port; times are integers in picoseconds and never go back. It is a
    context manager, which calls :meth:`close`.

    Parameters
    ----------
    topology : :class:`~mrcnic.sim.fabric.topology.Topology`
        Shape and names.
    settings : :class:`~mrcnic.sim.fabric.link.LinkSettings`
        Rate, delay and so on of all links.
    links : iterable of pairs of :class:`str`
        Both ends of each link that frames are followed on, the lower end first.
    faults : iterable of :class:`~mrcnic.sim.fabric.faults.Fault`
        What fails when.
    seed : :class:`int`
        Of random losses.

    Attributes
    ----------
    now_ps : :class:`int`
        Time up to which events have happened.
    links : :class:`dict` of :class:`str` to :class:`~mrcnic.sim.fabric.link.Link`
        Directions of links by name, such as ``"p0t00-p0t10"`` and ``"p0t10-p0t00"``.
    meddlers : :class:`list`
        Asked in turn what becomes of each frame that is about to go on a link; the first that
        answers settles it. See :mod:`mrcnic.sim.fabric.faults`.
    frame_observers : :class:`list`
        Called with name of the link, time and octets of each frame that goes on a link.
    drop_observers : :class:`list`
        Called with cause, name of link or switch, time and octets of each frame that is lost.
    fault_observers : :class:`list`
        Called with each :class:`~mrcnic.sim.fabric.faults.Fault` when it has happened.
    foreign : :class:`int`
        Frames that switches have made themselves, and that the hosts were spared.

    Examples
    --------
    Capture everything::

        def observe(link, time_ps, frame):
            writer.write(link, time_ps // 1000, frame)

        fabric.frame_observers.append(observe)
    """

    def __init__(
        self,
        topology: Topology,
        settings: LinkSettings | None = None,
        *,
        links: Iterable[tuple[str, str]],
        faults: Iterable[Fault] = (),
        seed: int = 0,
    ):
        self.topology = topology
        self.settings = settings or LinkSettings()
        self.now_ps = 0
        self.links: dict[str, Link] = {}
        self.meddlers: list[Meddler] = []
        self.frame_observers: list[Callable[[str, int, bytes], None]] = []
        self.drop_observers: list[Callable[[DropCause, str, int, bytes], None]] = []
        self.fault_observers: list[Callable[[Fault], None]] = []
        self.foreign = 0
        self._events: list[tuple] = []
        self._order = count()
        self._down: set[str | tuple[str, str]] = set()
        self._up_link: dict[str, Link] = {}
        for ends in links:
            for source, destination in (ends, ends[::-1]):
                self._add_link(source, destination, seed)
        for fault in faults:
            self.add_fault(fault)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Give back what the fabric holds outside of this process."""

    @abstractmethod
    def _switch(self, link: Link, frame: bytes) -> None:
        """Let the switch at the end of ``link`` have a frame that arrives there now."""

    # ---- in use ----------------------------------------------------------------------------------

    def send(self, port: str, frame: bytes, time_ps: int) -> None:
        """Let a host send a frame whose last octet leaves its MAC at ``time_ps``.

        Raises
        ------
        ValueError
            If there is no such port, or the time has passed already.
        """
        if port not in self._up_link:
            raise ValueError(f"there is no port {port}; the ports are {', '.join(self._up_link)}")
        if time_ps < self.now_ps:
            raise ValueError(f"time_ps must be at least {self.now_ps}, not {time_ps}")
        self._push(time_ps, _FRAME, self._up_link[port], frame, None)

    def advance(self, until_ps: int) -> list[tuple[int, str, bytes]]:
        """Let everything happen up to and with a time.

        Cheap when nothing is due, so that it can be called in every clock cycle.

        Returns
        -------
        Time, port and octets of each frame that has arrived at a host, in the order of time.
        """
        arrived = []
        events = self._events
        while events and events[0][0] <= until_ps:
            time_ps, kind, _, what, frame, losses = heapq.heappop(events)
            self.now_ps = time_ps
            if kind == _FAULT:
                self._apply(what)
            elif losses is None:
                self._put(what, frame)
            elif losses != what.losses:
                self._drop(DropCause.LINK_DOWN, what.name, what.counters, frame)
            elif what.to_host:
                arrived.append((time_ps, what.destination, frame))
            else:
                self._switch(what, frame)
        self.now_ps = max(self.now_ps, until_ps)
        return arrived

    @property
    def next_ps(self) -> int | None:
        """Time of the next event, or ``None`` if nothing is under way."""
        return self._events[0][0] if self._events else None

    def add_fault(self, fault: Fault) -> None:
        """Let something fail, or come back, at a time that has not passed."""
        if fault.time_ps < self.now_ps:
            raise ValueError(f"time_ps must be at least {self.now_ps}, not {fault.time_ps}")
        self._push(fault.time_ps, _FAULT, fault, b"", None)

    def port_up(self, port: str) -> bool:
        """Return whether the link of a host's port works, as its MAC would see."""
        return self._up_link[port].up

    @property
    def drops(self) -> Counter:
        """Frames lost anywhere, by cause."""
        return Counters.sum(self._counters()).drops

    def _counters(self) -> Iterable[Counters]:
        return (link.counters for link in self.links.values())

    # ---- events ----------------------------------------------------------------------------------

    def _push(self, time_ps, kind, what, frame, losses):
        heapq.heappush(self._events, (time_ps, kind, next(self._order), what, frame, losses))

    def _put_at(self, time_ps: int, link: Link, frame: bytes) -> None:
        """Put a frame on a link later."""
        self._push(time_ps, _FRAME, link, frame, None)

    def _put(self, link: Link, frame: bytes) -> None:
        """Put a frame on a link, in as many copies as the meddlers want."""
        copies = ((0, frame),)
        for meddler in self.meddlers:
            answer = meddler(frame, self.now_ps, link.name)
            if answer is not None:
                copies = tuple(answer)
                break
        if not copies:
            self._drop(DropCause.MEDDLER, link.name, link.counters, frame)
        for extra_ps, copy in copies:
            result = link.send(copy, self.now_ps)
            if isinstance(result, DropCause):
                self._drop(result, link.name, link.counters, copy)
                continue
            arrival_ps, sent = result
            for observe in self.frame_observers:
                observe(link.name, self.now_ps, sent)
            self._push(arrival_ps + extra_ps, _FRAME, link, sent, link.losses)

    def _drop(self, cause: DropCause, place: str, counters: Counters, frame: bytes) -> None:
        counters.drops[cause] += 1
        for observe in self.drop_observers:
            observe(cause, place, self.now_ps, frame)

    def _apply(self, fault: Fault) -> None:
        if not fault.worse:
            change = self._down.discard if fault.up else self._down.add
            change(fault.target)
        for link in self.links.values():
            ends = (link.source, link.destination)
            reasons = (*ends, ends, ends[::-1])
            if not fault.worse:
                link.set_up(self._down.isdisjoint(reasons), self.now_ps)
            elif fault.target in reasons:
                worse = {} if fault.up else dict(fault.worse)
                link.settings = replace(self.settings, **worse)
        for observe in self.fault_observers:
            observe(fault)

    def _add_link(self, source: str, destination: str, seed: int) -> None:
        link = Link(
            source,
            destination,
            self.settings,
            macs=self.topology.macs[destination] + self.topology.macs[source],
            from_host=source in self.topology.ports,
            to_host=destination in self.topology.ports,
            seed=seed,
        )
        self.links[link.name] = link
        if link.from_host:
            self._up_link[source] = link
