"""Build and simulate in processes of their own, follow them, and end them whatever happens."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from mrcnic.hdl.config import NicConfig
from mrcnic.sim.bench.build import Build
from mrcnic.sim.fabric.topology import default_topology

__all__ = ["build", "simulate"]

#: How often the progress of a process is looked at, in seconds.
_POLL_S = 0.2

#: How long a simulator that has its result may take to finish its waveforms, in seconds.
_CLOSE_S = 300


def build(
    config: NicConfig, *, simulator: str, trace: bool = False, progress: Callable[[str], None]
) -> Build:
    """Build two NICs for ``simulator``, or find them built.

    This is :func:`mrcnic.sim.bench.build.build_pair`, with no compiler left behind when the caller
    is interrupted.

    Parameters
    ----------
    trace : :class:`bool`
        The simulation is to be able to record waveforms.
    progress : callable
        Called with a word for each step as it begins.

    Raises
    ------
    RuntimeError
        If the simulator or its compiler is missing, or the build fails: one line, with the log.
    """
    found = _run(
        "build",
        [simulator, "trace" if trace else ""],
        {"config": asdict(config)},
        progress=lambda news: progress(news["step"]),
    )
    return Build(Path(found["folder"]), simulator, fresh=found["fresh"])


def simulate(
    build: Build,
    bench: str,
    spec: dict,
    *,
    progress: Callable[[dict], None],
    seed: int,
    trace: Path | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> dict:
    """Run the cocotb module ``bench`` on ``build`` and return what it found.

    The bench reads ``spec`` and writes news and, in the end, its result as lines of JSON
    (:mod:`mrcnic.sim.bench.report`).

    Parameters
    ----------
    progress : callable
        Called with each piece of news.
    trace : :class:`pathlib.Path`, optional
        File for the waveforms, in the FST format, if the build can record them. It is whole only
        if the simulation comes to an end by itself.
    stop : callable
        Asked again and again whether to give up: then there is no result.

    Raises
    ------
    RuntimeError
        If the simulation ends without a result, or the kernel cannot be the fabric that is asked
        for: one line that says why.
    """
    arguments = [bench, build.simulator, str(build.folder), str(seed), str(trace or "")]
    patience_s = _CLOSE_S if trace else 0
    with _switches(spec) as wanted:
        return _run(
            "simulate",
            arguments,
            {**spec, **wanted},
            progress=progress,
            patience_s=patience_s,
            stop=stop,
        )


@contextlib.contextmanager
def _switches(spec: dict) -> Iterator[dict]:
    """Provide what a transfer needs of the kernel, and add to ``spec`` where it is.

    It is this process that does so, since it outlives the simulator.
    """
    if spec.get("fabric") != "linux":
        yield {}
        return
    # Only here: the model needs none of the netlink library.
    from mrcnic.sim.fabric.linux.network import KernelNetwork

    topology = default_topology(
        planes=spec["config"]["lanes"], leaves=spec["leaves"], spines=spec["spines"]
    )
    with KernelNetwork.created(topology) as network:
        yield {"namespaces": network.prefix}


def _run(
    task: str,
    arguments: list[str],
    spec: dict,
    *,
    progress: Callable[[dict], None],
    patience_s: float = 0,
    stop: Callable[[], bool] = lambda: False,
) -> dict:
    """Run a task of :mod:`mrcnic.sim.bench.child` and return its result.

    It has a process group of its own, which is killed when this function is left in whatever way,
    and a pipe for its input, which tells it if this process is killed outright.
    """
    with tempfile.TemporaryDirectory(prefix="mrcnic-") as name:
        folder = Path(name)
        news = folder / "news.jsonl"
        news.touch()
        (folder / "spec.json").write_text(json.dumps(spec))
        log = folder / "output.log"
        command = [sys.executable, "-m", "mrcnic.sim.bench.child", task, str(folder), *arguments]
        with log.open("w") as output, news.open() as lines:
            child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                last = _follow(child, lines, progress, stop)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(patience_s)
            finally:
                _kill(child)
                child.stdin.close()
        if "result" in last:
            return last["result"]
        if "error" in last:
            raise RuntimeError(last["error"])
        raise RuntimeError(f"the process to {task} ended early: {_reason(log)}")


def _follow(child, lines, progress, stop) -> dict:
    """Return the last news, which has a result or an error unless the process failed."""
    rest = ""
    while not stop():
        running = child.poll() is None
        rest += lines.read()
        *whole, rest = rest.split("\n")
        for line in whole:
            item = json.loads(line)
            if "result" in item or "error" in item:
                return item
            progress(item)
        if not running:
            return {}
        try:
            child.wait(_POLL_S)
        except subprocess.TimeoutExpired:
            continue
    return {"error": "stopped"}


def _reason(log: Path) -> str:
    """Return the line of a log that says most: the last exception of a bench, or the last line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    # The last of all is the runner's, which has only seen that there was one.
    for line in reversed(lines[:-1]):
        if re.match(r"[\w.]*(Error|Exception)\b", line):
            return line
    return lines[-1] if lines else "it printed nothing"


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
