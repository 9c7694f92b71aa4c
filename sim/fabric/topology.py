"""Shape of a fabric: planes of T0 and T1 switches, the hosts below, and all their names."""

from dataclasses import dataclass
from functools import cached_property

from mrcnic.sim.codec.entropy import EvFields
from mrcnic.sim.codec.usid import DEFAULT_BLOCK, CarrierTemplate, Usid, UsidKind, carrier

__all__ = ["Host", "Topology", "default_topology"]

#: The hosts' own addresses are fd00:0:0:<number>::1, the ports' underlay addresses
#: fd00:1:<plane>:<number>::1.
_HOST_PREFIX = 0xFD00_0000_0000
_UNDERLAY_PREFIX = 0xFD00_0001


@dataclass(frozen=True, kw_only=True)
class Host:
    """A NIC with one port in each plane.

    Attributes
    ----------
    name : :class:`str`
        The port in plane ``p`` is this followed by ``p``.
    number : :class:`int`
        From 1 on, another for each host; also the number of its downlinks.
    leaf : :class:`int`
        Index of the T0 switches that it hangs on.
    """

    name: str
    number: int
    leaf: int

    @property
    def address(self) -> int:
        """The NIC's own IPv6 address."""
        return (_HOST_PREFIX << 16 | self.number) << 64 | 1


@dataclass(frozen=True, kw_only=True)
class Topology:
    """Planes that are alike and not joined, each with two tiers of switches.

    Switches are named ``p<plane>t<tier><index>``, such as ``p0t10`` for the first T1 switch of
    plane 0. In each plane, every T0 has a link to every T1. Indices in uSIDs are one more than
    those in names.

    Attributes
    ----------
    planes, leaves, spines : :class:`int`
        Planes, T0 switches per plane, T1 switches per plane.
    hosts : :class:`tuple` of :class:`Host`
        What hangs on the T0 switches.
    block : :class:`int`
        Locator block of uSIDs.

    Raises
    ------
    ValueError
        If a number is out of its limits, or the hosts do not fit in.
    """

    planes: int = 2
    leaves: int = 2
    spines: int = 4
    hosts: tuple[Host, ...] = ()
    block: int = DEFAULT_BLOCK

    def __post_init__(self):
        for name, limit in (("planes", 16), ("leaves", 1022), ("spines", 255)):
            value = getattr(self, name)
            if value not in range(1, limit + 1):
                raise ValueError(f"{name} must be from 1 to {limit}, not {value}")
        for host in self.hosts:
            if host.leaf not in range(self.leaves):
                raise ValueError(
                    f"leaf of host {host.name} must be below {self.leaves}, not {host.leaf}"
                )
            if host.number not in range(1, 1024):
                raise ValueError(
                    f"number of host {host.name} must be from 1 to 1023, not {host.number}"
                )
        for what in ("name", "number"):
            values = [getattr(host, what) for host in self.hosts]
            if len(set(values)) < len(values):
                raise ValueError(f"two hosts have the same {what}")

    @staticmethod
    def switch(plane: int, tier: int, index: int) -> str:
        """Return the name of a switch."""
        return f"p{plane}t{tier}{index}"

    @staticmethod
    def port(host: Host, plane: int) -> str:
        """Return the name of a host's port."""
        return f"{host.name}{plane}"

    def host(self, name: str) -> Host:
        """Return a host by name."""
        for host in self.hosts:
            if host.name == name:
                return host
        known = ", ".join(host.name for host in self.hosts)
        raise ValueError(f"there is no host {name}; the hosts are {known}")

    @cached_property
    def switches(self) -> tuple[str, ...]:
        """Names of all switches."""
        return tuple(
            self.switch(plane, tier, index)
            for plane in range(self.planes)
            for tier, count in ((0, self.leaves), (1, self.spines))
            for index in range(count)
        )

    @cached_property
    def ports(self) -> tuple[str, ...]:
        """Names of all hosts' ports."""
        return tuple(self.port(host, plane) for host in self.hosts for plane in range(self.planes))

    @cached_property
    def plane_of(self) -> dict[str, int]:
        """Plane of each switch and port by name."""
        planes = {
            self.port(host, plane): plane for host in self.hosts for plane in range(self.planes)
        }
        for plane in range(self.planes):
            for tier, count in ((0, self.leaves), (1, self.spines)):
                planes.update((self.switch(plane, tier, index), plane) for index in range(count))
        return planes

    @cached_property
    def links(self) -> tuple[tuple[str, str], ...]:
        """Names of both ends of each link, the lower end first."""
        pairs = []
        for plane in range(self.planes):
            pairs += (
                (self.port(host, plane), self.switch(plane, 0, host.leaf)) for host in self.hosts
            )
            pairs += (
                (self.switch(plane, 0, leaf), self.switch(plane, 1, spine))
                for leaf in range(self.leaves)
                for spine in range(self.spines)
            )
        return tuple(pairs)

    @cached_property
    def usid_of(self) -> dict[str, int]:
        """Segment, as a uSID, of each switch by name."""
        return {
            self.switch(plane, tier, index): Usid(plane, kind, index + 1).pack()
            for plane in range(self.planes)
            for tier, kind, count in ((0, UsidKind.T0, self.leaves), (1, UsidKind.T1, self.spines))
            for index in range(count)
        }

    @cached_property
    def macs(self) -> dict[str, bytes]:
        """MAC address of each switch, the same at all its ports, and of each port of a host."""
        macs = {
            self.switch(plane, tier, index): self.switch_mac(plane, tier, index)
            for plane in range(self.planes)
            for tier, count in ((0, self.leaves), (1, self.spines))
            for index in range(count)
        }
        for host in self.hosts:
            for plane in range(self.planes):
                macs[self.port(host, plane)] = self.mac(host, plane)
        return {name: mac.to_bytes(6, "big") for name, mac in macs.items()}

    # ---- what a host must know of the fabric -----------------------------------------------------

    def underlay(self, host: Host, plane: int) -> int:
        """Return the address of a port: source of outer IPv6 headers."""
        return (_UNDERLAY_PREFIX << 32 | plane << 16 | host.number) << 64 | 1

    def nic_usid(self, host: Host, plane: int) -> int:
        """Return the uSID of a port."""
        return Usid(plane, UsidKind.NIC, host.number).pack()

    def mac(self, host: Host, plane: int) -> int:
        """Return the MAC address of a port."""
        return 0x02_00_01_00_00_00 | plane << 16 | host.number

    def next_hop_mac(self, host: Host, plane: int) -> int:
        """Return the MAC address of the switch that a port is linked to."""
        return self.switch_mac(plane, 0, host.leaf)

    def switch_mac(self, plane: int, tier: int, index: int) -> int:
        """Return the MAC address of a switch, the same at all its ports."""
        return 0x02_00_02_00_00_00 | plane << 16 | tier << 12 | index

    def template(self, source: Host, destination: Host) -> CarrierTemplate:
        """Return the carrier from one host to another, without plane and uplink."""
        first = Usid(0, UsidKind.T0, source.leaf + 1).pack()
        nic = self.nic_usid(destination, 0)
        if source.leaf == destination.leaf:
            return CarrierTemplate(
                carrier=carrier(self.block, [first, nic]), plane_slots=0b11, uplink_slots=0
            )
        last = Usid(0, UsidKind.T0, destination.leaf + 1).pack()
        middle = Usid(0, UsidKind.T1, 0).pack()
        return CarrierTemplate(
            carrier=carrier(self.block, [first, middle, last, nic]),
            plane_slots=0b1111,
            uplink_slots=0b10,
        )

    def self_loop(self, host: Host, plane: int) -> int:
        """Return the destination of packets from a port to itself, by the switch next to it."""
        first = Usid(plane, UsidKind.T0, host.leaf + 1).pack()
        return carrier(self.block, [first, self.nic_usid(host, plane)])

    def evs(self, count: int) -> list[int]:
        """Return an EV profile: values by index, dealt evenly over planes and uplinks.

        Parameters
        ----------
        count : :class:`int`
            EVs in all planes together: a multiple of the planes.
        """
        if count not in range(1, 257) or count % self.planes:
            raise ValueError(
                f"count of EVs must be a multiple of {self.planes} up to 256, not {count}"
            )
        per_plane = count // self.planes
        return [
            EvFields(index, index // per_plane, index % per_plane % self.spines + 1).pack()
            for index in range(count)
        ]


def default_topology(*, planes: int = 2, leaves: int = 2, spines: int = 4) -> Topology:
    """Return the fabric of the demonstration: NIC ``a`` under T0 0 and ``b`` under T0 1."""
    return Topology(
        planes=planes,
        leaves=leaves,
        spines=spines,
        hosts=(Host(name="a", number=1, leaf=0), Host(name="b", number=2, leaf=min(1, leaves - 1))),
    )
