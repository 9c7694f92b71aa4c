import pytest
from received import config_of

from mrcnic.hdl.ingress.lane import IngressLane
from mrcnic.sim.bench.runner import SIMULATORS, find_simulator, run_bench

#: Icarus takes a second for each dozen cycles.
FRAMES = {"verilator": 80, "icarus": 8}


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ingress_lane(simulator, tmp_path):
    if not find_simulator(simulator):
        pytest.skip(f"{simulator} is not installed")
    run_bench(
        IngressLane(config_of(64)),
        "tb_ingress_lane",
        simulator=simulator,
        build_dir=tmp_path,
        env={"BEAT_OCTETS": "64", "FRAMES": str(FRAMES[simulator])},
    )
