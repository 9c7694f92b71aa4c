"""Ports that come and go, faster than anybody should believe them."""

import random

from .history import History
from .judging import FABRIC_REGISTERS, evs_by, judge_repair
from .ports import Outage, judge_local_port, judge_remote_port
from .scenario import CONFIG, LENGTHS, Finding, Plan, Scenario
from .transfer import TransferSpec

__all__ = ["PORT_FLAPS"]

#: Failures of each port in a row, and from the first of one port to the first of the other's.
_FLAPS, _APART_US = 5, 110


def _flaps(rng: random.Random, port: str, start_us: float) -> tuple[list[str], float]:
    """Return failures of a port, none of which it is well for as long as the hold-off."""
    failures, time_us = [], start_us
    for _ in range(_FLAPS):
        down_us, well_us = rng.uniform(2, 4), rng.uniform(4, 8)
        failures.append(f"{port}@{time_us:.3f}us-{time_us + down_us:.3f}us")
        time_us += down_us + well_us
    return failures, time_us


def _plan(rng: random.Random, seed: int) -> Plan:
    planes = [rng.randrange(CONFIG.lanes) for _ in range(2)]
    first_us = rng.uniform(25, 35)
    failures, outages = [], []
    for n, (side, plane) in enumerate(zip("ab", planes, strict=True)):
        start_us = first_us + n * _APART_US
        of_port, _ = _flaps(rng, f"{side}{plane}", start_us)
        failures += of_port
        outages.append((f"{side}{plane}", start_us, start_us + _APART_US))
    spec = TransferSpec(
        config=CONFIG,
        lengths=LENGTHS,
        seed=seed,
        failures=tuple(failures),
        registers=FABRIC_REGISTERS,
        loop_probes=True,
        until_us=first_us + 2 * _APART_US,
        log=True,
    )
    return Plan(
        spec=spec,
        evs=evs_by(planes[0]),
        down_us=first_us,
        what=" and later ".join(f"port {port} flaps {_FLAPS} times" for port, *_ in outages),
        notes={"outages": outages},
    )


def _judge(plan: Plan, result: dict, history: History) -> list[Finding]:
    local, remote = (
        Outage(history, port, since_us=since_us, until_us=until_us)
        for port, since_us, until_us in plan.notes["outages"]
    )
    falls = {
        outage.port: result["counters"][outage.port[0]][f"port{outage.plane}_port_down"]
        for outage in (local, remote)
    }
    return [
        *judge_local_port(history, local),
        *judge_remote_port(history, remote),
        *(
            Finding(what=f"{port}: falls of a port that flapped", value=count, most=1, least=1)
            for port, count in falls.items()
        ),
        *judge_repair(history),
    ]


PORT_FLAPS = Scenario(
    name="port-flaps",
    summary="A port of A fails five times in a row, and then one of B.",
    plan=_plan,
    judge=_judge,
)
