"""Figures of a sweep from what its transfers took, and their limits."""

import json

import pytest
from click.testing import CliRunner

from mrcnic.sim.bench.build import Build
from mrcnic.sim.cli import progress
from mrcnic.sim.cli.main import cli
from mrcnic.sim.report import loss_sweep as report
from mrcnic.sim.report.loss_sweep import loss_problems, loss_result
from mrcnic.sim.scenarios import loss_sweep
from mrcnic.sim.scenarios.loss_sweep import FRAME_HEADERS, Point, ideal_us


def point(drop, *, seed=0, lost=10, resends=11, us=105.0, problems=()):
    return Point(
        drop=drop, seed=seed, packets=1000, lost=lost, resends=resends, completion_us=us,
        problems=list(problems),
    )  # fmt: skip


def result_of(*points):
    return loss_result(points, ideal_us=100.0, octets=1 << 20, preset="sim")


def test_ideal_is_the_wire_and_one_round_trip():
    # 256 frames of 4,262 octets with what surrounds them, on two wires of 100 Gb/s.
    assert FRAME_HEADERS + 24 == 166
    assert ideal_us(1 << 20, preset="sim") == pytest.approx(256 * 4262 * 8 / 200e3 + 8)
    # A lane of 8 octets per cycle is slower than its wire.
    assert ideal_us(1024, preset="tiny") == pytest.approx((1024 + 166) * 8 / 16e3 + 8)


def test_means_over_seeds():
    low, high = result_of(
        point(0.01, us=104, lost=10, resends=12), point(0.01, seed=1, us=110, lost=30, resends=36),
        point(0.0, us=101, lost=0, resends=0),
    )["rows"]  # fmt: skip
    assert (low["drop"], low["ratio"], low["resends_per_loss"]) == (0.0, 1.01, None)
    assert high["ratio"] == pytest.approx(1.07)
    assert high["resends_per_loss"] == pytest.approx(1.2)
    assert high["slowest_us"] == 110
    assert (high["seeds"], high["lost"]) == ([0, 1], 40)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (point(0.001, us=105.2), "completion at 0.1% loss must be at most 1.05"),
        (point(0.01, us=110.1), "completion at 1.0% loss must be at most 1.10"),
        (point(0.01, resends=13), "resends per loss at 1.0% must be at most 1.2, not 1.30"),
        (point(0.003, problems=["messages failed"]), "messages failed"),
    ],
)
def test_each_limit(bad, sentence):
    (problem,) = loss_problems(result_of(bad))
    assert problem.startswith(sentence)


def test_within_the_limits():
    assert loss_problems(result_of(point(0.001, us=105), point(0.01, us=110, resends=12))) == []
    assert loss_problems(result_of(point(0.003, us=200, resends=50), point(0, lost=0))) == []


@pytest.fixture
def sweep(monkeypatch, tmp_path):
    """Let transfers take as long as is given for their rate."""

    def install(times):
        def simulate(build, bench, spec, *, progress, seed, stop):
            lost = round(1000 * spec["drop"])
            return {"packets": 1000, "lost_writes": lost, "resends": lost,
                    "simulated_us": times[spec["drop"]]}  # fmt: skip

        pair = Build(tmp_path, "verilator", fresh=False)
        (tmp_path / "events.json").write_text("[]")
        monkeypatch.setattr(progress, "build", lambda *_, **__: pair)
        monkeypatch.setattr(loss_sweep, "simulate", simulate)
        monkeypatch.setattr(loss_sweep, "problems", lambda result: [])

    return install


def invoke(*arguments):
    return CliRunner().invoke(cli, ["sim", "loss-sweep", "--size", "1MiB", *arguments])


def test_command_prints_draws_and_writes(sweep, tmp_path):
    ideal = ideal_us(1 << 20, preset="sim")
    sweep({0.0: ideal, 0.001: 1.04 * ideal, 0.01: 1.2 * ideal})
    plot, figures = tmp_path / "p.png", tmp_path / "f.json"
    drops = ("--drop", "0", "--drop", "0.001", "--drop", "0.01")
    run = invoke(*drops, "--plot", str(plot), "--json", str(figures))
    assert run.exit_code == 1
    assert "completion at 1.0% loss must be at most 1.10 of the ideal, not 1.200" in run.stderr
    lines = [line.split() for line in run.stdout.splitlines()]
    times = [f"{1.04 * ideal:.1f}", f"{1.2 * ideal:.1f}"]
    assert ["0.1%", "2,000", "2", "2", "1.00", times[0], "1.040", "1.05", "met"] in lines
    assert ["1.0%", "2,000", "20", "20", "1.00", times[1], "1.200", "1.10", "missed"] in lines
    assert plot.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert [row["drop"] for row in json.loads(figures.read_text())["rows"]] == [0, 0.001, 0.01]

    assert invoke("--drop", "0.001").exit_code == 0
    assert report.LIMITS.keys() <= set(loss_sweep.RATES)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--drop", "1"], "--drop must be from 0 to below 1, not 1.0"),
        (["--seeds", "0"], "--seeds must be at least 1, not 0"),
        (["--jobs", "0"], "--jobs must be at least 1, not 0"),
        (["--preset", "huge"], "there is no preset huge"),
        (["--size", "2GiB"], "--size must be at most 1073741824 octets"),
    ],
)
def test_wrong_usage(arguments, sentence):
    run = invoke(*arguments)
    assert run.exit_code == 2
    assert sentence in run.stderr
