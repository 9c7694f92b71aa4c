"""The whole on-chip test in a simulator."""

import pytest
from amaranth.back import verilog

from mrcnic.boards.nic_instance import MODULE
from mrcnic.boards.selftest.selftest import Selftest
from mrcnic.hdl.config import PRESETS
from mrcnic.sim.bench.build import nic_verilog
from mrcnic.sim.bench.runner import compile_design, find_simulator, run_design


@pytest.mark.skipif(not find_simulator("icarus"), reason="apt-get install iverilog")
def test_failover(tmp_path):
    # An EV for each T1: there is less to set up.
    config = PRESETS["tiny"].override(evs=4, profiles=1)
    sources = {
        "nic.v": nic_verilog(config, name=MODULE),
        "selftest.v": verilog.convert(Selftest(config), name="selftest", emit_src=False),
    }
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    paths = [tmp_path / name for name in sources]
    compile_design(paths, top="selftest", simulator="icarus", build_dir=tmp_path)
    run_design("tb_selftest", top="selftest", simulator="icarus", build_dir=tmp_path, env={})
