"""Campaigns as users run them: ten runs, some of them on a cluster, and one that is interrupted."""

import json
import signal

import pytest
from click.testing import CliRunner
from command_line import Command
from distributed import LocalCluster

from mrcnic.sim.bench.runner import find_simulator
from mrcnic.sim.cli.main import cli


@pytest.fixture(autouse=True)
def _verilator():
    if not find_simulator("verilator"):
        pytest.skip("verilator is not installed")


def campaign(tmp_path, *arguments):
    figures = tmp_path / "f.json"
    run = CliRunner().invoke(cli, ["sim", "campaign", *arguments, "--json", str(figures)])
    assert run.exit_code == 0, run.output
    reports = json.loads(figures.read_text())["runs"]
    assert [report["number"] for report in reports] == list(range(len(reports)))
    assert not any(report["problems"] for report in reports)
    return reports


def test_six_runs_pass(tmp_path, seed):
    reports = campaign(tmp_path, "--runs", "6", "--jobs", "1", "--seed", str(seed))
    assert [report["first"] for report in reports] == [0] * 5 + [5]
    assert sum(report["figures"]["packets"] for report in reports) > 6


def test_four_runs_pass_on_a_cluster_of_two_workers(tmp_path, seed):
    with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
        arguments = ("--runs", "4", "--seed", str(seed + 1))
        reports = campaign(tmp_path, *arguments, "--scheduler", cluster.scheduler_address)
    assert [report["first"] for report in reports] == [0, 0, 2, 2]


def test_interrupted_campaign_leaves_no_process(tmp_path):
    arguments = ("sim", "campaign", "--runs", "8", "--jobs", "2", "--seed", "1")
    with Command(tmp_path, *arguments, "--json", "f.json") as command:
        command.wait_for(lambda: sum("tb_campaign" in c for c in command.living().values()) >= 2)
        command.process.send_signal(signal.SIGINT)
        code, _, err = command.end()
        assert command.all_end(), command.living()
    assert (code, err) == (130, "mrcnic: interrupted\n")
    assert list(tmp_path.iterdir()) == []
