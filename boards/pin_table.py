"""Pins of a platform, and the table they must equal."""

import csv
from collections import defaultdict
from importlib import resources
from typing import NamedTuple

from amaranth.lib import io

__all__ = ["Pin", "pin_problems", "platform_pins", "table_pins"]

#: Resources of amaranth-boards that are another view of the same pins.
_ALTERNATIVES = ("spi_flash_2x", "spi_flash_4x", "eth_sgmii")


class Pin(NamedTuple):
    """Where a port is.

    Attributes
    ----------
    location : :class:`str`
        Ball of the package.
    standard : :class:`str`
        Electrical standard; empty for transceivers.
    """

    location: str
    standard: str


def table_pins(board: str) -> dict[str, Pin]:
    """Return all rows of a board's table, by port."""
    table = resources.files(__package__).joinpath("pins", f"{board}.csv").read_text()
    rows = list(csv.DictReader(line for line in table.splitlines() if not line.startswith("#")))
    return {row["port"]: Pin(row["pin"], row["standard"]) for row in rows}


def platform_pins(platform) -> list[tuple[str, Pin]]:
    """Request every resource of a platform, and return what its ports have become."""
    pins = []
    for name, number in list(platform.resources):
        if name in _ALTERNATIVES:
            continue
        port = platform.request(name, number, dir=_as_it_is(platform.lookup(name, number)))
        pins += _pins_of(port)
    return pins


def pin_problems(board: str, pins: list[tuple[str, Pin]]) -> list[str]:
    """Return what is wrong with the pins of a platform, each in a sentence."""
    ports = defaultdict(list)
    locations = defaultdict(list)
    for port, pin in pins:
        ports[port].append(pin)
        locations[pin.location].append(port)
    found = [f"port {port} has {len(at)} locations" for port, at in ports.items() if len(at) > 1]
    found += [
        f"pin {location} is that of {' and '.join(at)}"
        for location, at in locations.items()
        if len(at) > 1
    ]
    table = table_pins(board)
    for port in sorted(ports.keys() | table.keys()):
        ours = ports[port][0] if port in ports else None
        if ours is None:
            found.append(f"port {port} of the table is not in the platform")
        elif port not in table:
            found.append(f"port {port} of the platform is not in the table")
        elif ours != table[port]:
            found.append(
                f"port {port} is on {ours.location} ({ours.standard}) and in the table "
                f"on {table[port].location} ({table[port].standard})"
            )
    return found


def _as_it_is(resource):
    """Directions that ask for bare ports, in the shape of the resource."""
    if not hasattr(resource.ios[0], "ios"):
        return "-"
    return {sub.name: _as_it_is(sub) for sub in resource.ios}


def _pins_of(port):
    if isinstance(port, io.SingleEndedPort):
        yield from _bits(port.io)
    elif isinstance(port, io.DifferentialPort):
        yield from _bits(port.p)
        yield from _bits(port.n)
    else:
        for name in vars(port):
            if not name.startswith("_"):
                yield from _pins_of(getattr(port, name))


def _bits(port):
    for bit, metadata in enumerate(port.metadata):
        name = port.name if len(port) == 1 else f"{port.name}[{bit}]"
        attributes = metadata.attrs
        standard = attributes.get("IOSTANDARD", attributes.get("IO_TYPE", ""))
        yield name, Pin(metadata.name, standard)
