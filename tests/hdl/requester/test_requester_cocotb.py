import pytest

from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.requester.requester import Requester
from mrcnic.sim.bench.runner import SIMULATORS, find_simulator, run_bench


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_requester(simulator, tmp_path):
    if not find_simulator(simulator):
        pytest.skip(f"{simulator} is not installed")
    run_bench(
        Requester(PRESETS["sim"]),
        "tb_requester",
        simulator=simulator,
        build_dir=tmp_path,
        env={"PRESET": "sim"},
    )
