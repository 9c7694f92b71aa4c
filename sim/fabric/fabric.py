"""Planes of modelled switches between hosts."""

from collections.abc import Iterable

from mrcnic.sim.codec.usid import Usid, UsidKind

from .counters import Counters, DropCause
from .events import EventFabric
from .faults import Fault
from .link import Link, LinkSettings
from .switch import Switch
from .topology import Topology

__all__ = ["Fabric"]


class Fabric(EventFabric):
    """A fabric whose switches and queues are modelled.

    Two runs with the same arguments and the same frames are alike in everything.

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
    switches : :class:`dict` of :class:`str` to :class:`~mrcnic.sim.fabric.switch.Switch`
        By name.
    """

    def __init__(
        self,
        topology: Topology,
        settings: LinkSettings | None = None,
        *,
        faults: Iterable[Fault] = (),
        seed: int = 0,
    ):
        super().__init__(topology, settings, links=topology.links, faults=faults, seed=seed)
        self.switches: dict[str, Switch] = {
            name: Switch(
                name,
                block=topology.block,
                usid=topology.usid_of[name],
                mac=topology.macs[name],
            )
            for name in topology.switches
        }
        for plane in range(topology.planes):
            self._route(plane)

    def close(self) -> None:
        """There is nothing outside of this process."""

    # ---- counts ----------------------------------------------------------------------------------

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

    def _counters(self) -> Iterable[Counters]:
        return (*super()._counters(), *(switch.counters for switch in self.switches.values()))

    # ---- switches --------------------------------------------------------------------------------

    def _switch(self, link: Link, frame: bytes) -> None:
        switch = self.switches[link.destination]
        result = switch.forward(frame)
        if isinstance(result, DropCause):
            self._drop(result, switch.name, switch.counters, frame)
            return
        way, leaving = result
        switch.counters.frames += 1
        switch.counters.octets += len(leaving)
        self._put(way, leaving)

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
