"""Imports go one way, and a room does not know its neighbour."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAME = "mrcnic"

#: What every room of `hdl` may import.
SHARED = ("hdl.config", "hdl.wire", "hdl.rows", "hdl.descriptor")

#: What each room may import of this project, besides itself.
MAY_IMPORT = {
    "hdl.config": (),
    "hdl.wire": (),
    "hdl.rows": ("hdl.wire",),
    "hdl.descriptor": ("hdl.config", "hdl.wire", "hdl.rows"),
    "hdl.packet": SHARED,
    "hdl.egress": (*SHARED, "hdl.packet"),
    "hdl.ingress": (*SHARED, "hdl.packet"),
    "hdl.spray": (*SHARED, "hdl.packet"),
    "hdl.retransmit": (*SHARED, "hdl.packet"),
    "hdl.requester": (*SHARED, "hdl.packet"),
    "hdl.responder": (*SHARED, "hdl.packet"),
    "hdl.health": (*SHARED, "hdl.packet"),
    "hdl.host": (*SHARED, "hdl.packet"),
    "hdl.line": (*SHARED, "hdl.packet"),
    "hdl.nic": ("hdl",),
    "hdl.ports": ("hdl",),
    "sim.codec": ("hdl.wire",),
    "sim.model": ("hdl.wire", "sim.codec"),
    "sim.fabric": ("sim.codec",),
    "sim.driver": ("hdl.config", "hdl.rows", "hdl.wire", "hdl.host.registers"),
    "sim.bench": ("hdl", "sim.codec", "sim.model", "sim.fabric", "sim.driver"),
    "sim.measure": ("hdl", "sim.codec", "sim.bench"),
    "sim.scenarios": ("hdl", "sim"),
    "sim.report": ("hdl", "sim"),
    "sim.cli": ("hdl", "sim", "boards"),
    "boards": ("hdl", "sim.driver"),
}


def is_within(name, room):
    return f"{name}.".startswith(f"{room}.")


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            # `from a.b import c`: c may be a module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=str(path.relative_to(ROOT)))
        for folder in ("hdl", "sim", "boards")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.name != "__init__.py"
    ],
)
def test_room_imports_what_it_may(path):
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    room = max((room for room in MAY_IMPORT if is_within(module, room)), key=len)
    for name in imports(path):
        root, _, rest = name.partition(".")
        assert root not in ("hdl", "sim", "boards"), f"the import name of {name} is {NAME}.{name}"
        if root == NAME:
            assert any(is_within(rest, allowed) for allowed in (room, *MAY_IMPORT[room])), (
                f"{room} may not import {rest}"
            )
