"""The process that builds or simulates: ``python -m mrcnic.sim.bench.child TASK FOLDER ...``."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

from mrcnic.hdl.config import NicConfig
from mrcnic.sim.fabric.linux.namespaces import remove_namespaces

from .build import build_pair
from .report import NEWS, SPEC, read_spec, tell, tell_error, tell_result
from .runner import find_simulator, run_design

__all__ = ["main"]

#: Programs that a build needs besides the simulator itself.
_TOOLS = {"verilator": ("perl", "make", "c++"), "icarus": ()}

#: Headers that a build needs besides, if it is to record waveforms.
_TRACE_HEADERS = {"verilator": ("lz4.h", "zlib.h"), "icarus": ()}


def main():
    """Do what :mod:`mrcnic.sim.scenarios.run` asks for; the question is in ``FOLDER``."""
    task, folder, *arguments = sys.argv[1:]
    os.environ[SPEC] = str(Path(folder) / "spec.json")
    os.environ[NEWS] = str(Path(folder) / "news.jsonl")
    namespaces = read_spec().get("namespaces")
    threading.Thread(target=_end_with_parent, args=[namespaces], daemon=True).start()
    {"build": _build, "simulate": _simulate}[task](Path(folder), *arguments)


def _end_with_parent(namespaces: str | None):
    """End this process and those it has started when the other end of its input is closed.

    A parent that is killed outright has no time to end its children, nor to remove its namespaces.
    """
    os.read(0, 1)
    try:
        if namespaces:
            remove_namespaces(namespaces)
    finally:
        os.killpg(0, signal.SIGKILL)


def _build(folder: Path, simulator: str, trace: str):
    def begin(step: str):
        # Only where something is to be built, and then before it takes minutes.
        missing = [tool for tool in _TOOLS[simulator] if not shutil.which(tool)]
        if missing:
            raise RuntimeError(
                f"{simulator} needs {', '.join(missing)}: apt-get install perl make g++"
            )
        headers = _TRACE_HEADERS[simulator] if trace else ()
        missing = [header for header in headers if not _has_header(header)]
        if missing:
            raise RuntimeError(
                f"{simulator} needs {', '.join(missing)} for a trace: "
                "apt-get install liblz4-dev zlib1g-dev"
            )
        tell(step=step)

    try:
        build = build_pair(
            NicConfig(**read_spec()["config"]),
            simulator=simulator,
            trace=bool(trace),
            progress=begin,
        )
    except (RuntimeError, OSError) as error:
        tell_error(str(error))
    else:
        tell_result({"folder": str(build.folder), "fresh": build.fresh})


def _has_header(name: str) -> bool:
    """Return whether the C++ compiler finds a header."""
    command = ["c++", "-E", "-x", "c++", "-include", name, os.devnull]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _simulate(folder: Path, bench: str, simulator: str, build: str, seed: str, trace: str):
    find_simulator(simulator)
    run_design(
        bench,
        top="pair",
        simulator=simulator,
        build_dir=Path(build),
        test_dir=folder,
        results_xml=str(folder / "results.xml"),
        seed=int(seed),
        trace=Path(trace) if trace else None,
        env={
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "COCOTB_LOG_LEVEL": "WARNING",
        },
    )


if __name__ == "__main__":
    main()
