"""Both edges in two simulators, between clocks that have nothing to do with each other."""

import pytest
from line_edges import LineEdges

from mrcnic.sim.bench.runner import SIMULATORS, find_simulator, run_bench


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_line_edges(simulator, tmp_path):
    if not find_simulator(simulator):
        pytest.skip(f"{simulator} is not installed")
    run_bench(
        LineEdges(8 if simulator == "icarus" else 64),
        "tb_line",
        simulator=simulator,
        build_dir=tmp_path,
    )
