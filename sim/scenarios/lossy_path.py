"""A link that is neither dead nor well."""

import random

from .history import History
from .judging import FABRIC_REGISTERS, evs_by, judge_blame, judge_repair, judge_shares
from .scenario import CONFIG, LENGTHS, Finding, Plan, Scenario, topology
from .transfer import TransferSpec

__all__ = ["LOSSY_PATH"]

_DROP = 0.05


def _plan(rng: random.Random, seed: int) -> Plan:
    plane, spine = rng.randrange(CONFIG.lanes), rng.randrange(topology().spines)
    link = f"p{plane}t00-p{plane}t1{spine}"
    down_us = rng.uniform(15, 25)
    spec = TransferSpec(
        config=CONFIG,
        lengths=LENGTHS,
        seed=seed,
        failures=(f"{link}@{down_us:.3f}us:drop={_DROP}",),
        registers=FABRIC_REGISTERS,
        until_us=down_us + 220,
        log=True,
    )
    return Plan(
        spec=spec, evs=evs_by(plane, spine), down_us=down_us, what=f"{link} loses {_DROP:.0%}"
    )


def _judge(plan: Plan, result: dict, history: History) -> list[Finding]:
    on_it = [record for record in history.writes if record.ev in plan.evs]
    after = sum(record.began_us > plan.down_us for record in history.writes)
    return [
        *judge_blame(plan, history, stays=False),
        *judge_repair(history),
        Finding(
            what="share of packets on the lossy EVs, which are an eighth",
            value=100 * sum(record.began_us > plan.down_us for record in on_it) / max(1, after),
            unit="%",
        ),
        *judge_shares(history),
    ]


LOSSY_PATH = Scenario(
    name="lossy-path",
    summary="A link loses a packet in twenty, from some time on.",
    plan=_plan,
    judge=_judge,
)
