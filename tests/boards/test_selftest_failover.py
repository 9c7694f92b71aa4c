"""The whole on-chip test in a simulator."""

import re

import pytest
from amaranth.back import verilog

from mrcnic.boards.nic_instance import MODULE
from mrcnic.boards.selftest.selftest import Selftest
from mrcnic.hdl.config import PRESETS
from mrcnic.sim.bench.build import nic_verilog
from mrcnic.sim.bench.runner import compile_design, find_simulator, run_design


def awake(text):
    """Have Icarus work out what depends on nothing that changes.

    Blocks of Amaranth's Verilog are sensitive to a register that changes as it is initialised,
    which Icarus does before it listens; here it changes once more.
    """
    return re.sub(
        r"^  reg (\\\$auto\$verilog_backend\S+)\s+= 0;",
        r"  reg \1 = 0; initial #0 \1 = 1;",
        text,
        flags=re.MULTILINE,
    )


@pytest.mark.skipif(not find_simulator("icarus"), reason="apt-get install iverilog")
def test_failover(tmp_path):
    # An EV for each T1: there is less to set up.
    config = PRESETS["tiny"].override(evs=4, profiles=1)
    sources = {
        "nic.v": nic_verilog(config, name=MODULE),
        "selftest.v": verilog.convert(Selftest(config), name="selftest", emit_src=False),
    }
    for name, text in sources.items():
        (tmp_path / name).write_text(awake(text))
    paths = [tmp_path / name for name in sources]
    compile_design(paths, top="selftest", simulator="icarus", build_dir=tmp_path)
    run_design("tb_selftest", top="selftest", simulator="icarus", build_dir=tmp_path, env={})
