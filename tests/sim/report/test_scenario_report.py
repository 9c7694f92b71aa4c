import io

import pytest
from rich.console import Console

from mrcnic.sim.report.scenario import (
    plot_scenario,
    scenario_problems,
    scenario_result,
    scenario_tables,
)
from mrcnic.sim.scenarios.scenario import CONFIG, Finding, Plan, Scenario
from mrcnic.sim.scenarios.transfer import TransferSpec

LOG = {
    "sent": [(9.0, "a0", "WRITE", 0, 1, 4, False, 4096, 8.7)],
    "arrived": [(12.0, "b0", "WRITE", 0, 1, 4, False, 4096, 12.0)],
    "lost": [],
    "ev_news": [(20.0, "a", 0, 4, "GOOD", "ASSUMED_BAD"), (40.0, "a", 0, 4, "ASSUMED_BAD", "GOOD")],
    "ev_samples": [(15.0, [["GOOD"] * 63 + ["SKIP"]])],
    "port_signs": [],
}

RESULT = {
    "finished": True,
    "failed": [],
    "sha256_sent": "5e",
    "sha256_received": "5e",
    "memory_as_modelled": True,
    "immediates_as_modelled": True,
    "scoreboard_faults": [],
    "malformed": [],
    "rest_untouched": True,
    "immediates_in_order": True,
    "shortfalls": [],
    "immediates_complete": True,
    "occupied_slots": {"a": 0, "b": 0},
    "underruns": 0,
    "qps": 1,
    "packets_per_plane": [1, 0],
    "resends": 0,
    "drops": 0,
    "goodput_gbps": 180.0,
    "simulated_us": 60.0,
    "total_cycles": 15_000,
    "counters": {"a": {"spray_ev_news_dropped": 0}},
    "series": {
        "bin_us": 5,
        "octets": [4096] * 12,
        "planes": [[1] * 12, [0] * 12],
        "resends": [0] * 12,
        "events": [{"time_us": 10.0, "what": "p0t10 down"}],
    },
    "log": LOG,
}


def outcome(*findings, fails=False, **changes):
    plan = Plan(
        spec=TransferSpec(config=CONFIG, size=1, registers=(("hold_off", 78),)),
        evs=frozenset({4}),
        down_us=10.0,
        up_us=30.0,
        what="p0t10 dies",
    )
    scenario = Scenario(
        name="some-dies",
        summary="",
        plan=lambda rng, seed: plan,
        judge=lambda plan, result, history: list(findings),
        fails=fails,
    )
    return scenario_result(scenario, plan, {**RESULT, **changes})


def printed(result):
    console = Console(width=80, file=io.StringIO())
    for table in scenario_tables(result):
        console.print(table)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def test_a_verdict_for_each_limit():
    findings = (
        Finding(what="soon enough", value=12.34, unit="us", most=20),
        Finding(what="too late", value=21.0, unit="us", most=20),
        Finding(what="too few", value=2, least=3),
        Finding(what="never", value=None, least=1),
        Finding(what="without limit", value=5),
        Finding(what="exactly", value=1, least=1, most=1),
        Finding(what="between", value=1, least=1, most=2),
    )
    result = outcome(*findings)
    assert scenario_problems(result) == [
        "too late: 21.0 us, <= 20 us",
        "too few: 2, >= 3",
        "never: never, >= 1",
    ]
    lines = printed(result)
    for line in (
        "some-dies, seed 0: p0t10 dies at 10.0 us",
        "soon enough 12.3 us <= 20 us ok",
        "too late 21.0 us <= 20 us MISSED",
        "without limit 5",
        "exactly 1 = 1 ok",
        "between 1 1 to 2 ok",
        "packets in plane 0 1",
    ):
        assert line in lines, line


def test_timeline_tells_what_is_out_of_use():
    lines = printed(outcome())
    for line in ("10.0 0 0 p0t10 dies", "20.0 1 0", "30.0 1 0 well again", "40.0 0 0"):
        assert line in lines, line


@pytest.mark.parametrize(
    ("changes", "fails", "problem"),
    [
        ({"failed": ["RETRY_EXCEEDED"]}, False, "messages failed: RETRY_EXCEEDED"),
        ({"failed": ["RETRY_EXCEEDED"], "sha256_received": ""}, True, None),
        ({"memory_as_modelled": False}, True, "memory differs from what the reference model wrote"),
        ({"rest_untouched": False}, True, "octets outside of the targets were overwritten"),
        ({"counters": {"a": {"spray_ev_news_dropped": 2}}}, False, "2 news of EVs were dropped"),
    ],
)
def test_a_transfer_that_is_wrong(changes, fails, problem):
    assert scenario_problems(outcome(fails=fails, **changes)) == ([problem] if problem else [])


def test_plot():
    file = io.BytesIO()
    plot_scenario(outcome(), file)
    assert file.getvalue().startswith(b"\x89PNG\r\n\x1a\n")
