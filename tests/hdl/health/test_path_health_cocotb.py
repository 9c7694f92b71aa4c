import pytest
from prober_bench import SMALL

from mrcnic.hdl.health.room import PathHealth
from mrcnic.sim.bench.runner import SIMULATORS, find_simulator, run_bench


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_path_health(simulator, tmp_path):
    if not find_simulator(simulator):
        pytest.skip(f"{simulator} is not installed")
    run_bench(PathHealth(SMALL), "tb_path_health", simulator=simulator, build_dir=tmp_path)
