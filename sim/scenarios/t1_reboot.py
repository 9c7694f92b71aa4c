"""A T1 switch restarts."""

import random

from .history import History
from .judging import FABRIC_REGISTERS, evs_by, judge_blame, judge_repair, judge_return, judge_shares
from .scenario import CONFIG, LENGTHS, Finding, Plan, Scenario, topology
from .transfer import TransferSpec

__all__ = ["T1_REBOOT"]


def _plan(rng: random.Random, seed: int) -> Plan:
    plane, spine = rng.randrange(CONFIG.lanes), rng.randrange(topology().spines)
    switch = topology().switch(plane, 1, spine)
    down_us = rng.uniform(25, 35)
    up_us = down_us + 60
    spec = TransferSpec(
        config=CONFIG,
        lengths=LENGTHS,
        seed=seed,
        failures=(f"{switch}@{down_us:.3f}us-{up_us:.3f}us",),
        registers=FABRIC_REGISTERS,
        until_us=up_us + 150,
        log=True,
    )
    return Plan(
        spec=spec, evs=evs_by(plane, spine), down_us=down_us, up_us=up_us, what=f"{switch} restarts"
    )


def _judge(plan: Plan, result: dict, history: History) -> list[Finding]:
    return [
        *judge_blame(plan, history),
        *judge_repair(history),
        *judge_return(plan, history),
        *judge_shares(history),
    ]


T1_REBOOT = Scenario(
    name="t1-reboot",
    summary="A T1 switch is away for 60 us; its EVs come back after three good probes each.",
    plan=_plan,
    judge=_judge,
)
