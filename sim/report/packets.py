"""Packets as text: a line or a block for each."""

from collections.abc import Iterator
from typing import Any

from mrcnic.hdl.wire import headers
from mrcnic.sim.codec.extensions import VALUE_NAMES

__all__ = ["packet_block", "packet_line"]

#: What a line tells of each header behind the BTH.
_BRIEF = {
    "meth": ("msn",),
    "reth": ("va", "dmalen"),
    "immdt": ("immediate",),
    "seth": ("mark", "cack_psn", "ack_psn_offset", "sack_offset", "sack_bitmap"),
    "cc_state": ("ooo_count", "rcvd_bytes"),
    "neth": ("reason",),
    "peth": ("probe_id",),
    "erth": ("operation", "port_status_mask"),
    "eeth": ("operation",),
    "aeth": ("syndrome", "msn"),
}

#: Flags that a line tells of when they are set.
_FLAGS = (("bth", "ack_request"), ("bth", "retransmission"), ("mrc", "ce"), ("mrc", "trimmed"))

#: Fields with a sign, of 16 bits.
_SIGNED = frozenset({"ack_psn_offset", "sack_offset"})

#: Fields that are counted with, however wide they are.
_COUNTS = frozenset({"dmalen", "rcvd_bytes", "msn", "octets"})

#: From so many bits on other numbers are shown in base 16; and some that are no counts.
_HEX_BITS = 20
_HEX = frozenset({"p_key"})


def packet_line(fields: dict[str, Any]) -> str:
    """Return the most important things about a frame.

    Parameters
    ----------
    fields : :class:`dict`
        Of the frame, then of its headers as :func:`mrcnic.sim.codec.description.describe` has
        them.
    """
    words = [_start(fields)]
    if bth := fields.get("bth"):
        words.append(f"{_value('bth', 'opcode', bth['opcode'])}")
        words += (f"QP {bth['dqp']:#08x}", f"PSN {bth['psn']:#08x}")
        ev = fields["mrc"]["ev"]
        words.append(f"EV {ev['value']:#010x} plane {ev['plane']}")
        for header, names in _BRIEF.items():
            if header in fields:
                words += (f"{one} {_value(header, one, fields[header][one])}" for one in names)
        if payload := fields.get("payload"):
            words.append(f"payload {payload['octets']}")
        words += (name for header, name in _FLAGS if fields[header][name])
    if error := fields.get("error"):
        words.append(f"{error['reason']}: {error['sentence']}")
    return "  ".join(words)


def packet_block(fields: dict[str, Any]) -> str:
    """Return everything about a frame, with a field in each line."""
    lines = [_start(fields)]
    for header, values in fields.items():
        if isinstance(values, dict):
            lines += (f"  {name:<32}{value}" for name, value in _lines(header, values))
    return "\n".join(lines)


def _start(fields: dict[str, Any]) -> str:
    seconds, rest = divmod(fields["time_ns"], 10**9)
    words = [f"{fields['frame']:>6}", f"{seconds}.{rest:09}"]
    if fields["interface"]:
        words.append(fields["interface"])
    octets = f"{fields['octets']} octets"
    if cut := fields.get("captured_octets"):
        octets += f", {cut} of them captured"
    return "  ".join((*words, octets))


def _lines(path: str, values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    header = path.rpartition(".")[2]
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _lines(f"{path}.{name}", value)
        else:
            yield f"{path}.{name}", _value(header, name, value)


def _value(header: str, name: str, value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int):
        return str(value)
    names = VALUE_NAMES.get((header, name))
    if names and value in set(names):
        return names(value).name
    table = getattr(headers, header.upper(), None)
    bits = table.fields.get(name, 0) if table else 0
    if (header, name) == ("ev", "value"):
        bits = 32
    if name in _SIGNED and value >> 15:
        return str(value - (1 << 16))
    if name in _HEX or (bits >= _HEX_BITS and name not in _COUNTS):
        return f"{value:#0{2 + -(-bits // 4)}x}"
    return str(value)
