"""Memory regions that peers may write to."""

from dataclasses import dataclass

from mrcnic.hdl.rows import Table

from .nic import Nic

__all__ = ["MemoryRegion", "MemoryRegions"]

_ADDRESSES = 1 << 64


@dataclass(frozen=True, kw_only=True)
class MemoryRegion:
    """Octets of host memory with a key."""

    rkey: int
    base: int
    octets: int
    domain: int


class MemoryRegions:
    """All memory regions of a NIC.

    A key is the number of its row, and above that a count of regions made so far: the key of a
    region that is gone does not open the next one in its row.
    """

    def __init__(self, nic: Nic):
        self._nic = nic
        self._free = list(range(nic.config.regions))
        self._regions: dict[int, MemoryRegion] = {}
        self._made = 0

    async def register(self, *, base: int, octets: int, domain: int = 0) -> MemoryRegion:
        """Let peers whose QP is in ``domain`` write to ``octets`` octets from ``base`` on.

        Raises
        ------
        ValueError
            If there are no such addresses, or no region is left.
        """
        if octets < 1 or base < 0 or base + octets > _ADDRESSES:
            raise ValueError(
                f"a region must have octets and lie below 2**64, not {octets} from {base:#x} on"
            )
        if domain not in range(1 << 16):
            raise ValueError(f"domain must be from 0 to 65535, not {domain}")
        if not self._free:
            raise ValueError(f"there must be {self._nic.config.regions} regions at most")
        self._made += 1
        row = self._free[0]
        rkey = (self._made * self._nic.config.regions + row) % (1 << 32)
        region = MemoryRegion(rkey=rkey, base=base, octets=octets, domain=domain)
        await self._nic.write_row(
            Table.REGION,
            row,
            valid=1,
            remote_write=1,
            rkey=rkey,
            base=base,
            octets=octets,
            domain=domain,
        )
        self._free.pop(0)
        self._regions[row] = region
        return region

    async def deregister(self, region: MemoryRegion):
        """Take a region back from peers.

        Raises
        ------
        ValueError
            If that was done before.
        """
        row = region.rkey % self._nic.config.regions
        if self._regions.get(row) is not region:
            raise ValueError(f"there is no region with rkey {region.rkey:#x}")
        await self._nic.write_row(Table.REGION, row)
        del self._regions[row]
        self._free.append(row)
