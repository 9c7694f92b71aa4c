"""Tables of the engine's cycles and rates."""

from collections.abc import Iterable
from dataclasses import asdict

from rich import box
from rich.table import Table

from mrcnic.sim.measure.datapath import CLOCKS_HZ
from mrcnic.sim.measure.engine import ENGINES, EngineFigure

__all__ = ["ENGINE_MEASURED", "engine_problems", "engine_result", "engine_tables"]

ENGINE_MEASURED = (
    "Latency: cycles of a lone one. Cycles: for each of a train, where the engine is full; QPs "
    "take turns. Rates are millions per second at 250 and 322 MHz. A "
    "pick takes as long whatever there is to choose from. Limits are those of the design, and "
    "what misses one is marked (!).\n"
    "Best open figures: 6 cycles for a packet of a QP (RoCE), 2.14 (another protocol, with a "
    "window of 8), 85 cycles for an acknowledgement."
)


def engine_result(figures: Iterable[EngineFigure], *, preset: str) -> dict:
    """Return everything that was measured, as it goes into JSON."""
    return {"preset": preset, "figures": [_row(figure) for figure in figures]}


def _row(figure: EngineFigure) -> dict:
    begin, end, most_latency, of_one, of_several = ENGINES[figure.engine]
    most = of_one if figure.qps == 1 else of_several
    return {
        **asdict(figure),
        "from": begin,
        "to": end,
        "most_latency": most_latency,
        "most_cycles": most,
        "mpps": figure.cycles and [clock / 1e6 / figure.cycles for clock in CLOCKS_HZ],
    }


def _faults(row: dict) -> list[str]:
    found = []
    if row["most_latency"] is not None and row["latency"] > row["most_latency"]:
        found.append(f"{row['latency']} cycles, more than {row['most_latency']}")
    if row["most_cycles"] is not None and row["cycles"] > row["most_cycles"]:
        found.append(f"{row['cycles']:.2f} cycles each, more than {row['most_cycles']}")
    return found


def engine_problems(result: dict) -> list[str]:
    """Return what misses its limit, each in a sentence."""
    return [f"{_title(row)}: {fault}" for row in result["figures"] for fault in _faults(row)]


def _title(row: dict) -> str:
    return f"{row['engine']}, {row['qps']} QPs" if row["qps"] else row["engine"]


def engine_tables(result: dict) -> list[Table]:
    """Return a table with a line for each part of the engine and load."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("what")
    table.add_column("QPs", justify="right")
    table.add_column("from, to")
    clocks = [f"M/s {clock / 1e6:.0f}" for clock in CLOCKS_HZ]
    for heading in ("latency", "cycles", "limit", *clocks):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in result["figures"]:
        limits = [row["most_latency"], row["most_cycles"]]
        mark = " (!)" if _faults(row) else ""
        table.add_row(
            row["engine"],
            str(row["qps"] or ""),
            f"{row['from']}, {row['to']}",
            f"{row['latency']}",
            f"{row['cycles']:.2f}{mark}" if row["cycles"] else mark,
            next((str(limit) for limit in limits if limit is not None), ""),
            *([f"{rate:.1f}" for rate in row["mpps"]] if row["mpps"] else ["", ""]),
        )
    return [table]
