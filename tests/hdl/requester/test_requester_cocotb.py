import time

import pytest
from amaranth.back import verilog

from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.requester.requester import Requester
from mrcnic.sim.bench.runner import SIMULATORS, find_simulator, run_bench


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_requester(simulator, tmp_path):
    if not find_simulator(simulator):
        pytest.skip(f"{simulator} is not installed")
    preset = {"verilator": "sim", "icarus": "tiny"}[simulator]
    run_bench(
        Requester(PRESETS[preset]),
        "tb_requester",
        simulator=simulator,
        build_dir=tmp_path,
        env={"PRESET": preset},
    )


def test_conversion_is_quick():
    """A part of the 60 s that a whole NIC may take."""
    started = time.process_time()
    verilog.convert(Requester(PRESETS["100g"]), name="dut", emit_src=False, platform="generate")
    assert time.process_time() - started < 8  # measured: 3.4
