import pytest
from command_line import refusal

from mrcnic.sim.cli import scenario
from mrcnic.sim.cli.options import parse_numbers
from mrcnic.sim.scenarios.catalogue import SCENARIOS


@pytest.fixture
def runs(monkeypatch):
    """Let scenarios end at once; return those that ran, and what the next ones miss."""
    ran, missed = [], {}

    def run_scenario(one, seed, pair, *, progress, pcap=None):
        ran.append((one.name, seed))
        wrong = missed.get((one.name, seed), [])
        return {"total_cycles": 1000, "findings": [], "problems": wrong}

    monkeypatch.setattr(scenario, "build_steps", lambda console, config: None)
    monkeypatch.setattr(scenario, "run_scenario", run_scenario)
    return ran, missed


def test_every_scenario_with_every_seed(run, runs):
    code, out, _ = run("sim", "scenarios", "--seeds", "1-2,5", "--jobs", "1")
    assert code == 0
    ran, _ = runs
    assert sorted(ran) == sorted((name, seed) for name in SCENARIOS for seed in (1, 2, 5))
    assert out.count("ok") == len(ran)


def test_a_run_that_misses_a_limit(run, runs):
    _, missed = runs
    missed["port-dies", 2] = ["a0: too late"]
    outcome = run("sim", "scenarios", "port-dies", "t1-reboot", "--seeds", "1-2")
    assert refusal(outcome, 1) == "1 of 4 runs failed"
    assert "a0: too late" in outcome[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scenarios", "nothing"], "there is no scenario nothing; the scenarios are path-dies,"),
        (["scenarios", "--seeds", "x"], "--seeds takes numbers and ranges such as 1-20,33, not x"),
        (["scenarios", "--seeds", "3-1"], "--seeds takes numbers and ranges"),
        (["scenarios", "--jobs", "0"], "--jobs"),
        (["port-dies", "--seed", "x"], "--seed"),
    ],
)
def test_called_wrongly(run, runs, arguments, message):
    assert message in refusal(run("sim", *arguments), 2)


def test_numbers():
    assert parse_numbers("0") == [0]
    assert parse_numbers("1-3,7,7-8") == [1, 2, 3, 7, 7, 8]


def test_scenarios_are_listed(run):
    code, out, _ = run("sim", "list")
    assert code == 0
    assert {line.split()[0] for line in out.splitlines()} >= {"scenarios", *SCENARIOS}


def test_a_plot_that_cannot_be_written_is_told_first(run, runs):
    outcome = run("sim", "port-dies", "--plot", "/dev/null/x.png")
    assert "cannot write" in refusal(outcome, 1)
    assert runs[0] == []
