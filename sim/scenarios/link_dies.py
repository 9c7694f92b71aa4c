"""A link dies in the middle of a plane, is repaired, and comes back."""

import random

from .history import History
from .judging import FABRIC_REGISTERS, evs_by, judge_blame, judge_repair, judge_return, judge_shares
from .scenario import CONFIG, LENGTHS, Finding, Plan, Scenario, topology
from .transfer import TransferSpec

__all__ = ["LINK_DIES"]


def _plan(rng: random.Random, seed: int) -> Plan:
    plane, spine = rng.randrange(CONFIG.lanes), rng.randrange(topology().spines)
    leaf = rng.choice((0, 1))  # of A, or of B
    link = f"p{plane}t0{leaf}-p{plane}t1{spine}"
    down_us = rng.uniform(25, 35)
    up_us = down_us + 80
    spec = TransferSpec(
        config=CONFIG,
        lengths=LENGTHS,
        seed=seed,
        failures=(f"{link}@{down_us:.3f}us-{up_us:.3f}us",),
        registers=FABRIC_REGISTERS,
        until_us=up_us + 150,
        log=True,
    )
    return Plan(
        spec=spec, evs=evs_by(plane, spine), down_us=down_us, up_us=up_us, what=f"{link} dies"
    )


def _judge(plan: Plan, result: dict, history: History) -> list[Finding]:
    burnt: dict[int, set[int]] = {}
    for change in history.changes:
        if change.new == "ASSUMED_BAD" and change.ev in plan.evs and change.time_us > plan.down_us:
            burnt.setdefault(change.qp, set()).add(change.ev)
    return [
        *judge_blame(plan, history),
        Finding(
            what=f"EVs of {len(plan.evs)} on the link burnt to learn it, per QP",
            value=max(map(len, burnt.values()), default=0),
            most=len(plan.evs),
        ),
        *judge_repair(history),
        *judge_return(plan, history),
        *judge_shares(history),
    ]


LINK_DIES = Scenario(
    name="link-dies",
    summary="A link between T0 and T1 dies, with an eighth of all EVs, and is repaired.",
    plan=_plan,
    judge=_judge,
)
