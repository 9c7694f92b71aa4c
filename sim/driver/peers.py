"""Remote NICs, which are told which ports work, and tell."""

from dataclasses import dataclass

from mrcnic.hdl.rows import Table

from .attributes import Carrier
from .nic import Nic

__all__ = ["Peer", "Peers"]


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A remote NIC.

    Attributes
    ----------
    address : :class:`int`
        Its own address.
    carrier : :class:`~mrcnic.sim.driver.attributes.Carrier`, optional
        Route to it; without, packets are plain IP.
    uplink_first, uplinks : :class:`int`
        Uplinks to choose from: the first, and how many they are.
    ipv4 : :class:`bool`
        The address is one of IPv4.
    """

    address: int
    carrier: Carrier | None = None
    uplink_first: int = 0
    uplinks: int = 1
    ipv4: bool = False

    @property
    def fields(self) -> dict[str, int]:
        """Fields of its row."""
        if not 1 <= self.uplinks <= 256 - self.uplink_first:
            raise ValueError(
                f"uplinks must be from 1 to {256 - self.uplink_first}, not {self.uplinks}"
            )
        return {
            "valid": 1,
            "address": self.address,
            "uplink_first": self.uplink_first,
            "uplinks": self.uplinks,
            "ipv4": int(self.ipv4),
            **(self.carrier.fields if self.carrier else {}),
        }


class Peers:
    """All remote NICs that a NIC knows."""

    def __init__(self, nic: Nic):
        self._nic = nic
        self._free = list(range(nic.config.peers))

    async def add(self, peer: Peer) -> int:
        """Make ``peer`` known; return its number, for rows of QPs.

        Raises
        ------
        ValueError
            If it cannot be, or there is no room.
        """
        fields = peer.fields
        if not self._free:
            raise ValueError(f"there must be {self._nic.config.peers} remote NICs at most")
        row = self._free[0]
        await self._nic.write_row(Table.PEER, row, **fields)
        self._free.pop(0)
        return row

    async def remove(self, row: int):
        """Forget a remote NIC.

        Raises
        ------
        ValueError
            If there is none of that number.
        """
        if row in self._free or row not in range(self._nic.config.peers):
            raise ValueError(f"there is no remote NIC {row}")
        await self._nic.write_row(Table.PEER, row)
        self._free.append(row)
