"""Every board's pins are those of its table, and a preset fits or is refused."""

import json

import pytest
from click.testing import CliRunner

from mrcnic.boards.catalogue import BOARDS, Flow
from mrcnic.boards.fit import fit_problems
from mrcnic.boards.pin_table import Pin, pin_problems, platform_pins, table_pins
from mrcnic.boards.resources import qsfp_resource
from mrcnic.sim.cli.main import cli

NAMES = [
    "ecpix5", "versa_ecp5_5g", "u50", "u55c", "u200", "u250", "vcu118", "fb2cg", "rk_xcku5p_f",
    "ax7325b", "kc705",
]  # fmt: skip


def run(*arguments):
    return CliRunner().invoke(cli, ["board", *arguments])


def test_every_board_is_there():
    assert list(BOARDS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_check(name):
    result = run("check", name)
    assert result.exit_code == 0, result.output
    assert "pins as in the table" in result.output


@pytest.mark.parametrize("name", NAMES)
def test_part_is_that_of_the_platform(name):
    board = BOARDS[name]
    platform = board.platform()
    parts = f"{platform.device}-{platform.package}-{platform.speed}"
    if board.flow is Flow.OPEN:
        parts = f"{platform.device}-{platform.speed}{platform.package}"
    assert parts.replace("-", "") == board.part.replace("-", "")


@pytest.mark.parametrize("name", NAMES)
def test_cages_have_their_resources(name):
    platform = BOARDS[name].platform()
    for number, cage in enumerate(platform.cages):
        assert platform.lookup("qsfp", number)
        clock = platform.lookup("qsfp_refclk", number).clock
        assert clock.frequency == cage.refclk_hz
        # Multiplication from reference clock to half the line rate: whole, or whole and a half.
        assert (2 * 12_890_625_000 / cage.refclk_hz) % 1 == 0
    if platform.cages:
        assert platform.lookup("pcie_refclk", platform.pcie.refclk).clock.frequency == 100e6
        assert len({cage.cmac for cage in platform.cages}) == len(platform.cages)


def test_pins_of_the_first_lane_literally():
    # Two boards, by hand from the constraint files.
    assert table_pins("u50")["qsfp_0__rx__p[0]"] == Pin("J45", "")
    assert table_pins("vcu118")["qsfp_1__tx__n[3]"] == Pin("H6", "")
    assert table_pins("u50")["hbm_cattrip_0__io"] == Pin("J18", "LVCMOS18")


def test_problems_are_found():
    pins = platform_pins(BOARDS["kc705"].platform())
    moved = [("led_0__io", Pin("A1", "LVCMOS15")), *(p for p in pins if p[0] != "led_0__io")]
    assert pin_problems("kc705", moved) == [
        "port led_0__io is on A1 (LVCMOS15) and in the table on AB8 (LVCMOS15)"
    ]
    twice = [*moved[1:], ("led_0__io", moved[1][1])]
    assert any(f"pin {moved[1][1].location} is that of" in p for p in pin_problems("kc705", twice))
    assert "port led_1__io has 2 locations" in pin_problems(
        "kc705", [*pins, ("led_1__io", Pin("A1", "LVCMOS15"))]
    )
    assert pin_problems("kc705", pins[1:]) == [
        f"port {pins[0][0]} of the table is not in the platform"
    ]
    assert pin_problems("kc705", [*pins, ("new", Pin("A1", ""))]) == [
        "port new of the platform is not in the table"
    ]


def test_cage_has_no_other_pins():
    lanes = {"rx_p": "A1", "rx_n": "A2", "tx_p": "A3", "tx_n": "A4"}
    with pytest.raises(TypeError, match=r"^a QSFP cage has .*lpmode, scl, sda, and no reset$"):
        qsfp_resource(0, **lanes, reset="A5")


@pytest.mark.parametrize(
    ("board", "top", "preset", "problem"),
    [
        ("u50", "nic", "2x100g", "2x100g has 2 ports, and u50 1"),
        ("u50", "nic", "tiny", "a 100G MAC takes 64 octets a cycle, and tiny has 8"),
        ("kc705", "nic", "100g", "kc705 has no cage with a hard 100G MAC: build --top selftest"),
        ("u50", "selftest", "100g", "selftest is made of NICs of the preset tiny, not of 100g"),
        (
            "rk_xcku5p_f",
            "nic",
            "2x100g",
            "2x100g has 2 ports, and rk_xcku5p_f 1",
        ),
    ],
)
def test_what_does_not_fit(board, top, preset, problem):
    result = run("check", board, "--top", top, "--preset", preset)
    assert (result.exit_code, result.output) == (1, f"Error: {problem}\n")


def test_short_resource_is_named():
    found = fit_problems(BOARDS["rk_xcku5p_f"], cages=2, top="nic", preset="2x100g")
    assert found == [
        "2x100g does not fit xcku5p-ffvb676-2-e: nic takes up to 620 block RAMs, and there are 480",
        "2x100g does not fit xcku5p-ffvb676-2-e: nic takes up to 128 ultra RAMs, and there are 64",
    ]


def test_list():
    rows = json.loads(run("list", "--json").output)
    assert [row["board"] for row in rows] == NAMES
    assert rows[2]["cages"] == ["CMACE4_X0Y4"]
    assert rows[8]["pcie"] == "Gen3 x4, 32 Gb/s"
    assert "u55c" in run("list").output


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["check", "u51"], "there is no board u51; the boards are ecpix5, "),
        (["check", "u50", "--top", "x"], "there is no top x; the tops are selftest and nic"),
        (["check", "u50", "--preset", "x"], "there is no preset x; the presets are tiny, "),
    ],
)
def test_wrong_usage(arguments, problem):
    result = run(*arguments)
    assert result.exit_code == 2
    assert problem in result.output
