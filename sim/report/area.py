"""Tables of area and logic depth."""

from rich import box
from rich.table import Table

from mrcnic.sim.measure.blocks import PARTS
from mrcnic.sim.measure.netlist import Area
from mrcnic.sim.measure.synthesis import SYNTHESIS, Synthesis

__all__ = ["COUNTED", "area_problems", "area_result", "area_tables"]

#: What is counted, in words.
COUNTED = (
    "Levels: LUTs one after another on the path that has the most, from a register, memory or "
    "input to one or an output; the read of a distributed RAM counts as one. Carry cells (c) and "
    "wide multiplexers (m) of that path are no LUTs and stand beside. RAM LUT: distributed RAM and "
    "shift registers. BRAM: in units of 36 Kib. Memories of more than 4,096 rows are not "
    "synthesised but counted by their size, as ultra RAM if they fill half of it. What "
    "there is once per port is synthesised once. The sum leaves out what Yosys would find to share "
    "between rooms.\n"
    "Other open blocks of 512 bits, synthesised in the same way: insertion of 14 octets in 2 "
    "cycles and with a bubble after each packet: 1,189 LUT, 1,407 FF; of 28 octets: 1,196 LUT, "
    "5 levels."
)

#: Most LUT levels of a block, and of those that have their own limit.
_LEVELS = 6
_LEVELS_OF = {"egress.srv6_inserter": 5}

#: Most of what the whole of a preset takes.
_WHOLE = {"100g": {"luts": 50_000, "block_rams": 250, "ultra_rams": 64}}

#: Columns of figures, as :class:`~mrcnic.sim.measure.netlist.Area` calls them.
_COLUMNS = ("luts", "ram_luts", "flip_flops", "block_rams", "ultra_rams")
_WORDS = {"luts": "LUT", "block_rams": "BRAM", "ultra_rams": "URAM"}


def area_result(
    found: dict[str, Synthesis], *, counts: dict[str, int], preset: str, yosys: str
) -> dict:
    """Return everything that was found, as it goes into JSON.

    Parameters
    ----------
    counts : :class:`dict`
        How many of each room there are. If all of them were measured, there is a sum.
    """
    whole = None
    if counts.keys() <= found.keys():
        whole = Area()
        for name, times in counts.items():
            whole = whole.plus(found[name].area, times=times)
    return {
        "preset": preset,
        "yosys": yosys,
        "blocks": {
            name: {
                "times": counts.get(name, 0),
                **each.area._asdict(),
                "levels": each.depth.luts,
                **{key: value for key, value in each.depth._asdict().items() if key != "luts"},
                "levels_limit": _LEVELS_OF.get(name, _LEVELS),
            }
            for name, each in found.items()
        },
        "whole": whole and whole._asdict(),
        "whole_limits": _WHOLE.get(preset, {}),
    }


def area_problems(result: dict) -> list[str]:
    """Return what is over its limit, each in a sentence."""
    found = [
        f"{name} has {block['levels']} LUT levels, more than {block['levels_limit']}"
        for name, block in result["blocks"].items()
        if block["levels"] > block["levels_limit"]
    ]
    if result["whole"]:
        found += [
            f"{result['preset']} takes {result['whole'][name]:,g} {_WORDS[name]}, "
            f"more than {limit:,}"
            for name, limit in result["whole_limits"].items()
            if result["whole"][name] > limit
        ]
    return found


def area_tables(result: dict) -> list[Table]:
    """Return what each block takes, and the path of each that has the most LUTs; 80 columns."""
    title = f"preset {result['preset']}, Yosys {result['yosys']}: {SYNTHESIS}"
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    paths = Table(title="paths with the most levels", box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column("block", no_wrap=True)
    for heading in ("LUT", "RAM LUT", "FF", "BRAM", "URAM", "levels"):
        table.add_column(heading, justify="right")
    for heading in ("block", "from", "to"):
        paths.add_column(heading, overflow="fold")

    for name, block in result["blocks"].items():
        times = f"{block['times']} x " if block["times"] > 1 else ""
        beside = "".join(
            f" +{block[key]}{mark}"
            for key, mark in (("carries", "c"), ("muxes", "m"))
            if block[key]
        )
        over = " (!)" if block["levels"] > block["levels_limit"] else ""
        # Parts of a room stand behind it, and are not counted again.
        title = f"  {name}" if name in PARTS else f"{times}{name}"
        table.add_row(title, *_figures(block), f"{block['levels']}{beside}{over}")
        paths.add_row(name, block["start"], block["end"])
    if result["whole"]:
        table.add_section()
        table.add_row("sum of rooms", *_figures(result["whole"]), "")
        if limits := result["whole_limits"]:
            at_most = [f"{limits[name]:,}" if name in limits else "" for name in _COLUMNS]
            table.add_row("at most", *at_most, "")
    return [table, paths]


def _figures(area: dict) -> list[str]:
    return [f"{area[name]:,g}" if area[name] else "-" for name in _COLUMNS]
