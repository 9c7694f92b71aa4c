"""``mrcnic bench``: figures of blocks, measured."""

from pathlib import Path

import click
from rich.console import Console

from mrcnic.sim.measure.area import measure_areas
from mrcnic.sim.measure.blocks import PARTS, room_counts
from mrcnic.sim.measure.datapath import RUNS, measure_datapath
from mrcnic.sim.measure.engine import ENGINE_AREAS, ENGINE_RUNS, measure_engine
from mrcnic.sim.measure.synthesis import check_yosys
from mrcnic.sim.report.area import COUNTED, area_problems, area_result, area_tables
from mrcnic.sim.report.datapath import (
    MEASURED,
    datapath_problems,
    datapath_result,
    datapath_tables,
)
from mrcnic.sim.report.engine import (
    ENGINE_MEASURED,
    engine_problems,
    engine_result,
    engine_tables,
)

from .options import config_options, make_config
from .output import end_figures, figures_file
from .progress import items_bar

__all__ = ["bench"]


@click.group(epilog="Example: mrcnic bench area health.port_monitor")
def bench():
    """Measure blocks: cycles, area, logic depth."""


@bench.command(epilog="Example: mrcnic bench area egress.lane spray.sprayer --preset 100g")
@click.argument("blocks", metavar="[BLOCK]...", nargs=-1)
@config_options(default="100g")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="File for the figures.")
def area(blocks, preset, overrides, json_file):
    """Synthesise each BLOCK, or all, with Yosys for UltraScale+; print what it takes.

    A block that has not changed is recalled. Ends with 1 if a block has too many LUT levels, or
    all of them take more than the preset may.
    """
    config = make_config(preset, overrides)
    counts = room_counts(config)
    known = [name for room in counts for name in (room, *_parts(room))]
    for name in blocks:
        if name not in known:
            raise click.UsageError(f"there is no block {name}; the blocks are {', '.join(known)}")
    names = list(dict.fromkeys(blocks)) or known
    console = Console(highlight=False)
    with figures_file(json_file) as write:
        try:
            yosys = check_yosys()
            with items_bar(console, "synthesise", total=len(names)) as done:
                found = measure_areas(names, config, progress=done)
        except RuntimeError as error:
            raise click.ClickException(str(error)) from None
        result = area_result(
            {name: found[name] for name in names}, counts=counts, preset=preset, yosys=yosys
        )
        write(result)
    for table in area_tables(result):
        console.print(table)
    console.print(COUNTED)
    end_figures(json_file, area_problems(result))


@bench.command(epilog="Example: mrcnic bench datapath --json out/datapath.json")
@config_options(default="100g")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="File for the figures.")
def datapath(preset, overrides, json_file):
    """Simulate a lane's blocks with frames of every length; print cycles and rates.

    Ends with 1 if a block takes more cycles than it may, or does not keep up with the line.
    """
    config = make_config(preset, overrides)
    console = Console(highlight=False)
    with figures_file(json_file) as write:
        try:
            with items_bar(console, "simulate", total=len(RUNS)) as done:
                figures = measure_datapath(config, progress=done)
        except RuntimeError as error:
            raise click.ClickException(str(error)) from None
        result = datapath_result(figures, preset=preset, beat_octets=config.beat_octets)
        write(result)
    for table in datapath_tables(result):
        console.print(table)
    console.print(MEASURED)
    end_figures(json_file, datapath_problems(result))


@bench.command(epilog="Example: mrcnic bench engine --preset sim --no-area")
@config_options(default="100g")
@click.option("--no-area", is_flag=True, help="Do not synthesise the rooms as well.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="File for the figures.")
def engine(preset, overrides, no_area, json_file):
    """Simulate the engine's rooms with packets back to back; print cycles, rates and area.

    Ends with 1 if a packet, a pick or an acknowledgement takes more cycles than it may.
    """
    config = make_config(preset, overrides)
    console = Console(highlight=False)
    areas = None
    with figures_file(json_file) as write:
        try:
            yosys = "" if no_area else check_yosys()
            with items_bar(console, "simulate", total=len(ENGINE_RUNS)) as done:
                figures = measure_engine(config, progress=done)
            if not no_area:
                with items_bar(console, "synthesise", total=len(ENGINE_AREAS)) as done:
                    found = measure_areas(ENGINE_AREAS, config, progress=done)
                areas = area_result(found, counts=room_counts(config), preset=preset, yosys=yosys)
        except RuntimeError as error:
            raise click.ClickException(str(error)) from None
        result = {**engine_result(figures, preset=preset), "areas": areas}
        write(result)
    for table in engine_tables(result):
        console.print(table)
    console.print(ENGINE_MEASURED)
    problems = engine_problems(result)
    if areas:
        for table in area_tables(areas):
            console.print(table)
        problems += area_problems(areas)
    end_figures(json_file, problems)


def _parts(room: str) -> list[str]:
    return [name for name, within in PARTS.items() if within == room]
