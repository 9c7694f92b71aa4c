"""Planes of switches between hosts, driven by events."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import count

from mrcnic.sim.codec.usid import Usid, UsidKind

from .counters import Counters, DropCause
from .faults import Fault, Meddler
from .link import Link, LinkSettings
from .switch import Switch
from .topology import Topology

__all__ = ["Fabric"]

#: Order of events at one time: what fails then has failed for the frames of that time.
_FAULT, _FRAME = 0, 1


class Fabric:
    """Everything between the ports of the hosts.

    Frames go from port to port; times are integers in picoseconds and never go back. Two runs with
    the same arguments and the same frames are alike in everything.

    Parameters
    ----------
    topology : :class:`~mrcnic.sim.fabric.topology.Topology`
        Shape and names.
    settings : :class:`~mrcnic.sim.fabric.link.LinkSettings`
        Rate, delay and so on of all links.
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
    switches : :class:`dict` of :class:`str` to :class:`~mrcnic.sim.fabric.switch.Switch`
        By name.
    meddlers : :class:`list`
        Asked in turn what becomes of each frame that is about to go on a link; the first that
        answers settles it. See :mod:`mrcnic.sim.fabric.faults`.
    frame_observers : :class:`list`
        Called with name of the link, time and octets of each frame that goes on a link.
    drop_observers : :class:`list`
        Called with cause, name of link or switch, time and octets of each frame that is lost.
    fault_observers : :class:`list`
        Called with each :class:`~mrcnic.sim.fabric.faults.Fault` when it has happened.

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
        faults: Iterable[Fault] = (),
        seed: int = 0,
    ):
        self.topology = topology
        self.settings = settings or LinkSettings()
        self.now_ps = 0
        self.links: dict[str, Link] = {}
        self.switches: dict[str, Switch] = {}
        self.meddlers: list[Meddler] = []
        self.frame_observers: list[Callable[[str, int, bytes], None]] = []
        self.drop_observers: list[Callable[[DropCause, str, int, bytes], None]] = []
        self.fault_observers: list[Callable[[Fault], None]] = []
        self._events: list[tuple] = []
        self._order = count()
        self._down: set[str | tuple[str, str]] = set()
        self._up_link: dict[str, Link] = {}
        self._build(seed)
        for fault in faults:
            self.add_fault(fault)

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
                self._switch(self.switches[what.destination], frame)
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

    # ---- counts ----------------------------------------------------------------------------------

    @property
    def drops(self) -> Counter:
        """Frames lost anywhere, by cause."""
        return Counters.sum((*self._link_counters(), *self._switch_counters())).drops

    def by_plane(self) -> list[Counters]:
        """Return frames that the hosts sent into each plane, and what was marked or lost in it."""
        planes = []
        plane_of = self.topology.plane_of
        for plane in range(self.topology.planes):
            links = [link for link in self.links.values() if plane_of[link.source] == plane]
            switches = [one for one in self.switches.values() if plane_of[one.name] == plane]
            total = Counters.sum(one.counters for one in (*links, *switches))
            sent = Counters.sum(link.counters for link in links if link.from_host)
            total.frames, total.octets = sent.frames, sent.octets
            planes.append(total)
        return planes

    def by_node(self) -> dict[str, Counters]:
        """Return frames through each switch, and what was marked or lost in it and behind it."""
        nodes = {}
        for name, switch in self.switches.items():
            links = (link.counters for link in self.links.values() if link.source == name)
            total = Counters.sum((switch.counters, *links))
            total.frames, total.octets = switch.counters.frames, switch.counters.octets
            nodes[name] = total
        return nodes

    def _link_counters(self):
        return (link.counters for link in self.links.values())

    def _switch_counters(self):
        return (switch.counters for switch in self.switches.values())

    # ---- events ----------------------------------------------------------------------------------

    def _push(self, time_ps, kind, what, frame, losses):
        heapq.heappush(self._events, (time_ps, kind, next(self._order), what, frame, losses))

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

    def _switch(self, switch: Switch, frame: bytes) -> None:
        result = switch.forward(frame)
        if isinstance(result, DropCause):
            self._drop(result, switch.name, switch.counters, frame)
            return
        link, leaving = result
        switch.counters.frames += 1
        switch.counters.octets += len(leaving)
        self._put(link, leaving)

    def _drop(self, cause: DropCause, place: str, counters: Counters, frame: bytes) -> None:
        counters.drops[cause] += 1
        for observe in self.drop_observers:
            observe(cause, place, self.now_ps, frame)

    def _apply(self, fault: Fault) -> None:
        if fault.up:
            self._down.discard(fault.target)
        else:
            self._down.add(fault.target)
        for link in self.links.values():
            ends = (link.source, link.destination)
            reasons = (*ends, ends, ends[::-1])
            link.set_up(self._down.isdisjoint(reasons), self.now_ps)
        for observe in self.fault_observers:
            observe(fault)

    # ---- building --------------------------------------------------------------------------------

    def _build(self, seed: int) -> None:
        topology = self.topology
        macs = {}
        for plane in range(topology.planes):
            for tier, kind, indices in (
                (0, UsidKind.T0, topology.leaves),
                (1, UsidKind.T1, topology.spines),
            ):
                for index in range(indices):
                    name = topology.switch(plane, tier, index)
                    macs[name] = topology.switch_mac(plane, tier, index).to_bytes(6, "big")
                    self.switches[name] = Switch(
                        name,
                        block=topology.block,
                        usid=Usid(plane, kind, index + 1).pack(),
                        mac=macs[name],
                    )
            for host in topology.hosts:
                macs[topology.port(host, plane)] = topology.mac(host, plane).to_bytes(6, "big")
        for ends in topology.links:
            for source, destination in (ends, ends[::-1]):
                link = Link(
                    source,
                    destination,
                    self.settings,
                    macs=macs[destination] + macs[source],
                    from_host=source not in self.switches,
                    to_host=destination not in self.switches,
                    seed=seed,
                )
                self.links[link.name] = link
                if link.from_host:
                    self._up_link[source] = link
        for plane in range(topology.planes):
            self._route(plane)

    def _route(self, plane: int) -> None:
        """Fill the tables of a plane's switches."""
        topology = self.topology
        leaves = [topology.switch(plane, 0, leaf) for leaf in range(topology.leaves)]
        spines = [topology.switch(plane, 1, spine) for spine in range(topology.spines)]
        for lower, leaf in enumerate(leaves):
            for upper, spine in enumerate(spines):
                up, down = self.links[f"{leaf}-{spine}"], self.links[f"{spine}-{leaf}"]
                self.switches[leaf].add_segment(Usid(plane, UsidKind.T1, upper + 1).pack(), up)
                self.switches[spine].add_segment(Usid(plane, UsidKind.T0, lower + 1).pack(), down)
        for host in topology.hosts:
            home = leaves[host.leaf]
            to_host = self.links[f"{home}-{topology.port(host, plane)}"]
            self.switches[home].add_segment(topology.nic_usid(host, plane), to_host)
            self.switches[home].add_host(host.address, (to_host,))
            for spine in spines:
                self.switches[spine].add_host(host.address, (self.links[f"{spine}-{home}"],))
            for leaf in leaves:
                if leaf != home:
                    uplinks = tuple(self.links[f"{leaf}-{spine}"] for spine in spines)
                    self.switches[leaf].add_host(host.address, uplinks)
