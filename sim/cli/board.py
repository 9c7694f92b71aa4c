"""``mrcnic board``: what boards there are, their bitstreams, and loading them."""

import json
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from mrcnic.boards.bitstream import BitstreamError, check_bitstream
from mrcnic.boards.catalogue import BOARDS, Board, Flow
from mrcnic.boards.fit import TOPS, fit_problems
from mrcnic.boards.loader import LoaderError, check_idcode, load
from mrcnic.hdl.config import PRESETS

from .output import whole_file

__all__ = ["board"]


class _BoardName(click.ParamType):
    name = "board"

    def convert(self, value, param, ctx):
        if value not in BOARDS:
            self.fail(f"there is no board {value}; the boards are {', '.join(BOARDS)}")
        return BOARDS[value]

    def fail(self, message, param=None, ctx=None):
        raise click.UsageError(message)


_BOARD = click.argument("board", metavar="BOARD", type=_BoardName())


def _platform(chosen: Board):
    try:
        return chosen.platform()
    except RuntimeError as error:
        raise click.ClickException(str(error)) from None


@click.group(epilog="Example: mrcnic board build ecpix5 --top selftest")
def board():
    """Boards: list, check, build, program."""


@board.command("list", epilog="Example: mrcnic board list --json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def list_boards(as_json):
    """Show every board: part, cages, what makes its bitstream, what of it is verified."""
    rows = [_row(each) for each in BOARDS.values()]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("board", "part", "100G", "PCIe", "made by", "verified without a board"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(
            row["board"],
            row["part"],
            str(len(row["cages"])),
            row["pcie"],
            f"{row['flow']} {row['licence']}".strip(),
            row["verified"],
        )
    Console().print(table)


def _row(chosen: Board) -> dict:
    platform = _platform(chosen)
    pcie = platform.pcie
    return {
        "board": chosen.name,
        "title": chosen.title,
        "part": chosen.part,
        "cages": [cage.cmac for cage in platform.cages],
        "pcie": f"Gen{pcie.generation} x{pcie.lanes}, {pcie.gbps:.0f} Gb/s" if pcie else "",
        "flow": chosen.flow.value,
        "licence": chosen.licence,
        "openfpgaloader": chosen.loader is not None,
        "verified": chosen.verified,
    }


def _check_top(top):
    if top not in TOPS:
        raise click.UsageError(f"there is no top {top}; the tops are {' and '.join(TOPS)}")


def _default_preset(platform, top: str) -> str:
    if top == "selftest":
        return "tiny"
    return "2x100g" if len(platform.cages) > 1 else "100g"


def _check_fit(chosen: Board, platform, top: str, preset: str | None) -> str:
    """Return the preset: the one asked for, or the board's own."""
    _check_top(top)
    preset = preset or _default_preset(platform, top)
    if preset not in PRESETS:
        raise click.UsageError(f"there is no preset {preset}; the presets are {', '.join(PRESETS)}")
    problems = fit_problems(chosen, cages=len(platform.cages), top=top, preset=preset)
    if problems:
        raise click.ClickException("; ".join(problems))
    return preset


@board.command(epilog="Example: mrcnic board check u50 --top nic --preset 100g")
@_BOARD
@click.option("--top", metavar="|".join(TOPS), help="What is to fit; both, if not given.")
@click.option("--preset", metavar="|".join(PRESETS), help="Sizes; the board's own if not given.")
def check(board, top, preset):
    """Compare a board's pins with its table, and see whether a preset fits."""
    from mrcnic.boards.pin_table import pin_problems, platform_pins

    platform = _platform(board)
    tops = (top,) if top else TOPS if platform.cages else TOPS[:1]
    fits = [f"{each} with {_check_fit(board, platform, each, preset)}" for each in tops]
    pins = platform_pins(platform)
    problems = pin_problems(board.name, pins)
    if problems:
        for problem in problems[:-1]:
            click.echo(problem, err=True)
        raise click.ClickException(problems[-1])
    click.echo(f"{board.name}: {len(pins)} pins as in the table; {' and '.join(fits)} fits")


@board.command(epilog="Example: mrcnic board build u50 --top selftest --plan u50.zip")
@_BOARD
@click.option("--top", default="selftest", show_default=True, metavar="|".join(TOPS))
@click.option("--preset", metavar="|".join(PRESETS), help="Sizes; the board's own if not given.")
@click.option(
    "--plan",
    type=click.Path(path_type=Path),
    help="Only write the plan, to a folder or a .zip: all files, and the script that runs the "
    "tools.",
)
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    help="JSON file for clocks and utilisation (nextpnr's).",
)
def build(board, top, preset, plan, report):
    """Make a bitstream, in build/BOARD-TOP; or with --plan everything but that."""
    # Only here: the other commands need no generator.
    from mrcnic.boards.build import BuildError, check_tools, make_plan, nic_config
    from mrcnic.boards.nic_instance import MODULE
    from mrcnic.sim.bench.build import nic_verilog

    platform = _platform(board)
    preset = _check_fit(board, platform, top, preset)
    if plan and report:
        raise click.UsageError("--report is of a bitstream, and --plan makes none")
    try:
        tools = {} if plan else check_tools(board)
        config = nic_config(PRESETS[preset], platform, top)
        with Console(stderr=True).status(f"generating {preset}"):
            verilog = nic_verilog(config, name=MODULE)
            made = make_plan(board, platform, top=top, config=config, nic_verilog=verilog)
        if plan:
            _write_plan(made, plan)
        else:
            _make_bitstream(made, built_file(board, top), tools, report)
    except (BuildError, RuntimeError, ValueError) as error:
        raise click.ClickException(str(error)) from None


def _write_plan(made, path: Path):
    if path.suffix == ".zip":
        with whole_file(path) as file:
            made.archive(file)
    else:
        made.extract(path)
    click.echo(f"{path}: {len(made.files)} files; run {made.script}.sh")


def _make_bitstream(made, file: Path, tools: dict[str, str], report: Path | None):
    from mrcnic.boards.build import read_report, run_plan

    with Console(stderr=True).status(f"making {file}"):
        run_plan(made, file.parent, tools)
    figures = read_report(file.parent)
    for clock, speed in (figures or {}).get("fmax", {}).items():
        click.echo(f"{clock}: {speed['achieved']:.1f} MHz, asked for {speed['constraint']:.1f}")
    for name, used in (figures or {}).get("utilization", {}).items():
        if used["used"]:
            share = used["used"] / used["available"]
            click.echo(f"{name}: {used['used']:,} of {used['available']:,}, {share:.0%}")
    if report:
        with whole_file(report) as target:
            target.write(json.dumps(figures, indent=2).encode() + b"\n")
    slow = [
        n for n, f in (figures or {}).get("fmax", {}).items() if f["achieved"] < f["constraint"]
    ]
    if slow:
        raise click.ClickException(f"{', '.join(slow)} is too slow: {file} should not be used")
    click.echo(f"{file}: made")


@board.command(epilog="Example: mrcnic board program ecpix5 build/ecpix5-selftest/top.bit")
@_BOARD
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.option("--flash", is_flag=True, help="Write the configuration memory, and verify it.")
@click.option("--cable", help="Cable, as openFPGALoader calls it; the board's own if not given.")
@click.option("--ip", help="Where the cable is, if that is xvc-client.")
@click.option("--port", type=int, help="Its port.")
def program(board, file, flash, cable, ip, port):
    """Load FILE, or the self-test that was built last, into a board.

    Before anything is loaded the file is checked, and the part at the end of the cable.
    """
    file = file or built_file(board, "selftest")
    loader = board.loader
    if not file.exists():
        raise click.ClickException(f"there is no {file}")
    _check_file(board, file, flash=flash)
    if loader is None:
        raise click.ClickException(
            f"openFPGALoader does not know {board.part}: run program.tcl of the plan in Vivado"
        )
    if flash and not loader.flash:
        raise click.ClickException(
            f"openFPGALoader has no bridge to the flash of {board.name}: load it without --flash, "
            f"or write the flash with Vivado"
        )
    cable = cable or loader.cable
    if cable is None and loader.board is None:
        raise click.UsageError(f"{board.name} has no cable of its own: give --cable")
    arguments = ["--cable", cable] if cable else ["--board", loader.board]
    for option, value in (("--ip", ip), ("--port", port)):
        if value is not None:
            arguments += [option, str(value)]
    try:
        check_idcode(loader, arguments, board.part)
        load(board, file, arguments if cable else [], flash=flash)
    except LoaderError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{board.name}: {file} is in {'the flash' if flash else 'the part'}")


def _check_file(board: Board, file: Path, *, flash: bool):
    if flash and board.flow is not Flow.OPEN and file.suffix == ".mcs":
        return  # of what Vivado makes, only .bit says for which part it is
    try:
        check_bitstream(file.read_bytes(), board)
    except BitstreamError as error:
        raise click.ClickException(f"{file} is refused: {error}") from None


def built_file(board: Board, top: str) -> Path:
    """Return where the bitstream of a board goes."""
    return Path("build", f"{board.name}-{top}", "top.bit")
