"""The reference of the registers, written from their table."""

from collections.abc import Sequence

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.rows import ROWS, Table

from .register import Access, Register
from .registers import COUNTERS, PORT_STRIDE, PORTS, SETTINGS, SIZES, TABLES, register_map

__all__ = ["register_reference"]

_HEAD = """\
# Registers

Written by `python -m mrcnic.sim.report.registers`; do not edit.

The host reaches the NIC by AXI4-Lite: {address_bits} address bits, data of 32 bits, octet strobes.
A register wider than 32 bits takes several words, the least significant first; each word is written
on its own. One read and one write are under way at a time. All transfers are answered OKAY: where
there is no register, reads give 0 and writes change nothing. Bits that are not listed read 0.

Times are in ticks of 128 ns.

| Access | Reads | Writes |
|---|---|---|
| r | what the NIC says | change nothing |
| rw | what was written last | set the value |
| rw1c | what has happened | ones clear their bits |
| w1s | whether it still goes on | ones start something |

| Addresses | Block |
|---|---|
"""

_TABLES = """\
To write a row, write `table_select`, `table_index` and `table_data`, then 1 to `table_control`, and
wait until `table_status.busy` is clear. Reserved bits of a row read 0 in `table_row`.
"""

_ROWS = """\
Bits of a row, from the least significant of `table_data` on. All other bits are reserved: write 0.
In a QP's row some fields are codes. `mtu_code` 0 is a path MTU of 256 octets, and each step doubles
it. `timeout` 0 is a retransmission time-out of 1.024 us, the shortest and not "never"; each step
doubles it, and codes above 19 must not be used. `exponential_count` 25 means no limit. `mpr` counts
units of 128 PSNs.
"""

_PORTS = """\
Port `p` is at 0x{stride:x} * p from here; its registers' names begin with `port0_`, `port1_` and so
on. `status` is live; what has happened between two looks is in `status_rose` and `status_fell`.
"""

_COUNTERS = """\
Counter `n` is at 8 * n from here: two words, named `count_` and the name of what it counts. The
names, in their order, are part of the NIC's build; `counter_names` tells whether a driver has the
right ones. Counters start at 0, never stop and never wrap in practice. Read the low word first:
that keeps the high word as it was at the time. A total is behind by as many cycles as there are
counters, and 6 more.
"""

_HEADINGS = """\
| Address | Name | Access | Bits | Reset | Meaning |
|---|---|---|---|---|---|
"""


def register_reference(config: NicConfig, event_names: Sequence[str] = ()) -> str:
    """Return the reference of a NIC's registers, in Markdown.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes. Values after reset of the sizes' registers are not told.
    event_names : sequence of :class:`str`
        Names of the counters, listed if there are any.
    """
    registers = register_map(config, event_names)
    end = max(register.address for register in registers) + 1
    blocks = [
        ("Identification", 0, SETTINGS, ""),
        ("Settings", SETTINGS, TABLES, ""),
        ("Tables", TABLES, PORTS, _TABLES),
        ("Ports", PORTS, PORTS + PORT_STRIDE, _PORTS.format(stride=PORT_STRIDE)),
        ("Counters", COUNTERS, max(end, COUNTERS), _COUNTERS),
    ]
    text = _HEAD.format(address_bits=(2 * COUNTERS - 1).bit_length())
    for title, start, _, _ in blocks:
        text += f"| from 0x{start:04x} | [{title}](#{title.lower()}) |\n"
    for title, start, stop, note in blocks:
        text += f"\n## {title}\n\n"
        if note:
            text += f"{note}\n"
        found = [register for register in registers if start <= register.address < stop]
        if found:
            text += _HEADINGS
        for register in found:
            text += _lines(register)
        if start == TABLES:
            text += "".join(_row(table) for table in ROWS)
    return text


def _row(table: Table) -> str:
    text = f"\n### Row of {table.name}\n\n"
    if table == Table.QP:
        text += f"{_ROWS}\n"
    text += "| Bits | Field |\n|---|---|\n"
    lowest = 0
    for name, width in reversed(ROWS[table].fields.items()):
        if name != "reserved":
            text += f"| {_bits(lowest, width)} | `{name}` |\n"
        lowest += width
    return text


def _bits(lowest: int, width: int) -> str:
    return f"{lowest}" if width == 1 else f"{lowest + width - 1}:{lowest}"


def _lines(register: Register) -> str:
    text = ""
    lowest = 0
    for item in register.fields:
        name = register.name
        address = access = ""
        if lowest == 0:
            address = f"0x{register.address:04x}"
            access = register.access.value
        if len(register.fields) > 1 or item.name != "value":
            name = f"{name}.{item.name}"
        bits = _bits(lowest, item.width)
        reset = _reset(register, item)
        text += f"| {address} | `{name}` | {access} | {bits} | {reset} | {item.doc} |\n"
        lowest += item.width
    return text


def _reset(register, item):
    if register.access in (Access.R, Access.RW1C) and register.name.startswith("port"):
        return ""
    if register.name in SIZES or register.name in ("counters", "counter_names", "now"):
        return ""
    return f"0x{item.reset:x}" if item.reset > 9 else f"{item.reset}"
