"""What counts as wrong in a run, and how the command tells."""

import json

import pytest
from click.testing import CliRunner

from mrcnic.sim.bench.build import Build
from mrcnic.sim.cli import progress
from mrcnic.sim.cli.main import cli
from mrcnic.sim.report.campaign import run_problems
from mrcnic.sim.scenarios import campaign

GOOD = {
    "finished": True,
    "qps": 2,
    "messages": 4,
    "octets": 100,
    "packets": 4,
    "resends": 0,
    "drops": 0,
    "total_cycles": 10,
    "statuses": ["OK"] * 4,
    "failed": [],
    "wrong_messages": [],
    "memory_as_modelled": True,
    "immediates_as_modelled": True,
    "immediates_complete": True,
    "immediates_in_order": True,
    "rest_untouched": True,
    "scoreboard_faults": [],
    "malformed": [],
    "shortfalls": [],
    "occupied_slots": {"a": 0, "b": 0},
    "underruns": 0,
    "verdicts": {"NEW": 4},
    "counters": {"a": {}, "b": {"port0_rx_payload_written": 3, "port1_rx_payload_written": 1}},
}


def judged(change, *, spoiled=(), is_cut_off=False, renewed=()):
    return run_problems(
        {**GOOD, **change}, spoiled=dict(spoiled), is_cut_off=is_cut_off, renewed=set(renewed)
    )


def test_nothing_wrong():
    assert judged({}) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"finished": False}, "not every message was completed in time"),
        ({"wrong_messages": [2]}, "messages [2] are complete and differ"),
        ({"verdicts": {"NEW": 3}}, "4 payloads are written where 3 packets are new"),
        ({"verdicts": {"NEW": 5}}, "4 payloads are written where 5 packets are new"),
        ({"statuses": ["OK", "RETRY_EXCEEDED", "OK", "FLUSHED"]}, "QP 1 ends its messages with"),
        ({"statuses": ["OK", "FLUSHED", "OK", "OK"]}, "QP 1 ends its messages with"),
        ({"shortfalls": ["QP 0x1000 sends 3 of 9"]}, "QP 0x1000 sends 3 of 9"),
        ({"counters": {**GOOD["counters"], "a": {"requester_ack_never_sent": 1}}}, "a counts 1"),
    ],
)
def test_each_problem_is_told(change, sentence):
    (problem,) = judged(change)
    assert problem.startswith(sentence)


@pytest.mark.parametrize(
    ("statuses", "circumstances", "explained"),
    [
        (["OK", "RETRY_EXCEEDED", "OK", "FLUSHED"], {"is_cut_off": True}, True),
        (["OK", "OK", "OK", "RETRY_EXCEEDED"], {"is_cut_off": True}, True),
        (["OK", "RETRY_EXCEEDED", "OK", "OK"], {"is_cut_off": True}, False),
        (["OK", "REMOTE_ACCESS", "OK", "FLUSHED"], {"spoiled": [(3, "rkey")]}, True),
        (["OK", "OK", "OK", "OK"], {"spoiled": [(3, "rkey")]}, False),
        (["REMOTE_ACCESS", "OK", "FLUSHED", "OK"], {"spoiled": [(3, "address")]}, False),
        (["OK", "FLUSHED", "OK", "OK"], {"renewed": [1]}, True),
        (["OK", "FLUSHED", "OK", "OK"], {"renewed": [0]}, False),
        (["OK", "RETRY_EXCEEDED", "OK", "OK"], {"renewed": [1]}, False),
        (["OK", "OK", "OK", "REFUSED"], {"spoiled": [(3, "qp")]}, True),
        (["OK", "REFUSED", "OK", "OK"], {"spoiled": [(3, "qp")]}, False),
    ],
)
def test_failures_must_be_explained(statuses, circumstances, explained):
    failed = sorted(set(statuses) - {"OK"})
    # A message that failed may have been written in part.
    change = {"statuses": statuses, "failed": failed, "verdicts": {"NEW": 5}}
    if failed:
        assert bool(judged(change, **circumstances)) is not explained
    else:
        assert judged({"statuses": statuses}, **circumstances)


@pytest.fixture
def simulated(monkeypatch, tmp_path):
    """Let runs be done by a function of their number, which returns the news or dies."""

    def install(outcome):
        def simulate(build, bench, spec, *, progress, seed, stop):
            for number, one in spec["items"]:
                progress({"run": number, **outcome(number, one)})

        (tmp_path / "events.json").write_text("[]")
        pair = Build(tmp_path, "verilator", fresh=False)
        for module in (campaign, progress):
            monkeypatch.setattr(module, "build", lambda *_, **__: pair)
        monkeypatch.setattr(campaign, "simulate", simulate)

    return install


def invoke(*arguments):
    return CliRunner().invoke(cli, ["sim", "campaign", *arguments])


def test_a_failure_tells_how_to_have_it_again(simulated, tmp_path):
    def outcome(number, spec):
        return {"outcome": {**GOOD, "rest_untouched": number != 8}}

    simulated(outcome)
    file = tmp_path / "f.json"
    seed = "2"
    run = invoke("--runs", "12", "--first", "0", "--seed", seed, "--jobs", "1", "--json", str(file))
    reports = {report["number"]: report for report in json.loads(file.read_text())["runs"]}
    assert sorted(reports) == list(range(12))
    wrong = [text for text in reports[8]["problems"] if "outside of the targets" in text]
    assert len(wrong) == 1
    assert run.exit_code == 1
    assert "run 8 failed: " in run.stdout
    assert (
        f"mrcnic sim campaign --preset sim --seed {seed} --first 5 --runs 4 --jobs 1" in run.stdout
    )
    assert "of 12 runs failed" in run.stderr


def test_a_run_that_kills_the_simulator_is_one_failure(simulated, tmp_path):
    def outcome(number, spec):
        if number == 1:
            raise RuntimeError("the process to simulate ended early: KilledError")
        return {"broken": f"run {number}"}

    simulated(outcome)
    file = tmp_path / "f.json"
    invoke("--runs", "4", "--seed", "1", "--jobs", "1", "--json", str(file))
    reports = json.loads(file.read_text())["runs"]
    assert [(r["number"], r["first"]) for r in reports] == [(0, 0), (1, 0), (2, 2), (3, 2)]
    assert reports[1]["problems"] == ["the process to simulate ended early: KilledError"]
    assert "run 2" in reports[2]["problems"][0]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--runs", "0"], "--runs must be at least 1, not 0"),
        (["--jobs", "0"], "--jobs must be at least 1, not 0"),
        (["--first", "-1"], "--first must be at least 0, not -1"),
        (["--preset", "huge"], "there is no preset huge; the presets are tiny, sim, "),
    ],
)
def test_wrong_usage(arguments, sentence):
    run = invoke(*arguments)
    assert run.exit_code == 2
    assert sentence in run.stderr


def test_no_scheduler_is_one_line(simulated):
    simulated(lambda number, spec: {"outcome": GOOD})
    run = invoke("--runs", "1", "--scheduler", "nowhere")
    assert run.exit_code == 1
    assert "there is no scheduler at nowhere" in run.stderr
