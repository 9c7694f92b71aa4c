import pytest

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.egress.lane import EgressLane
from mrcnic.sim.bench.runner import SIMULATORS, find_simulator, run_bench

#: Icarus is slow with wide beats.
PACKETS = {"verilator": 150, "icarus": 4}


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_egress_lane(simulator, tmp_path):
    if not find_simulator(simulator):
        pytest.skip(f"{simulator} is not installed")
    run_bench(
        EgressLane(NicConfig(lanes=1, mtu=256)),
        "tb_egress_lane",
        simulator=simulator,
        build_dir=tmp_path,
        env={"PACKETS": str(PACKETS[simulator])},
    )
