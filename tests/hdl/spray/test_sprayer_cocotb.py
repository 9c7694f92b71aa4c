import pytest
from spray_bench import SMALL

from mrcnic.hdl.spray.sprayer import Sprayer
from mrcnic.sim.bench.runner import SIMULATORS, find_simulator, run_bench


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_sprayer(simulator, tmp_path):
    if not find_simulator(simulator):
        pytest.skip(f"{simulator} is not installed")
    run_bench(Sprayer(SMALL), "tb_sprayer", simulator=simulator, build_dir=tmp_path)
