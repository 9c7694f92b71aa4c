"""The reference of the registers: ``python -m mrcnic.sim.report.registers > docs/registers.md``."""

import gc
import re
import warnings
from collections.abc import Sequence

from amaranth.hdl import UnusedElaboratable

from mrcnic.hdl.config import PRESETS, NicConfig
from mrcnic.hdl.host.register_reference import register_reference
from mrcnic.hdl.nic import Nic

__all__ = ["counter_names", "general_names", "reference"]

_NAMES = """\
The names, in the order of `n`. `<lane>` stands for each lane in turn; names with `port<p>_` come
for port 0 first, then all of them for port 1, and so on. What each counts is told where the room
that its name begins with declares it, in `hdl/`.

| Name |
|---|
"""


def counter_names(config: NicConfig) -> tuple[str, ...]:
    """Return the names of a NIC's counters, in their order."""
    with warnings.catch_warnings():
        # The NIC is made to be asked, and not to be elaborated.
        warnings.simplefilter("ignore", UnusedElaboratable)
        names = Nic(config).event_names
        gc.collect()
    return names


def general_names(names: Sequence[str]) -> list[str]:
    """Return each name once, whatever the number of lanes.

    Examples
    --------
    >>> general_names(["rx_error_0", "rx_error_1", "port0_up", "port1_up"])
    ['rx_error_<lane>', 'port<p>_up']
    """
    return list(
        dict.fromkeys(
            re.sub(r"_\d+$", "_<lane>", re.sub(r"^port\d+_", "port<p>_", name)) for name in names
        )
    )


def reference() -> str:
    """Return the contents of ``docs/registers.md``."""
    config = PRESETS["8x100g"]
    names = general_names(counter_names(config))
    # The counters are the last block.
    return register_reference(config) + _NAMES + "".join(f"| `count_{name}` |\n" for name in names)


if __name__ == "__main__":
    print(reference(), end="")
