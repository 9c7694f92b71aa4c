"""A NIC's registers without the NIC, to try drivers on."""

from collections.abc import Sequence

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.host.registers import register_map, row_counts
from mrcnic.hdl.rows import ROWS

__all__ = ["RegisterTwin"]


class RegisterTwin:
    """A bus with registers that behave as the NIC's do, and tables that take every row at once.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    event_names : sequence of :class:`str`
        Names of the counters.

    Attributes
    ----------
    rows : :class:`dict`
        Rows that were written, by table and number.
    totals : :class:`list` of :class:`int`
        Counters.
    signs : :class:`list` of :class:`int`
        Signs of each port; see :meth:`set_signs`.
    """

    def __init__(self, config: NicConfig, event_names: Sequence[str] = ()):
        self.config = config
        self.rows: dict[tuple[int, int], int] = {}
        self.totals = [0] * len(event_names)
        self.signs = [0] * config.lanes
        self._counts = row_counts(config)
        self._registers = {
            register.name: register for register in register_map(config, event_names)
        }
        self._values = {name: register.reset for name, register in self._registers.items()}
        self._values["table_status"] = 0
        self._words = {
            register.address + 4 * n: (register, n)
            for register in self._registers.values()
            for n in range(register.words)
        }
        self._counters = [f"count_{name}" for name in event_names]
        self._kept = 0  # high word of the counter that was read last

    def set_signs(self, port: int, signs: int):
        """Change the live signs of a port."""
        self._values[f"port{port}_status_rose"] |= signs & ~self.signs[port]
        self._values[f"port{port}_status_fell"] |= ~signs & self.signs[port]
        self._values[f"port{port}_status"] = self.signs[port] = signs

    async def read32(self, address: int) -> int:
        """Read a word."""
        if address not in self._words:
            return 0
        register, n = self._words[address]
        if register.name == "table_row":
            value = self.rows.get(self._selected(), 0)
        elif register.name in self._counters:
            total = self.totals[self._counters.index(register.name)]
            if n == 0:
                self._kept = total >> 32 << 32
            value = self._kept | total & 0xFFFF_FFFF
        else:
            value = self._values[register.name]
        return value >> 32 * n & 0xFFFF_FFFF

    async def write32(self, address: int, value: int):
        """Write a word."""
        if address not in self._words:
            return
        register, n = self._words[address]
        name = register.name
        if register.access.value == "rw":
            mask = 0xFFFF_FFFF << 32 * n
            value = value << 32 * n & (1 << register.width) - 1
            self._values[name] = self._values[name] & ~mask | value & mask
        elif register.access.value == "rw1c":
            self._values[name] &= ~value
        elif name == "table_control" and value & 1:
            self._write_row()

    def _selected(self):
        return self._values["table_select"], self._values["table_index"]

    def _write_row(self):
        table, row = self._selected()
        status = self._registers["table_status"]
        if row >= self._counts.get(table, 0):
            self._values["table_status"] = status.pack({"refused": 1})
            return
        fields = ROWS[table].fields
        width = sum(fields.values()) - fields.get("reserved", 0)
        self.rows[table, row] = self._values["table_data"] & (1 << width) - 1
        self._values["table_status"] = status.pack({"done": 1})
