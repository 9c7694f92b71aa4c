"""The blocks that are synthesised: rooms of the NIC, and parts of them that have budgets."""

import gc
import re
import warnings
from collections.abc import Callable

from amaranth.hdl import Const, Module, UnusedElaboratable, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.ports import NicPorts
from mrcnic.sim.bench.convert import to_verilog

__all__ = ["PARTS", "block_verilog", "room_counts"]


#: Parts of rooms that are of interest, by the name of their file below ``hdl``, and their room.
PARTS = {
    "egress.header_builder": "egress.lane",
    "egress.srv6_inserter": "egress.lane",
    "egress.icrc_maker": "egress.lane",
    "ingress.outer_parser": "ingress.lane",
    "ingress.decapsulator": "ingress.lane",
    "ingress.icrc_checker": "ingress.lane",
    "packet.crc_pipeline": "egress.lane",
}


class _Part(wiring.Component):
    """A part of a room without those ports that are constant, which no module can have."""

    def __init__(self, part: wiring.Component):
        self._part = part
        self._ports = {
            "__".join(map(str, path)): (member.flow, Value.cast(value))
            for path, member, value in part.signature.flatten(part)
            if not isinstance(Value.cast(value), Const)
        }
        super().__init__({name: flow(value.shape()) for name, (flow, value) in self._ports.items()})

    def elaborate(self, platform):
        m = Module()

        m.submodules.part = self._part
        for name, (flow, value) in self._ports.items():
            port = getattr(self, name)
            m.d.comb += value.eq(port) if flow == In else port.eq(value)

        return m


def room_counts(config: NicConfig) -> dict[str, int]:
    """Return the name of everything that the NIC is put together of, and how many there are.

    A room is called by its file below ``hdl``, such as ``egress.lane``; where both halves are the
    same, by one. Plumbing between rooms is called ``nic`` and what it is there.
    """
    return _unused(lambda: {name: len(same) for name, same in _rooms(config).items()})


def block_verilog(name: str, config: NicConfig) -> str:
    """Return the room or part called ``name`` as Verilog, its top module called ``block``.

    What there is once per port is the same for each, but for the number of the port.

    Raises
    ------
    KeyError
        If there is no such block.
    """

    def convert():
        room = _rooms(config)[PARTS.get(name, name)][0]
        return to_verilog(_Part(_find(name, room)) if name in PARTS else room, name="block")

    return _unused(convert)


def _unused(ask: Callable):
    """Return what ``ask()`` returns, which makes components that are not elaborated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedElaboratable)
        answer = ask()
        gc.collect()
    return answer


def _rooms(config: NicConfig) -> dict[str, list[wiring.Component]]:
    found = {}
    ports = NicPorts(config)
    for child, component in _children(ports):
        inside = _children(component) if component is ports.nic else [(child, component)]
        for name, room in inside:
            found.setdefault(_name(re.sub(r"_\d+$", "", name), room), []).append(room)
    return found


def _find(name: str, component: wiring.Component) -> wiring.Component | None:
    """Return the component called ``name`` within another, or that one itself."""
    if _name("", component) == name:
        return component
    for _, child in _children(component):
        if found := _find(name, child):
            return found
    return None


def _children(component: wiring.Component) -> list[tuple[str, wiring.Component]]:
    inside = component.elaborate("generate")
    if not isinstance(inside, Module):
        return []  # a memory
    # A renamer of clock domains hides what it renames, and that is what has a name.
    return [
        (name, getattr(child, "_elaboratable_", child))
        for name, (child, _) in inside._named_submodules.items()
    ]


def _name(child: str, component: wiring.Component) -> str:
    room, file = type(component).__module__.split(".")[-2:]
    if child and room == "packet":
        return f"nic.{child}"
    return room if room == file else f"{room}.{file}"
