"""Start a simulation in a process of its own, follow it, and end it whatever happens."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from mrcnic.sim.bench.build import Build

__all__ = ["simulate"]

#: How often the progress of a simulation is looked at, in seconds.
_POLL_S = 0.2


def simulate(
    build: Build, bench: str, spec: dict, *, progress: Callable[[dict], None], seed: int
) -> dict:
    """Run the cocotb module ``bench`` on ``build`` and return what it found.

    The bench reads ``spec`` and writes news and, in the end, its result as lines of JSON
    (:mod:`mrcnic.sim.bench.report`). It runs in a process group of its own, which is killed when
    this function is left by an exception, so that Ctrl-C leaves nothing behind.

    Parameters
    ----------
    progress : callable
        Called with each piece of news.

    Raises
    ------
    RuntimeError
        If the simulation ends without a result: one line that says why.
    """
    with tempfile.TemporaryDirectory(prefix="mrcnic-") as name:
        folder = Path(name)
        news = folder / "news.jsonl"
        news.touch()
        (folder / "spec.json").write_text(json.dumps(spec))
        log = folder / "simulation.log"
        command = [sys.executable, "-m", "mrcnic.sim.bench.child"]
        command += [bench, build.simulator, str(build.folder), str(folder), str(seed)]
        with log.open("w") as output, news.open() as lines:
            child = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
            try:
                result = _follow(child, lines, progress)
            finally:
                _kill(child)
        if result is None:
            tail = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
            raise RuntimeError(f"the simulation ended without a result: {_reason(tail)}")
        return result


def _follow(child, lines, progress) -> dict | None:
    rest = ""
    while True:
        running = child.poll() is None
        rest += lines.read()
        *whole, rest = rest.split("\n")
        for line in whole:
            item = json.loads(line)
            if "result" in item:
                return item["result"]
            progress(item)
        if not running:
            return None
        try:
            child.wait(_POLL_S)
        except subprocess.TimeoutExpired:
            continue


def _reason(tail: list[str]) -> str:
    """Return the line of a log that says most: the last error, or the last line."""
    for line in reversed(tail):
        if "Error" in line or "ERROR" in line:
            return line.strip()
    return tail[-1].strip() if tail else "it printed nothing"


def _kill(child):
    try:
        os.killpg(child.pid, signal.SIGTERM)
        child.wait(5)
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
