import pytest

from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.responder.responder import Responder
from mrcnic.sim.bench.convert import to_verilog
from mrcnic.sim.bench.runner import find_simulator, lint_design, run_bench


@pytest.mark.parametrize(("simulator", "counts"), [("verilator", "60 120"), ("icarus", "15 30")])
def test_responder(simulator, counts, tmp_path):
    if not find_simulator(simulator):
        pytest.skip(f"{simulator} is not installed")
    run_bench(
        Responder(PRESETS["sim"]),
        "tb_responder",
        simulator=simulator,
        build_dir=tmp_path,
        env={"PRESET": "sim", "COUNTS": counts},
    )


def test_verilog_of_100g_is_clean(tmp_path):
    if not find_simulator("verilator"):
        pytest.skip("verilator is not installed")
    source = tmp_path / "dut.v"
    source.write_text(to_verilog(Responder(PRESETS["100g"]), name="dut"))
    assert lint_design(source, top="dut") == ""
