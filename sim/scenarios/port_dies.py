"""A port of A dies and comes back; then one of B does."""

import random

from .history import History
from .judging import FABRIC_REGISTERS, evs_by, judge_repair
from .ports import Outage, judge_local_port, judge_remote_port
from .scenario import CONFIG, LENGTHS, Finding, Plan, Scenario
from .transfer import TransferSpec

__all__ = ["PORT_DIES"]

#: How long a port is dead, and from one failure to the next.
_DEAD_US, _APART_US = 30, 100


def _plan(rng: random.Random, seed: int) -> Plan:
    planes = [rng.randrange(CONFIG.lanes) for _ in range(2)]
    first_us = rng.uniform(25, 35)
    failures, outages = [], []
    for n, (side, plane) in enumerate(zip("ab", planes, strict=True)):
        down_us = first_us + n * _APART_US
        failures.append(f"{side}{plane}@{down_us:.3f}us-{down_us + _DEAD_US:.3f}us")
        outages.append((f"{side}{plane}", down_us, down_us + _APART_US))
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
        up_us=first_us + _DEAD_US,
        what=" and later ".join(f"port {port} dies" for port, *_ in outages),
        notes={"outages": outages},
    )


def _judge(plan: Plan, result: dict, history: History) -> list[Finding]:
    local, remote = (
        Outage(history, port, since_us=since_us, until_us=until_us)
        for port, since_us, until_us in plan.notes["outages"]
    )
    counters = result["counters"]["a"]
    return [
        *judge_local_port(history, local),
        Finding(
            what=f"{local.port}: packets dropped in its lane",
            value=counters[f"port{local.plane}_tx_dropped_port_down"],
        ),
        Finding(
            what=f"{local.port}: resends for the port's sake",
            value=counters["retransmit_resend_port"],
            least=counters[f"port{local.plane}_tx_dropped_port_down"],
        ),
        *judge_remote_port(history, remote),
        *judge_repair(history),
    ]


PORT_DIES = Scenario(
    name="port-dies",
    summary="A port of A is dead for 30 us, and then one of B.",
    plan=_plan,
    judge=_judge,
)
