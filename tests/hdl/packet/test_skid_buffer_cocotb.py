import pytest

from mrcnic.hdl.packet.beat import Beat
from mrcnic.hdl.packet.skid_buffer import SkidBuffer
from mrcnic.sim.bench.runner import SIMULATORS, find_simulator, run_bench


@pytest.mark.parametrize("octets", [8, 64])
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_skid_buffer(simulator, octets, tmp_path):
    if not find_simulator(simulator):
        pytest.skip(f"{simulator} is not installed")
    run_bench(
        SkidBuffer(Beat(octets)),
        "tb_skid_buffer",
        simulator=simulator,
        build_dir=tmp_path,
        env={"BEAT_OCTETS": str(octets)},
    )
