"""Two hosts and the fabric between them: addresses, paths, queue pairs."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cocotb.triggers import gather

from mrcnic.hdl.config import NicConfig
from mrcnic.sim.codec.usid import Usid, UsidKind
from mrcnic.sim.driver.attributes import Carrier, QpAttributes
from mrcnic.sim.driver.memory import MemoryRegions
from mrcnic.sim.driver.nic import Nic, PortAddresses
from mrcnic.sim.driver.peers import Peer, Peers
from mrcnic.sim.driver.profiles import Profiles, spread_evs
from mrcnic.sim.driver.qp import QueuePair, QueuePairs
from mrcnic.sim.fabric.events import EventFabric
from mrcnic.sim.fabric.fabric import Fabric
from mrcnic.sim.fabric.faults import parse_fault
from mrcnic.sim.fabric.topology import Host, default_topology
from mrcnic.sim.model import messages

from .host import Host as SimulatedHost
from .misfortune import Misfortune
from .scoreboard import Scoreboard

__all__ = ["Connection", "Network"]

#: Times of the simulated fabric, in ticks of 128 ns: 8 us there and back when idle, 6 us of queue,
#: and 10 us of good signs before a port is up.
_BASE_RTT, _TARGET_DELAY, _HOLD_OFF = 62, 47, 78

#: QPNs are the index of the QP above these.
_QPNS = {"a": 0x1000, "b": 0x2000}


@dataclass(frozen=True, kw_only=True)
class Connection:
    """A queue pair from A to B, and the key of B's region."""

    sender: QueuePair
    receiver: QueuePair
    rkey: int


class Network:
    """Topology, fabric and addresses of a simulation with NICs A and B.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes of both NICs.
    spec : :class:`dict`
        What is asked for: ``qps``, ``drop``, ``failures``, ``srv6``, ``psn``, ``seed``, ``mtu``,
        ``registers``, ``loop_probes``, ``fabric``, and where that is ``"linux"``, ``namespaces``:
        what the names of the switches' namespaces begin with.
    event_names : sequence of :class:`str`
        Names of the NICs' counters.

    Attributes
    ----------
    fabric : :class:`~mrcnic.sim.fabric.events.EventFabric`
    sender, receiver : :class:`~mrcnic.sim.fabric.topology.Host`
        A and B.
    nics : :class:`dict` of :class:`str` to :class:`~mrcnic.sim.driver.nic.Nic`
        Drivers, by name of the host, once :meth:`configure` has run.
    scoreboard : :class:`~mrcnic.sim.bench.scoreboard.Scoreboard`
        Model of B.
    calm_ps : :class:`int`
        Time of the last failure, or of the end of one.
    """

    def __init__(self, config: NicConfig, spec: dict, event_names: Sequence[str]):
        self.config = config
        self.spec = spec
        self.event_names = event_names
        self.rng = random.Random(f"network {spec['seed']}")
        self.topology = default_topology(
            planes=config.lanes, leaves=spec["leaves"], spines=spec["spines"]
        )
        self.sender, self.receiver = (self.topology.host(name) for name in ("a", "b"))
        self.fabric = self._make_fabric()
        self.mtu = spec["mtu"] or config.mtu
        self.nics: dict[str, Nic] = {}
        self._lives: dict[int, int] = {}
        self.scoreboard: Scoreboard | None = None
        self.calm_ps = 0
        self.misfortune = Misfortune(
            spec, entrances={link.name for link in self.fabric.links.values() if link.from_host}
        )
        self.fabric.meddlers.append(self.misfortune)

    def _make_fabric(self) -> EventFabric:
        seed = self.spec["seed"]
        if self.spec["fabric"] == "model":
            return Fabric(self.topology, seed=seed)
        # Only here: the model needs none of the netlink library.
        from mrcnic.sim.fabric.linux.fabric import LinuxFabric
        from mrcnic.sim.fabric.linux.network import KernelNetwork

        return LinuxFabric(KernelNetwork(self.topology, self.spec["namespaces"]), seed=seed)

    @property
    def rate_bps(self) -> int:
        """Rate of a link."""
        return self.fabric.settings.rate_bps

    def begin(self, now_ps: int):
        """Start the clock of the failures: their times count from here."""
        self.calm_ps = now_ps
        self.misfortune.begin(now_ps)
        for failure in self.spec["failures"]:
            for fault in parse_fault(failure, self.topology):
                self.fabric.add_fault(replace(fault, time_ps=fault.time_ps + now_ps))
                self.calm_ps = max(self.calm_ps, fault.time_ps + now_ps)

    async def configure(
        self, hosts: dict[str, SimulatedHost], *, target: int, octets: int, content: bytes
    ) -> list[Connection]:
        """Set both NICs up, and connect them; return the connections.

        Parameters
        ----------
        hosts
            By name: ``"a"`` and ``"b"``.
        target, octets : :class:`int`
            B's memory that A may write to.
        content : :class:`bytes`
            Octet that all of it holds.
        """
        ends = (self.sender, self.receiver)
        profiles = dict(
            zip(
                "ab",
                await gather(*(self._set_up(hosts[host.name], host) for host in ends)),
                strict=True,
            )
        )
        regions = MemoryRegions(self.nics["b"])
        region = await regions.register(base=target, octets=octets)
        self.scoreboard = Scoreboard(
            target=target,
            memory=content * octets,
            rkey=region.rkey,
            spoiled=bool(self.spec["spoiled"]),
        )

        self._region = region
        self._pairs = {name: QueuePairs(nic, profiles[name]) for name, nic in self.nics.items()}
        await gather(
            self._introduce(self.sender, self.receiver),
            self._introduce(self.receiver, self.sender),
        )
        connections = [await self._connect(n) for n in range(self.spec["qps"])]
        await self._wait_for_ports()
        return connections

    async def _connect(self, n: int) -> Connection:
        psn = self.spec["psn"]
        psns = [self.rng.randrange(1 << 24) if psn is None else psn for _ in "ab"]
        ends = [
            (self.sender, self.receiver, psns[0], psns[1]),
            (self.receiver, self.sender, psns[1], psns[0]),
        ]
        a, b = await gather(
            *(
                self._pairs[here.name].create(self._attributes(n, here, there, tx, rx))
                for here, there, tx, rx in ends
            )
        )
        for end, psn, to_receiver in ((b, psns[0], True), (a, psns[1], False)):
            self.misfortune.add(n, dqp=end.attributes.qpn, first_psn=psn, to_receiver=to_receiver)
        self.scoreboard.add(
            messages.QueuePair(
                qpn=b.attributes.qpn,
                remote_qpn=a.attributes.qpn,
                rx_psn=psns[0],
                mtu=self.mtu,
                window=self.config.window,
            )
        )
        return Connection(sender=a, receiver=b, rkey=self._region.rkey)

    async def disconnect(self, connection: Connection):
        """Destroy both ends of a connection, one after the other."""
        ends = [("a", connection.sender), ("b", connection.receiver)]
        self.rng.shuffle(ends)
        for name, qp in ends:
            await self._pairs[name].destroy(qp)

    async def reconnect(self, connection: Connection) -> Connection:
        """Make both ends anew in the places of a connection that was destroyed."""
        index = connection.sender.index
        self._lives[index] = self._lives.get(index, 0) + 1
        return await self._connect(index)

    async def _set_up(self, simulated: SimulatedHost, host: Host) -> Profiles:
        """Open a NIC, and give it addresses and paths."""
        self.nics[host.name] = nic = await Nic.open(
            simulated.registers, event_names=self.event_names
        )
        await self._address(nic, host)
        profiles = Profiles(nic)
        uplinks = [spine + 1 for spine in range(self.topology.spines)]
        await profiles.write(
            0, spread_evs(self.config, uplinks=uplinks, backups=self.spec["backups"])
        )
        return profiles

    async def _address(self, nic: Nic, host: Host):
        topology = self.topology
        await nic.write("loopback", host.address)
        await nic.write("block", topology.block)
        await nic.write("base_rtt", _BASE_RTT)
        await nic.write("target_delay", _TARGET_DELAY)
        await nic.write("hold_off", _HOLD_OFF)
        for name, value in self.spec["registers"]:
            await nic.write(name, value)
        for plane in range(topology.planes):
            addresses = PortAddresses(
                own_mac=topology.mac(host, plane),
                next_hop_mac=topology.next_hop_mac(host, plane),
                underlay=topology.underlay(host, plane),
                usid=topology.nic_usid(host, plane),
            )
            await nic.set_port(plane, addresses)
            if self.spec["loop_probes"]:
                await nic.set_loop_probes(plane, topology.self_loop(host, plane))
            await nic.enable_port(plane)

    async def _introduce(self, here: Host, there: Host):
        """Let a NIC know the other one, as its first and only remote NIC."""
        peer = Peer(
            address=there.address,
            carrier=self._carrier(here, there) if self.spec["srv6"] else None,
            uplink_first=1,
            uplinks=self.topology.spines,
        )
        await Peers(self.nics[here.name]).add(peer)

    async def _wait_for_ports(self):
        for nic in self.nics.values():
            for plane in range(self.topology.planes):
                while not (await nic.port_status(plane))["up"]:
                    pass

    def _attributes(self, n: int, here: Host, there: Host, tx: int, rx: int) -> QpAttributes:
        window = min(8, self.config.window // 128)
        names = ("cwnd", "mpr", "timeout", "linear_count", "exponential_count")
        chosen = {name: self.spec[name] for name in names if self.spec[name] is not None}
        # Another number in each life, so that late packets of the last one are strangers.
        number = n + self.config.qps * self._lives.get(n, 0)
        return QpAttributes(
            qpn=_QPNS[here.name] + number,
            remote_qpn=_QPNS[there.name] + number,
            destination=there.address,
            carrier=self._carrier(here, there) if self.spec["srv6"] else None,
            mtu=self.mtu,
            tx_psn=tx,
            rx_psn=rx,
            **{"mpr": window, **chosen},
        )

    def _carrier(self, here: Host, there: Host) -> Carrier:
        usids = [Usid(0, UsidKind.T0, here.leaf + 1)]
        if here.leaf != there.leaf:
            usids += [Usid(0, UsidKind.T1, 0), Usid(0, UsidKind.T0, there.leaf + 1)]
        usids.append(Usid(0, UsidKind.NIC, there.number))
        return Carrier(
            block=self.topology.block,
            usids=[usid.pack() for usid in usids],
            uplink=1 if here.leaf != there.leaf else None,
        )
