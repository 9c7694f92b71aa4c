import pytest
from host_room import HostRoom

from mrcnic.hdl.config import PRESETS
from mrcnic.sim.bench.runner import find_simulator, run_bench


@pytest.mark.parametrize(
    ("simulator", "preset"), [("verilator", "sim"), ("icarus", "tiny"), ("icarus", "sim")]
)
def test_host(simulator, preset, tmp_path):
    if not find_simulator(simulator):
        pytest.skip(f"{simulator} is not installed")
    run_bench(
        HostRoom(PRESETS[preset]),
        "tb_host",
        simulator=simulator,
        build_dir=tmp_path,
        env={"PRESET": preset},
    )
