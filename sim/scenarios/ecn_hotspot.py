"""A link is slow, marks what waits in front of it, and cuts what finds no room."""

import random

from .history import History
from .judging import FABRIC_REGISTERS, evs_by, judge_repair, judge_shares
from .scenario import CONFIG, LENGTHS, Finding, Plan, Scenario, topology
from .transfer import TransferSpec

__all__ = ["ECN_HOTSPOT"]

#: What an eighth of all packets meets: too slow for two that come together, and a queue in which
#: nothing waits for so long that it is taken for lost.
_SLOW = "rate_bps=40000000000,ecn_octets=2048,queue_octets=32768,trim=1"
_SLOW_US = 150


def _plan(rng: random.Random, seed: int) -> Plan:
    plane, spine = rng.randrange(CONFIG.lanes), rng.randrange(topology().spines)
    link = f"p{plane}t1{spine}-p{plane}t01"
    down_us = rng.uniform(25, 35)
    up_us = down_us + _SLOW_US
    spec = TransferSpec(
        config=CONFIG,
        lengths=LENGTHS,
        seed=seed,
        failures=(f"{link}@{down_us:.3f}us-{up_us:.3f}us:{_SLOW}",),
        registers=FABRIC_REGISTERS,
        until_us=up_us + 40,
        log=True,
        sample_us=10.0,
    )
    return Plan(
        spec=spec, evs=evs_by(plane, spine), down_us=down_us, up_us=up_us, what=f"{link} is slow"
    )


def _judge(plan: Plan, result: dict, history: History) -> list[Finding]:
    counters = result["counters"]["a"]
    hot = [r for r in history.writes if plan.down_us < r.began_us < plan.up_us]
    usual = len(plan.evs) / CONFIG.evs
    share = sum(record.ev in plan.evs for record in hot) / max(1, len(hot))
    return [
        Finding(
            what="EVs found SKIP at most, in all QPs",
            value=max(
                (
                    sum(states.count("SKIP") for states in of_qps)
                    for time_us, of_qps in history.samples
                ),
                default=0,
            ),
            least=1,
        ),
        Finding(what="times an EV was marked", value=counters["spray_ev_marked"], least=1),
        Finding(what="times one was passed over", value=counters["spray_ev_restored"], least=1),
        Finding(
            what="packets by the slow link, of those it would get",
            value=100 * share / usual,
            unit="%",
            most=90,
        ),
        Finding(what="EVs that went out of use", value=counters["spray_ev_retired"], most=0),
        Finding(what="packets trimmed and refused", value=result["control_packets"]["NACK"]),
        Finding(what="time-outs", value=counters["retransmit_resend_timeout"], most=0),
        *judge_repair(history),
        *judge_shares(history),
    ]


ECN_HOTSPOT = Scenario(
    name="ecn-hotspot",
    summary="A link has two fifths of its rate, and marks: its EVs are passed over, not given up.",
    plan=_plan,
    judge=_judge,
)
