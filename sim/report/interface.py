"""The ports of the generated module, from the component's signature and docstrings."""

import gc
import importlib
import inspect
import re
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from enum import EnumMeta
from typing import Any

from amaranth.hdl import Shape, UnusedElaboratable
from amaranth.lib import data, wiring

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.ports import NicPorts

from .axi_names import AXI_SIGNALS
from .docstrings import Entry, documented_members

__all__ = ["describe_interface", "nic_interface"]

#: Protocol of ports, by what their names start with, and what the module is in it.
_PROTOCOLS = {"axis": "AXI4-Stream", "axil": "AXI4-Lite", "axi": "AXI4"}
_ROLES = {"s": "subordinate", "m": "manager"}


def describe_interface(component: wiring.Component, *, module: str) -> dict[str, Any]:
    """Return every port of the module that ``component`` becomes.

    Parameters
    ----------
    component : :class:`~amaranth.lib.wiring.Component`
        Has flat members, and a docstring that tells of all of them. What only the docstring has
        are the clocks and resets of domains.
    module : :class:`str`
        Name of the module.

    Raises
    ------
    ValueError
        If a port, or a field behind one, is in no docstring.
    """
    entries = documented_members(type(component))
    members = component.signature.members
    ports = [
        {
            "name": name,
            "direction": "input",
            "width": 1,
            "group": name,
            "protocol": "clock" if name.endswith("clk") else "reset",
            "meaning": entry.text,
        }
        for entry in entries
        for name in entry.names
        if name.isidentifier() and name not in members
    ]
    ports += (
        {
            "name": name,
            "direction": "input" if member.flow == wiring.In else "output",
            "width": Shape.cast(member.shape).width,
            **_meaning(component, entries, name),
        }
        for name, member in members.items()
    )
    return {"module": module, "config": asdict(component.config), "ports": ports}


def nic_interface(config: NicConfig, *, module: str) -> dict[str, Any]:
    """Return every port of the NIC as :mod:`mrcnic.hdl.ports` has it."""
    with warnings.catch_warnings():
        # The NIC is made to be asked, and not to be elaborated.
        warnings.simplefilter("ignore", UnusedElaboratable)
        interface = describe_interface(NicPorts(config), module=module)
        gc.collect()
    return interface


def _meaning(component: wiring.Component, entries: list[Entry], port: str) -> dict[str, Any]:
    """Return group, protocol and meaning of a port."""
    for entry in entries:
        if group := entry.group_of(port):
            break
    else:
        raise ValueError(f"the docstring of {type(component).__name__} does not tell of {port}")
    text, signal = entry.text, port.removeprefix(f"{group}_")
    if number := re.search(r"\d+$", group):
        text = re.sub(r"\b(lane|port) p\b", rf"\1 {number[0]}", text)
    layout = _layout(component, entry)
    match = re.match(r"([sm])_(axis|axil|axi)(?![a-z])", group)
    if not match:
        meaning = _texts(layout).get(signal, "")
        return {"group": group, "protocol": "signals", "meaning": _joined(text, meaning)}
    protocol = _PROTOCOLS[match[2]]
    found = {
        "group": group,
        "protocol": protocol,
        "role": _ROLES[match[1]],
        "meaning": _joined(text, AXI_SIGNALS[signal]),
    }
    if layout is not None and signal == "tdata":
        found["fields"] = list(_fields(layout))
    return found


def _joined(text: str, meaning: str) -> str:
    return f"{text} {meaning}" if meaning else text


def _layout(component: wiring.Component, entry: Entry) -> data.Layout | None:
    """Return the layout that an entry names: what is behind its ports."""
    match = re.search(r":class:`~([\w.]+)\.(\w+)`", entry.markup)
    if not match:
        return None
    layout = getattr(importlib.import_module(match[1]), match[2])
    sizes = (component.config,) if inspect.signature(layout).parameters else ()
    return layout(*sizes)


def _texts(layout: data.Layout | None) -> dict[str, str]:
    if layout is None:
        return {}
    return {name: entry.text for entry in documented_members(type(layout)) for name in entry.names}


def _fields(layout: data.Layout) -> Iterator[dict[str, Any]]:
    texts = _texts(layout)
    for name, field in layout:
        found = {"name": name, "lowest_bit": field.offset, "width": field.width}
        if isinstance(field.shape, EnumMeta):
            found["values"] = {one.name: one.value for one in field.shape}
        if name not in texts:
            raise ValueError(f"the docstring of {type(layout).__name__} does not tell of {name}")
        yield {**found, "meaning": texts[name]}
