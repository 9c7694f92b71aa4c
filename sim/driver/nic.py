"""A NIC, as its driver sees it."""

from collections.abc import Sequence
from dataclasses import dataclass

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.host.registers import MAGIC, SIZES, VERSION, names_checksum, register_map
from mrcnic.hdl.rows import ROWS, Table

from .bus import Bus

__all__ = ["Nic", "NicError", "PortAddresses"]

#: Looks at the status of a table before the NIC counts as hung.
_PATIENCE = 100_000


class NicError(Exception):
    """The NIC is not what it should be, or does not answer as it should."""


@dataclass(frozen=True, kw_only=True)
class PortAddresses:
    """Addresses of a port.

    Attributes
    ----------
    own_mac, next_hop_mac : :class:`int`
        Of the port, and of the switch port at its other end.
    underlay : :class:`int`
        Source of outer IPv6 headers.
    usid : :class:`int`
        Own uSID in this port's plane. The NIC takes frames whose outer destination starts with the
        locator block and this: 48 bits, and nothing after them counts.
    """

    own_mac: int
    next_hop_mac: int
    underlay: int = 0
    usid: int = 0


class Nic:
    """Registers, counters and tables, by name.

    Made by :meth:`open`.

    Attributes
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes that the NIC has told; its clock is not among them.
    event_names : :class:`tuple` of :class:`str`
        Names of the counters.
    """

    def __init__(self, bus: Bus, config: NicConfig, event_names: Sequence[str]):
        self.config = config
        self.event_names = tuple(event_names)
        self._bus = bus
        self._registers = {r.name: r for r in register_map(config, event_names)}

    @classmethod
    async def open(cls, bus: Bus, *, event_names: Sequence[str] = ()) -> "Nic":
        """Find out what NIC there is, and wait until it can be set up.

        Parameters
        ----------
        bus : :class:`~.bus.Bus`
            Way to its registers.
        event_names : sequence of :class:`str`
            Names of its counters, if counters are to be read.

        Raises
        ------
        NicError
            If it is no NIC, or one of another version, or with other counters.
        """
        nic = cls(bus, NicConfig(), event_names)  # addresses are the same whatever the sizes
        magic = await nic.read("magic")
        if magic != MAGIC:
            raise NicError(f"magic must read {MAGIC:#010x}, not {magic:#010x}: there is no NIC")
        version = await nic.read("version")
        if version >> 16 != VERSION >> 16:
            raise NicError(
                f"the upper half of version must be {VERSION >> 16}, which this driver knows, "
                f"not {version >> 16}"
            )
        if event_names:
            checksum = await nic.read("counter_names")
            if checksum != names_checksum(event_names):
                raise NicError(
                    f"counter_names must be {names_checksum(event_names):#010x} for these "
                    f"{len(event_names)} names, not {checksum:#010x}"
                )
        sizes = {name: await nic.read(name) for name in SIZES}
        nic = cls(bus, NicConfig(**sizes), event_names)
        await nic._table_status()
        return nic

    def _register(self, name):
        if name not in self._registers:
            raise KeyError(f"there is no register {name}")
        return self._registers[name]

    async def read(self, name: str) -> int:
        """Return the value of a register, however wide."""
        register = self._register(name)
        words = [await self._bus.read32(register.address + 4 * n) for n in range(register.words)]
        return sum(word << 32 * n for n, word in enumerate(words)) & (1 << register.width) - 1

    async def read_fields(self, name: str) -> dict[str, int]:
        """Return the fields of a register."""
        return self._register(name).unpack(await self.read(name))

    async def write(self, name: str, value: int):
        """Set a register, however wide.

        Raises
        ------
        ValueError
            If the value does not fit.
        """
        register = self._register(name)
        if not 0 <= value < 1 << register.width:
            raise ValueError(
                f"{name} must be from 0 to {(1 << register.width) - 1:#x}, not {value:#x}"
            )
        await self._write_words(name, value, words=register.words)

    async def _write_words(self, name: str, value: int, *, words: int):
        address = self._register(name).address
        for n in range(words):
            await self._bus.write32(address + 4 * n, value >> 32 * n & 0xFFFF_FFFF)

    async def counter(self, name: str) -> int:
        """Return how often something has happened."""
        return await self.read(f"count_{name}")

    async def counters(self) -> dict[str, int]:
        """Return all counters."""
        return {name: await self.counter(name) for name in self.event_names}

    async def set_port(self, port: int, addresses: PortAddresses):
        """Set the addresses of a port. It should not be enabled meanwhile."""
        self._check_port(port)
        for name in ("own_mac", "next_hop_mac", "underlay", "usid"):
            await self.write(f"port{port}_{name}", getattr(addresses, name))

    async def enable_port(self, port: int, enable: bool = True):
        """Let packets out, or no more; frames under way are finished."""
        self._check_port(port)
        await self.write(f"port{port}_enable", int(enable))

    async def set_loop_probes(self, port: int, carrier: int | None):
        """Let a port come up only after probes to the NIC itself have come back by it.

        Parameters
        ----------
        carrier : :class:`int`, optional
            Destination of the probes' outer header; without, the port needs no such proof.
        """
        self._check_port(port)
        await self.write(f"port{port}_loop_carrier", carrier or 0)
        await self.write(f"port{port}_loop_probes", int(carrier is not None))

    async def infer_links(self, enable: bool = True, *, threshold: int = 3):
        """Infer dead links from losses and mask their EVs, or follow the specification alone.

        Links are only inferred on SRv6 paths. They are probed until they work again, which remote
        NICs have to answer: both sides must have each other among their
        :class:`~mrcnic.sim.driver.peers.Peers`.

        Parameters
        ----------
        enable : :class:`bool`
            Whether to infer them; if not, all that was inferred is forgotten.
        threshold : :class:`int`
            Losses at which a link is masked.

        Raises
        ------
        ValueError
            If ``threshold`` is not from 1 to 7.
        """
        if threshold not in range(1, 8):
            raise ValueError(f"threshold must be from 1 to 7, not {threshold}")
        await self.write("link_threshold", threshold)
        await self.write("link_inference", int(enable))

    async def port_status(self, port: int) -> dict[str, bool]:
        """Return the signs of a port as they are now."""
        self._check_port(port)
        signs = await self.read_fields(f"port{port}_status")
        return {name: bool(sign) for name, sign in signs.items()}

    async def port_changes(self, port: int) -> dict[str, set[str]]:
        """Return which signs ``rose`` and ``fell`` since this was called last."""
        self._check_port(port)
        changes = {}
        for change in ("rose", "fell"):
            name = f"port{port}_status_{change}"
            value = await self.read(name)
            await self.write(name, value)
            fields = self._register(name).unpack(value)
            changes[change] = {sign for sign, happened in fields.items() if happened}
        return changes

    async def write_row(self, table: Table, row: int, **fields: int):
        """Write a row of a table; fields left out are zero.

        Raises
        ------
        ValueError
            If a field does not fit.
        NicError
            If the NIC has no such row, or does not take it.
        """
        header = ROWS[table]
        number = int.from_bytes(header.pack(**fields), "big")
        await self._table_status()
        await self.write("table_select", table)
        await self.write("table_index", row)
        # Only the words that the row has: it does not matter what stands in the others.
        await self._write_words("table_data", number, words=-(-header.octets // 4))
        await self.write("table_control", 1)
        status = await self._table_status()
        if status["refused"] or not status["done"]:
            raise NicError(f"the NIC refuses row {row} of table {table.name}")

    async def read_row(self, table: Table, row: int) -> dict[str, int]:
        """Return the fields of a row as it was written."""
        await self.write("table_select", table)
        await self.write("table_index", row)
        number = await self.read("table_row")
        header = ROWS[table]
        fields = header.unpack((number & (1 << 8 * header.octets) - 1).to_bytes(header.octets))
        fields.pop("reserved", None)
        return fields

    async def _table_status(self):
        for _ in range(_PATIENCE):
            status = await self.read_fields("table_status")
            if not status["busy"]:
                return status
        raise NicError("table_status stays busy: the NIC does not take its rows")

    def _check_port(self, port):
        if port not in range(self.config.lanes):
            raise ValueError(f"port must be from 0 to {self.config.lanes - 1}, not {port}")
