"""Figures of many blocks, two at a time."""

import os
import signal
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from multiprocessing import connection, get_context, parent_process

from mrcnic.hdl.config import NicConfig

from .blocks import block_verilog
from .synthesis import Synthesis, synthesise

__all__ = ["measure_areas"]

#: Processes at a time, each of which takes up to a gigabyte.
_WORKERS = 2


def measure_areas(
    names: Iterable[str], config: NicConfig, *, progress: Callable[[str], None]
) -> dict[str, Synthesis]:
    """Synthesise blocks, each in a process of its own; none of those is left behind.

    Parameters
    ----------
    names : iterable of :class:`str`
        As :func:`~mrcnic.sim.measure.blocks.block_verilog` takes them.
    progress : callable
        Called with the name of each block that is done.

    Raises
    ------
    RuntimeError
        If a block cannot be synthesised: one line that names it.
    """
    context = get_context("spawn")  # nothing is inherited, threads of progress bars least of all
    found = {}
    waiting = list(names)
    running = {}
    try:
        while waiting or running:
            while waiting and len(running) < _WORKERS:
                receiver, sender = context.Pipe(duplex=False)
                name = waiting.pop(0)
                worker = context.Process(target=_work, args=(name, config, sender))
                worker.start()
                sender.close()
                running[receiver] = name, worker
            for receiver in connection.wait(list(running)):
                name, worker = running[receiver]
                found[name] = _answer(name, receiver)
                worker.join()
                del running[receiver]
                progress(name)
    finally:
        for _, worker in running.values():
            with suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
            worker.kill()
            worker.join()
    return found


def _answer(name: str, receiver: connection.Connection) -> Synthesis:
    try:
        answer = receiver.recv()
    except EOFError:
        answer = "the process ended early"
    if isinstance(answer, str):
        raise RuntimeError(f"{name}: {answer}")
    return answer


def _work(name: str, config: NicConfig, sender: connection.Connection):
    os.setsid()  # a group of its own, with the programs that it starts
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        sender.send(synthesise(block_verilog(name, config)))
    except (RuntimeError, OSError) as error:
        sender.send(str(error).splitlines()[-1])


def _end_with_parent():
    connection.wait([parent_process().sentinel])
    os.killpg(0, signal.SIGKILL)
