"""Scenarios end to end, two of them; the others' logic is tested without a simulator."""

from dataclasses import asdict

import pytest

from mrcnic.sim.bench.build import build_pair
from mrcnic.sim.bench.runner import find_simulator
from mrcnic.sim.cli.scenario import run_scenario
from mrcnic.sim.report.scenario import scenario_problems
from mrcnic.sim.scenarios.catalogue import SCENARIOS
from mrcnic.sim.scenarios.scenario import CONFIG


@pytest.mark.parametrize("name", ["link-dies", "port-dies"])
def test_scenario(name):
    if not find_simulator("verilator"):
        pytest.skip("verilator is not installed")
    pair = build_pair(CONFIG, simulator="verilator")
    result = run_scenario(SCENARIOS[name], 1, pair, progress=lambda octets: None)
    assert scenario_problems(result) == []


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_a_plan_depends_on_its_seed_alone(scenario):
    plans = [scenario.planned(seed) for seed in range(20)]
    for plan in plans:
        plan.spec.check()
        assert plan.evs
        assert plan.spec.log
    assert asdict(scenario.planned(7).spec) == asdict(plans[7].spec)
    assert len({plan.down_us for plan in plans}) == 20
