"""Tables of cycles and rates, block by block."""

from collections.abc import Iterable
from dataclasses import asdict

from rich import box
from rich.table import Table

from mrcnic.sim.measure.datapath import BLOCKS, CLOCKS_HZ, Figure
from mrcnic.sim.measure.lengths import line_mpps

__all__ = ["MEASURED", "datapath_problems", "datapath_result", "datapath_tables"]

#: Octets per beat from which on a lane is one of 100 Gb/s.
_WIDE = 64

MEASURED = (
    "Latency: cycles of a lone frame. Cycles: per frame, back to back. Line: million frames per "
    "second of 100 Gb/s; then those of the block at 250 and 322 MHz. Octets are without frame "
    "check sequence; the line has 24 more for it, preamble and gap. Lanes keep a frame whole "
    "before they offer it to the MAC, or the host. A rate that is below the line's at a clock "
    "that a block is specified for is marked (!). At 250 MHz, the line is faster for frames of 65 "
    "to 75 octets, none of which are the protocol's: two beats each, at the rate of the line, take "
    "281 MHz.\n"
    "Other open blocks of 512 bits, measured in the same way: insertion takes 2 cycles and a "
    "bubble after each packet, 161 Mpps of 64 octets at 322 MHz and 107 when the header spills; "
    "a parser takes 19 cycles and 32 bits per cycle."
)


def datapath_result(figures: Iterable[Figure], *, preset: str, beat_octets: int) -> dict:
    """Return everything that was measured, as it goes into JSON.

    Budgets of cycles and line rate hold with beats of 64 octets or more.
    """
    wide = beat_octets >= _WIDE
    return {
        "preset": preset,
        "figures": [
            {**asdict(figure), "line_mpps": line_mpps(figure.octets), "rates": _rates(figure)}
            for figure in figures
        ],
        "budgets": {
            name: {"latency": latency if wide else None, "line_rate_hz": clock if wide else None}
            for name, (_, _, latency, clock) in BLOCKS.items()
        },
    }


def _rates(figure: Figure) -> list[dict]:
    rates = []
    for clock in CLOCKS_HZ:
        mpps = clock / 1e6 / figure.cycles
        rates.append({"clk_hz": clock, "mpps": mpps, "gbps": mpps * figure.octets * 8 / 1e3})
    return rates


def _faults(figure: dict, budget: dict) -> list[str]:
    """Return what a figure misses, in words."""
    found = []
    if budget["latency"] is not None and figure["latency"] > budget["latency"]:
        found.append(f"{figure['latency']} cycles, more than {budget['latency']}")
    if figure["cycles"] > figure["beats"]:
        found.append(f"{figure['cycles']:g} cycles for {figure['beats']} beats")
    found += [
        f"{rate['mpps']:.1f} Mpps, less than the line's {figure['line_mpps']:.1f}"
        for rate in figure["rates"]
        if rate["clk_hz"] == budget["line_rate_hz"] and rate["mpps"] < figure["line_mpps"]
    ]
    return found


def datapath_problems(result: dict) -> list[str]:
    """Return what misses its budget, each in a sentence."""
    return [
        f"{figure['block']}, {figure['kind']}, {figure['octets']} octets: {fault}"
        for figure in result["figures"]
        for fault in _faults(figure, result["budgets"][figure["block"]])
    ]


def datapath_tables(result: dict) -> list[Table]:
    """Return a table for each block, with a line for each kind and length of frames."""
    tables = []
    for name, (begin, end, _, _) in BLOCKS.items():
        latency = result["budgets"][name]["latency"]
        figures = [figure for figure in result["figures"] if figure["block"] == name]
        if not figures:
            continue
        at_most = f", at most {latency}" if latency else ""
        title = f"{name}: latency from {begin} to {end}{at_most}"
        table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", padding=(0, 1, 0, 0))
        table.add_column("frame", no_wrap=True)
        headings = ["octets", "latency", "cycles", "line"]
        for clock in CLOCKS_HZ:
            headings += [f"Mpps {clock / 1e6:.0f}", "Gb/s"]
        for heading in headings:
            table.add_column(heading, justify="right", no_wrap=True)
        for figure in figures:
            rates = [
                text
                for rate in figure["rates"]
                for text in (f"{rate['mpps']:.1f}", f"{rate['gbps']:.1f}")
            ]
            mark = " (!)" if _faults(figure, result["budgets"][name]) else ""
            table.add_row(
                figure["kind"],
                f"{figure['octets']:,}",
                f"{figure['latency']}",
                f"{figure['cycles']:g}{mark}",
                f"{figure['line_mpps']:.1f}",
                *rates,
            )
        tables.append(table)
    return tables
