"""Transfers for tests: what is asked for, and what came of it."""

from dataclasses import asdict

import pytest

from mrcnic.hdl.config import PRESETS
from mrcnic.sim.bench.build import build_pair
from mrcnic.sim.bench.runner import find_simulator
from mrcnic.sim.report.transfer import problems
from mrcnic.sim.scenarios.run import simulate
from mrcnic.sim.scenarios.transfer import TransferSpec

__all__ = ["count", "run", "run_to_the_end"]

SEED = 1


def run(preset="sim", simulator="verilator", **fields):
    """Return the result of a transfer in which nothing went wrong for good."""
    result = run_to_the_end(preset, simulator, **fields)
    assert problems(result) == []
    return result


def run_to_the_end(preset="sim", simulator="verilator", *, max_cycles=None, **fields):
    """Return the result of a transfer whose messages have all ended, well or not."""
    if not find_simulator(simulator):
        pytest.skip(f"{simulator} is not installed")
    spec = TransferSpec(config=PRESETS[preset], seed=SEED, **fields)
    spec.check()
    build = build_pair(spec.config, simulator=simulator)
    limits = {"max_cycles": max_cycles or spec.max_cycles}
    result = simulate(
        build,
        "mrcnic.sim.bench.tb_transfer",
        {**asdict(spec), **limits, "event_names": build.event_names},
        progress=lambda news: None,
        seed=SEED,
    )
    assert result["finished"]
    assert result["memory_as_modelled"]
    assert not any(result["occupied_slots"].values())
    return result


def count(result, side, name):
    """Return a counter, over all ports if it is one of a port."""
    return sum(
        value
        for counter, value in result["counters"][side].items()
        if counter == name or counter.split("_", 1)[-1] == name
    )
