"""Planes of switches, made of the kernel's own routers."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv6Address
from socket import AF_INET6

from pyroute2 import IPRoute, netns
from pyroute2.netlink.exceptions import NetlinkError

from mrcnic.sim.fabric.topology import Topology

from .namespaces import (
    check_support,
    entered,
    new_prefix,
    remove_leftovers,
    remove_namespaces,
    write_setting,
)
from .taps import create_tap

__all__ = ["KernelNetwork", "Way"]

#: Address of whoever is at the other end of a link: each has a neighbour entry of its own.
_PEER = "fe80::1"

_MTU = 9216

#: A device of each switch that never goes down: its own segment is bound to it, and would be gone
#: with the device.
_ANCHOR, _ANCHOR_PEER = "segment", "segment-peer"

#: What is set in each namespace before it has any devices. No device gets an address, so the
#: kernel has nothing to say of its own.
_SETTINGS = {
    **{
        f"ipv6/conf/{scope}/{name}": value
        for scope in ("all", "default")
        for name, value in (
            ("addr_gen_mode", 1),
            ("accept_dad", 0),
            ("accept_ra", 0),
            ("autoconf", 0),
            ("dad_transmits", 0),
            ("router_solicitations", 0),
            ("forwarding", 1),
            ("seg6_enabled", 1),
        )
    },
    # Where plain packets may take more than one way: by addresses, protocol, flow label and ports.
    "ipv6/fib_multipath_hash_policy": 3,
    "ipv6/fib_multipath_hash_fields": 0x3F,
}

#: How long devices may take to come up, in seconds.
_PATIENCE_S = 10


@dataclass(frozen=True)
class Way:
    """A destination, and the neighbours that a switch reaches it by.

    Attributes
    ----------
    prefix : :class:`str`
        IPv6 prefix.
    neighbours : tuple of :class:`str`
        Names of switches, or the port of a host.
    """

    prefix: str
    neighbours: tuple[str, ...]


class KernelNetwork:
    """Network namespaces that are the switches of a topology.

    Each switch runs the kernel's ``End`` with the NEXT-CSID flavour for its own uSID, and has a
    static route to each neighbour's. Its devices bear the names of the neighbours; towards the
    port of a host it is a TAP device (:mod:`mrcnic.sim.fabric.linux.taps`).

    Parameters
    ----------
    topology : :class:`~mrcnic.sim.fabric.topology.Topology`
        Shape and names.
    prefix : :class:`str`
        What the names of the namespaces begin with; :meth:`created` makes one up.

    Attributes
    ----------
    neighbours : :class:`dict` of :class:`str` to list of :class:`str`
        Of each switch.
    down : set of pairs of :class:`str`
        Switch and neighbour of each device that is down.
    """

    def __init__(self, topology: Topology, prefix: str):
        self.topology = topology
        self.prefix = prefix
        self.down: set[tuple[str, str]] = set()
        self.neighbours: dict[str, list[str]] = {name: [] for name in topology.switches}
        for lower, upper in topology.links:
            self.neighbours[upper].append(lower)
            if lower in self.neighbours:
                self.neighbours[lower].append(upper)

    @classmethod
    @contextmanager
    def created(cls, topology: Topology) -> Iterator["KernelNetwork"]:
        """Make the network, and remove it in the end; leftovers of dead processes go as well.

        Raises
        ------
        RuntimeError
            If it cannot be made here: one line that says why.
        """
        check_support()
        remove_leftovers()
        network = cls(topology, new_prefix())
        try:
            try:
                network._build()
            except (OSError, NetlinkError) as error:
                raise RuntimeError(f"the linux fabric cannot be made: {error}") from error
            yield network
        finally:
            remove_namespaces(network.prefix)

    def namespace(self, switch: str) -> str:
        """Return the name of a switch's namespace."""
        return self.prefix + switch

    @contextmanager
    def inside(self, switch: str) -> Iterator[IPRoute]:
        """Enter a switch's namespace, with a socket to configure it."""
        with entered(self.namespace(switch)), IPRoute() as ip:
            yield ip

    # ---- state of links --------------------------------------------------------------------------

    def set_down(self, devices: set[tuple[str, str]]) -> None:
        """Take these devices down, and bring up all others, with the routes that go by them.

        Parameters
        ----------
        devices : set of pairs of :class:`str`
            Switch and neighbour of each device.
        """
        for switch, neighbour in devices - self.down:
            self._set_link(switch, neighbour, "down")
        back = self.down - devices
        for switch, neighbour in back:
            self._set_link(switch, neighbour, "up")
        for switch, neighbour in back:
            if (neighbour, switch) not in devices:
                self._wait(switch, [neighbour])
                if neighbour in self.neighbours:
                    self._wait(neighbour, [switch])
        for switch in {switch for switch, _ in back}:
            self._route(switch)
        self.down = set(devices)

    def _set_link(self, switch: str, neighbour: str, state: str) -> None:
        with self.inside(switch) as ip:
            ip.link("set", index=self._index(ip, neighbour), state=state)

    def wait_for_port(self, switch: str, port: str) -> None:
        """Wait until the kernel sends on a TAP device whose other end has been opened.

        Raises
        ------
        RuntimeError
            If it never does.
        """
        self._wait(switch, [port])

    def _wait(self, switch: str, names: list[str]) -> None:
        """Wait until devices work: the kernel sees a cable some time after it is plugged."""
        end = time.monotonic() + _PATIENCE_S
        waiting = set(names)
        with self.inside(switch) as ip:
            while True:
                for link in ip.get_links():
                    if link.get("operstate") == "UP":
                        waiting.discard(link.get("ifname"))
                if not waiting:
                    return
                if time.monotonic() > end:
                    names = ", ".join(sorted(waiting))
                    raise RuntimeError(f"devices of {self.namespace(switch)} stay down: {names}")
                time.sleep(0.002)

    @staticmethod
    def _index(ip: IPRoute, name: str) -> int:
        return ip.link_lookup(ifname=name)[0]

    # ---- building --------------------------------------------------------------------------------

    def _build(self) -> None:
        topology = self.topology
        for switch in topology.switches:
            netns.create(self.namespace(switch))
            with self.inside(switch) as ip:
                for name, value in _SETTINGS.items():
                    write_setting(name, value)
                ip.link("add", ifname=_ANCHOR, kind="veth", peer=_ANCHOR_PEER)
                self._start(ip, _ANCHOR)
                self._start(ip, _ANCHOR_PEER)
        for lower, upper in topology.links:
            with self.inside(upper) as ip:
                if lower in topology.ports:
                    create_tap(lower)
                    self._start(ip, lower, mac=topology.macs[upper])
                    continue
                peer = {"ifname": upper, "net_ns_fd": self.namespace(lower)}
                ip.link("add", ifname=lower, kind="veth", peer=peer)
                self._start(ip, lower, mac=topology.macs[upper])
            with self.inside(lower) as ip:
                self._start(ip, upper, mac=topology.macs[lower])
        for switch in topology.switches:
            inner = [name for name in self.neighbours[switch] if name in self.neighbours]
            self._wait(switch, [*inner, _ANCHOR])
            self._route(switch)
            self._add_segment(switch)

    def _start(self, ip: IPRoute, name: str, mac: bytes | None = None) -> None:
        index = self._index(ip, name)
        if mac:
            ip.link("set", index=index, address=mac.hex(":"), mtu=_MTU)
        ip.link("set", index=index, state="up")

    def _route(self, switch: str) -> None:
        """Install neighbours and routes by all devices that are up."""
        with self.inside(switch) as ip:
            up = {
                link.get("ifname"): link["index"]
                for link in ip.get_links()
                if link.get("state") == "up"
            }
            for name in self.neighbours[switch]:
                if name in up:
                    mac = self.topology.macs[name].hex(":")
                    ip.neigh(
                        "replace", family=AF_INET6, dst=_PEER, lladdr=mac, ifindex=up[name],
                        state="permanent",
                    )  # fmt: skip
            for way in self.ways(switch):
                hops = [
                    {"gateway": _PEER, "oif": up[name]} for name in way.neighbours if name in up
                ]
                if len(hops) > 1:
                    ip.route("replace", family=AF_INET6, dst=way.prefix, multipath=hops)
                elif hops:
                    ip.route("replace", family=AF_INET6, dst=way.prefix, **hops[0])

    def _add_segment(self, switch: str) -> None:
        """Install a switch's own segment by ``ip``: pyroute2 0.9.7 leaves the flavour out."""
        command = (
            f"route add {self._prefix(self.topology.usid_of[switch])} encap seg6local "
            f"action End flavors next-csid lblen 32 nflen 16 dev {_ANCHOR}\n"
        )
        done = subprocess.run(
            ["ip", "-6", "-netns", self.namespace(switch), "-batch", "-"],
            input=command, capture_output=True, encoding="utf-8", check=False,
        )  # fmt: skip
        if done.returncode:
            why = (done.stderr.strip().splitlines() or ["no reason given"])[0]
            raise RuntimeError(
                "the linux fabric needs seg6local End with next-csid: Linux 6.1 with "
                f"CONFIG_IPV6_SEG6_LWTUNNEL, and iproute2 6.1 ({why})"
            )

    def ways(self, switch: str) -> list[Way]:
        """Return the static routes of a switch, apart from its own segment."""
        topology = self.topology
        plane = topology.plane_of[switch]
        neighbours = self.neighbours[switch]
        switches = tuple(name for name in neighbours if name in self.neighbours)
        ways = [Way(self._prefix(topology.usid_of[name]), (name,)) for name in switches]
        for host in topology.hosts:
            port = topology.port(host, plane)
            home = topology.switch(plane, 0, host.leaf)
            address = f"{IPv6Address(host.address)}/128"
            if switch == home:
                ways += [
                    Way(self._prefix(topology.nic_usid(host, plane)), (port,)),
                    Way(address, (port,)),
                ]
            else:
                ways.append(Way(address, (home,) if home in neighbours else switches))
        return ways

    def _prefix(self, usid: int) -> str:
        return f"{IPv6Address((self.topology.block << 16 | usid) << 80)}/48"
