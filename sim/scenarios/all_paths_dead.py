"""Nothing gets through any more, although every port is up."""

import random

from .history import History
from .judging import FABRIC_REGISTERS
from .scenario import CONFIG, Finding, Plan, Scenario, topology
from .transfer import TransferSpec

__all__ = ["ALL_PATHS_DEAD"]

_SIZE = 4 << 20

#: Time-out of 16.4 us, as it is three times and then doubled twice.
_TIMEOUT, _LINEAR, _EXPONENTIAL = 4, 3, 2
_RTO_US = 1.024 * 2**_TIMEOUT

#: A charge comes when a time-out is over, and the last of five is the end. The first three waits
#: and the one after the last linear charge are as configured; then they double.
_LEAST_US = _RTO_US * (_LINEAR + sum(2**n for n in range(1, _EXPONENTIAL + 1)) - 2)
_MOST_US = _RTO_US * (_LINEAR + sum(2**n for n in range(1, _EXPONENTIAL + 1)) + 3)


def _plan(rng: random.Random, seed: int) -> Plan:
    down_us = rng.uniform(15, 25)
    spines = [
        topology().switch(plane, 1, spine)
        for plane in range(CONFIG.lanes)
        for spine in range(topology().spines)
    ]
    spec = TransferSpec(
        config=CONFIG,
        size=_SIZE,
        seed=seed,
        failures=tuple(f"{spine}@{down_us:.3f}us" for spine in spines),
        registers=FABRIC_REGISTERS,
        timeout=_TIMEOUT,
        linear_count=_LINEAR,
        exponential_count=_EXPONENTIAL,
        log=True,
    )
    return Plan(
        spec=spec,
        evs=frozenset(range(CONFIG.evs)),
        down_us=down_us,
        what="all T1 switches die",
    )


def _judge(plan: Plan, result: dict, history: History) -> list[Finding]:
    ends: dict[int, list[str]] = {}
    failed_us = []
    for time_us, _, qp, status in result["completed"]:
        ends.setdefault(qp, []).append(status)
        if status == "RETRY_EXCEEDED":
            failed_us.append(time_us)
    orderly = 0
    for statuses in ends.values():
        done = statuses.count("OK")
        expected = ["OK"] * done + ["RETRY_EXCEEDED"]
        expected += ["FLUSHED"] * (len(statuses) - done - 1)
        orderly += statuses == expected
    flushed = sum(statuses.count("FLUSHED") for statuses in ends.values())
    last = history.last_write(plan.evs)
    return [
        Finding(
            what="QPs that ended by their retry limit, and flushed the rest",
            value=orderly, least=plan.spec.qps, most=plan.spec.qps,
        ),
        Finding(what="work flushed as error completions", value=flushed, least=1),
        Finding(
            what="failure to the first QP's end",
            value=min(failed_us) - plan.down_us if failed_us else None,
            unit="us",
            least=_LEAST_US,
        ),
        Finding(
            what="failure to the last QP's end",
            value=max(failed_us) - plan.down_us if failed_us else None,
            unit="us",
            most=_MOST_US,
        ),
        Finding(what="last packet sent", value=last.time_us - plan.down_us, unit="us"),
        Finding(what="packets lost", value=len(history.losses)),
        Finding(
            what="slots still in use at the end", value=sum(result["occupied_slots"].values()),
            most=0,
        ),
    ]  # fmt: skip


ALL_PATHS_DEAD = Scenario(
    name="all-paths-dead",
    summary="All T1 switches die: the QPs try on, report their retry limit, and flush.",
    plan=_plan,
    judge=_judge,
    fails=True,
)
