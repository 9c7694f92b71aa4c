import json

import pytest
from click.testing import CliRunner

from mrcnic.sim.cli import bench
from mrcnic.sim.cli.main import cli
from mrcnic.sim.measure.datapath import Figure
from mrcnic.sim.measure.engine import EngineFigure
from mrcnic.sim.measure.netlist import Area, Depth
from mrcnic.sim.measure.synthesis import Synthesis


def run(*arguments):
    return CliRunner().invoke(cli, ["bench", *arguments])


def test_an_unknown_block_is_told_with_those_there_are():
    result = run("area", "egress.lane", "nothing", "--preset", "tiny")
    assert result.exit_code == 2
    assert "there is no block nothing; the blocks are requester, " in result.output
    assert "egress.srv6_inserter" in result.output


@pytest.mark.parametrize("command", ["area", "datapath", "engine"])
def test_an_unknown_preset(command):
    result = run(command, "--preset", "huge")
    assert result.exit_code == 2
    assert "there is no preset huge" in result.output


@pytest.fixture
def areas(monkeypatch):
    """Let each block have six levels, but for those in the list that comes back."""
    deep = []

    def measure(names, config, *, progress):
        return {
            name: Synthesis(
                Area(luts=100, flip_flops=10, block_rams=0.5),
                Depth(9 if name in deep else 5, 2, 0, "one", "other.D"),
            )
            for name in names
        }

    monkeypatch.setattr(bench, "measure_areas", measure)
    monkeypatch.setattr(bench, "check_yosys", lambda: "0.0")
    return deep


def test_area_of_all_blocks_and_their_sum(areas, tmp_path):
    """What there is per port counts as often; parts of rooms are not counted again."""
    file = tmp_path / "area.json"
    result = run("area", "--preset", "2x100g", "--json", str(file))
    assert result.exit_code == 0, result.output
    found = json.loads(file.read_text())
    assert found["blocks"]["egress.lane"]["times"] == 2
    assert found["blocks"]["egress.srv6_inserter"]["times"] == 0
    times = sum(block["times"] for block in found["blocks"].values())
    assert found["whole"]["luts"] == 100 * times
    assert "2 x egress.lane" in result.output
    assert "sum of rooms" in result.output
    assert "5 +2c" in result.output


def test_a_block_that_is_too_deep(areas):
    areas.append("health.port_monitor")
    result = run("area", "health.port_monitor", "--preset", "tiny")
    assert result.exit_code == 1
    assert "health.port_monitor has 9 LUT levels, more than 6" in result.output
    assert "sum of rooms" not in result.output


def test_datapath_ends_with_1_if_a_figure_misses(monkeypatch, tmp_path):
    file = tmp_path / "datapath.json"
    figures = [Figure("insert", "SRv6", 122, 2, 3, 2.0)]
    monkeypatch.setattr(bench, "measure_datapath", lambda config, *, progress: figures)
    result = run("datapath", "--json", str(file))
    assert result.exit_code == 0, result.output
    assert json.loads(file.read_text())["figures"][0]["rates"][0]["mpps"] == 125
    figures.append(Figure("parse", "SRv6", 122, 2, 7, 2.0))
    result = run("datapath")
    assert result.exit_code == 1
    assert "parse, SRv6, 122 octets: 7 cycles, more than 6" in result.output


def test_engine_with_the_area_of_its_rooms(areas, monkeypatch, tmp_path):
    file = tmp_path / "engine.json"
    figures = [EngineFigure("pick", 1, 7, 3.0)]
    monkeypatch.setattr(bench, "measure_engine", lambda config, *, progress: figures)
    result = run("engine", "--json", str(file))
    assert result.exit_code == 0, result.output
    found = json.loads(file.read_text())
    assert list(found["areas"]["blocks"]) == ["spray.sprayer", "health.room", "health.port_monitor"]
    areas.append("spray.sprayer")
    figures.append(EngineFigure("pick", 8, 7, 1.5))
    result = run("engine")
    assert result.exit_code == 1
    assert "pick, 8 QPs: 1.50 cycles each, more than 1" in result.output
    assert "spray.sprayer has 9 LUT levels" in result.output
    result = run("engine", "--no-area")
    assert "spray.sprayer" not in result.output
