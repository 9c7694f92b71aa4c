import shutil
import subprocess
import time

import pytest
from amaranth.back import verilog

from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.packet.deep_memory import with_deep_memory
from mrcnic.hdl.responder.responder import Responder
from mrcnic.sim.bench import runner
from mrcnic.sim.bench.runner import find_simulator, run_bench


@pytest.mark.parametrize(("simulator", "counts"), [("verilator", "60 120"), ("icarus", "15 30")])
def test_responder(simulator, counts, tmp_path):
    if not find_simulator(simulator):
        pytest.skip(f"{simulator} is not installed")
    run_bench(
        Responder(PRESETS["tiny"]),
        "tb_responder",
        simulator=simulator,
        build_dir=tmp_path,
        env={"PRESET": "tiny", "COUNTS": counts},
    )


def test_verilog_of_100g_is_clean(tmp_path):
    if not find_simulator("verilator"):
        pytest.skip("verilator is not installed")
    start = time.process_time()
    converted = verilog.convert(
        Responder(PRESETS["100g"]), name="dut", emit_src=False, platform="generate"
    )
    assert time.process_time() - start < 10
    source = tmp_path / "dut.v"
    source.write_text(with_deep_memory(converted))
    run = subprocess.run(
        [shutil.which("verilator"), "--lint-only", "-Wall", runner._WAIVERS, source],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
