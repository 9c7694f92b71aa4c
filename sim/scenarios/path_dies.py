"""A path dies, and nobody but those who use it can know; and last packets are lost."""

import random

from .history import History
from .judging import FABRIC_REGISTERS, judge_blame, judge_repair, judge_shares
from .scenario import CONFIG, Finding, Plan, Scenario
from .transfer import TransferSpec

__all__ = ["PATH_DIES"]

_PACKETS = 300
_QPS = 4

#: Longer than the scenario.
_FOR_EVER_US = 1e6


def _plan(rng: random.Random, seed: int) -> Plan:
    ev = rng.randrange(CONFIG.evs)
    down_us = rng.uniform(15, 25)
    spec = TransferSpec(
        config=CONFIG,
        size=_QPS * _PACKETS * CONFIG.mtu,
        qps=_QPS,
        seed=seed,
        registers=FABRIC_REGISTERS,
        dead_evs=((ev, down_us, _FOR_EVER_US),),
        losses=tuple(("WRITE", qp, _PACKETS - 1, 1) for qp in range(_QPS)),
        log=True,
    )
    return Plan(spec=spec, evs=frozenset({ev}), down_us=down_us, what=f"EV {ev} dies")


def _judge(plan: Plan, result: dict, history: History) -> list[Finding]:
    # Each QP's last packet is lost as well, whatever EV it takes.
    everywhere = Plan(spec=plan.spec, evs=frozenset(range(CONFIG.evs)), down_us=plan.down_us)
    return [
        *judge_blame(plan, history),
        *judge_blame(everywhere, history, stays=False)[2:],
        *judge_repair(history),
        *judge_shares(history),
    ]


PATH_DIES = Scenario(
    name="path-dies",
    summary="One EV of 64 loses everything; so are the last packets of all QPs.",
    plan=_plan,
    judge=_judge,
)
