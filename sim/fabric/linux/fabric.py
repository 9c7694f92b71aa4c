"""A fabric whose switches are the Linux kernel's."""

import select
import time
from collections.abc import Iterable
from itertools import pairwise

from mrcnic.sim.codec.transit import hop_limit, ipv6_destination, is_ipv6
from mrcnic.sim.codec.usid import carrier_usids
from mrcnic.sim.fabric.counters import Counters, DropCause
from mrcnic.sim.fabric.events import EventFabric
from mrcnic.sim.fabric.faults import Fault
from mrcnic.sim.fabric.link import OVERHEAD_OCTETS, Link, LinkSettings

from .network import KernelNetwork
from .taps import Tap

__all__ = ["LinuxFabric"]

#: How long the kernel may take with a frame before it counts as lost, in seconds: a busy machine
#: must not look like loss. Where the way of a frame is known to be cut, nothing is waited for but
#: a surprise.
_PATIENCE_S, _CUT_PATIENCE_S = 2.0, 0.01

#: Octets in front that switches may change: Ethernet, IPv6, and how many segments are left.
_CHANGED_OCTETS = 14 + 40 + 8


class LinuxFabric(EventFabric):
    """A fabric with real routers, in simulated time.

    A frame takes the link from its host as in the model. When it arrives at the first switch, it
    is written to the TAP device there, and time stands still until the kernel has brought it to
    another TAP device, or has lost it. So there is never more than one frame in the kernel, nothing
    depends on how fast the machine is, and two runs are alike. By the hop limit the frame tells how
    many links it has crossed in between: each delays it by what a link of the model takes when it
    is idle. Then it takes the link to the host as in the model, with its queue.

    A failure takes devices of the kernel down. A frame that has left the kernel before arrives.

    Parameters
    ----------
    network : :class:`~mrcnic.sim.fabric.linux.network.KernelNetwork`
        The switches.
    settings : :class:`~mrcnic.sim.fabric.link.LinkSettings`
        Rate, delay and so on of links. Links between switches have no queue, and lose nothing.
    faults : iterable of :class:`~mrcnic.sim.fabric.faults.Fault`
        What fails when.
    seed : :class:`int`
        Of random losses.

    Attributes
    ----------
    switches : :class:`~mrcnic.sim.fabric.counters.Counters`
        Frames that went through the kernel, and frames that did not.
    """

    def __init__(
        self,
        network: KernelNetwork,
        settings: LinkSettings | None = None,
        *,
        faults: Iterable[Fault] = (),
        seed: int = 0,
    ):
        topology = network.topology
        ends = [link for link in topology.links if link[0] in topology.ports]
        super().__init__(topology, settings, links=ends, faults=faults, seed=seed)
        self.network = network
        self.switches = Counters()
        self._taps: dict[str, Tap] = {}
        self._ports: dict[int, str] = {}
        self._poll = select.poll()
        self._down_link = {link.destination: link for link in self.links.values() if link.to_host}
        try:
            for port, switch in ends:
                tap = self._taps[port] = Tap(network.namespace(switch), port)
                self._ports[tap.fileno()] = port
                self._poll.register(tap, select.POLLIN)
                network.wait_for_port(switch, port)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the TAP devices; the network stays."""
        self._count_foreign()
        while self._taps:
            _, tap = self._taps.popitem()
            self._poll.unregister(tap)
            tap.close()

    def _counters(self) -> Iterable[Counters]:
        return (*super()._counters(), self.switches)

    # ---- frames ----------------------------------------------------------------------------------

    def _switch(self, link: Link, frame: bytes) -> None:
        cut = self._is_cut(link.source, frame)
        found = self._carry(link.source, frame, _CUT_PATIENCE_S if cut else _PATIENCE_S)
        if found is None:
            cause = DropCause.LINK_DOWN if cut else DropCause.KERNEL
            self._drop(cause, link.destination, self.switches, frame)
            return
        port, leaving = found
        self.switches.frames += 1
        self.switches.octets += len(leaving)
        crossed = max(0, hop_limit(frame) - hop_limit(leaving) - 1)
        settings = self.settings
        octets = len(leaving) + OVERHEAD_OCTETS
        per_link = octets * 8 * 10**12 // settings.rate_bps + settings.delay_ps
        self._put_at(self.now_ps + crossed * per_link, self._down_link[port], leaving)

    def _carry(self, port: str, frame: bytes, patience_s: float) -> tuple[str, bytes] | None:
        """Give a frame to the kernel, and return where it comes out, and as what."""
        self._count_foreign()
        if not is_ipv6(frame) or not self._taps[port].write(frame):
            return None
        end = time.monotonic() + patience_s
        while (left := end - time.monotonic()) > 0:
            for number, _ in self._poll.poll(left * 1000):
                found = None
                for seen in self._taps[self._ports[number]].read():
                    if found is None and _same(frame, seen):
                        found = self._ports[number], seen
                    else:
                        self.foreign += 1
                if found:
                    return found
        return None

    def _count_foreign(self) -> None:
        """Take what the kernel has sent by itself, and what has come too late, out of the way."""
        for number, _ in self._poll.poll(0):
            self.foreign += len(self._taps[self._ports[number]].read())

    def _is_cut(self, port: str, frame: bytes) -> bool:
        """Return whether the way that a frame says it takes, or else its whole plane, is cut."""
        down = self.network.down
        if not down:
            return False
        way = self._way(port, frame)
        if way[-1] in self._taps:
            return any(hop in down or hop[::-1] in down for hop in pairwise(way))
        plane_of = self.topology.plane_of
        return any(plane_of[switch] == plane_of[port] for switch, _ in down)

    def _way(self, port: str, frame: bytes) -> list[str]:
        """Return what a frame from ``port`` passes, as far as its carrier says so."""
        topology = self.topology
        way = [port]
        address = int.from_bytes(ipv6_destination(frame), "big")
        if is_ipv6(frame) and address >> 96 == topology.block:
            plane = topology.plane_of[port]
            names = {usid: name for name, usid in topology.usid_of.items()}
            for host in topology.hosts:
                names[topology.nic_usid(host, plane)] = topology.port(host, plane)
            way += (names.get(usid, "") for usid in carrier_usids(address))
        return way if len(way) > 1 else [port, ""]

    # ---- failures --------------------------------------------------------------------------------

    def _apply(self, fault: Fault) -> None:
        super()._apply(fault)
        # A switch that fails loses all its devices; of a link that fails, the upper end's is taken.
        self.network.set_down({
            (switch, neighbour)
            for switch, neighbours in self.network.neighbours.items()
            for neighbour in neighbours
            if not self._down.isdisjoint((switch, (neighbour, switch)))
        })


def _same(sent: bytes, seen: bytes) -> bool:
    """Return whether a frame is the one that was sent, after it has been forwarded."""
    return len(sent) == len(seen) and sent[_CHANGED_OCTETS:] == seen[_CHANGED_OCTETS:]
