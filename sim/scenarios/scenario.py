"""What a scenario is: a transfer with a misfortune, and what must come of it."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from mrcnic.hdl.config import PRESETS, TICK_NS, NicConfig
from mrcnic.hdl.host.registers import register_map
from mrcnic.sim.driver.attributes import QpAttributes
from mrcnic.sim.fabric.topology import Topology, default_topology

from .history import History
from .transfer import TransferSpec

__all__ = ["CONFIG", "LENGTHS", "REGISTERS", "Finding", "Plan", "Scenario", "shortened", "topology"]

#: The NICs of all scenarios, so that they share one build.
CONFIG: NicConfig = PRESETS["sim"]

#: Registers of all scenarios, in ticks of 128 ns. What takes milliseconds is shortened.
REGISTERS = {
    "base_rtt": 62,
    "target_delay": 47,
    "hold_off": 78,
    "retire_delay": 78,
    "retire_delay_max": 624,
    "probe_interval": 4,
    "probe_timeout": 156,
}

#: More messages than a scenario has time for, each so short that none goes on for long after it.
LENGTHS = (4 * CONFIG.mtu,) * 768

#: Properties of the fabric, not of the NIC: no default could be right.
_OF_THE_FABRIC = ("base_rtt", "target_delay")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of what was found.

    Attributes
    ----------
    what : :class:`str`
        What was looked at.
    value : number, :class:`str` or None
        What it is; ``None`` if it did not happen.
    unit : :class:`str`
        Its unit.
    most, least : number, optional
        Limits. Without any there is nothing that could be missed.
    """

    what: str
    value: float | str | None
    unit: str = ""
    most: float | None = None
    least: float | None = None

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self.most is not None or self.least is not None

    @property
    def good(self) -> bool:
        """Whether the limits are kept."""
        if not self.limited:
            return True
        if self.value is None:
            return False
        low = -float("inf") if self.least is None else self.least
        high = float("inf") if self.most is None else self.most
        return low <= self.value <= high


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A scenario with a seed: what dies when, and the transfer.

    Attributes
    ----------
    spec : :class:`~.transfer.TransferSpec`
        Transfer.
    evs : frozenset of :class:`int`
        EVs of A that are concerned.
    down_us, up_us : :class:`float` or None
        When it dies, and when it is well again.
    what : :class:`str`
        What dies, in words.
    notes : :class:`dict`
        What else the judge has to know.
    """

    spec: TransferSpec
    evs: frozenset[int]
    down_us: float
    up_us: float | None = None
    what: str = ""
    notes: dict = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """An experiment on a failure.

    Attributes
    ----------
    name : :class:`str`
        By which it is called.
    summary : :class:`str`
        A sentence for people.
    plan : callable
        Returns the :class:`Plan` for a random generator and a seed.
    judge : callable
        Returns findings for a plan, a result and its :class:`~.history.History`.
    fails : :class:`bool`
        Messages are meant to fail.
    """

    name: str
    summary: str
    plan: Callable[[random.Random, int], Plan]
    judge: Callable[[Plan, dict, History], list[Finding]]
    fails: bool = False

    def planned(self, seed: int) -> Plan:
        """Return the plan for a seed."""
        return self.plan(random.Random(f"{self.name} {seed}"), seed)


def topology() -> Topology:
    """Return the fabric of all scenarios."""
    return default_topology(planes=CONFIG.lanes)


def shortened(spec: TransferSpec) -> list[str]:
    """Return what a scenario has made shorter than it is by default, and by which factor."""
    defaults = {
        register.name: register.fields[0].reset
        for register in register_map(CONFIG)
        if len(register.fields) == 1
    }
    told = []
    for name, value in spec.registers:
        if name not in _OF_THE_FABRIC and value != defaults[name]:
            told.append(
                f"{name} {value * TICK_NS / 1000:.1f} us, 1/{defaults[name] / value:.0f} of the "
                "default"
            )
    if spec.timeout is not None:
        usual = QpAttributes.__dataclass_fields__["timeout"].default
        told.append(
            f"RTO {1.024 * 2**spec.timeout:.1f} us, 1/{2 ** (usual - spec.timeout)} of the default"
        )
    return told
