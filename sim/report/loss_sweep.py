"""What random loss costs: table, limits, plot."""

from collections.abc import Sequence
from typing import BinaryIO

from rich import box
from rich.table import Table

__all__ = ["LIMITS", "loss_problems", "loss_result", "loss_table", "plot_loss"]

#: Completion over the lossless ideal, by chance of loss.
LIMITS = {0.001: 1.05, 0.01: 1.10}

#: Resends per packet that was lost, at the highest rate that has a limit.
RESENDS_LIMIT, RESENDS_RATE = 1.2, 0.01


def loss_result(points: Sequence, *, ideal_us: float, octets: int, preset: str) -> dict:
    """Return everything that was measured, as it goes into JSON; means over the seeds."""
    rows = []
    for drop in sorted({point.drop for point in points}):
        same = [point for point in points if point.drop == drop]
        lost = sum(point.lost for point in same)
        resends = sum(point.resends for point in same)
        completion = sum(point.completion_us for point in same) / len(same)
        rows.append({
            "drop": drop,
            "seeds": sorted(point.seed for point in same),
            "packets": sum(point.packets for point in same),
            "lost": lost,
            "resends": resends,
            "resends_per_loss": resends / lost if lost else None,
            "completion_us": completion,
            "slowest_us": max(point.completion_us for point in same),
            "ratio": completion / ideal_us,
            "limit": LIMITS.get(drop),
            "problems": [sentence for point in same for sentence in point.problems],
        })
    return {"preset": preset, "octets": octets, "ideal_us": ideal_us, "rows": rows}


def loss_problems(result: dict) -> list[str]:
    """Return the limits that are missed, and what else went wrong, a sentence each."""
    found = []
    for row in result["rows"]:
        found += row["problems"]
        if row["limit"] is not None and row["ratio"] > row["limit"]:
            found.append(
                f"completion at {row['drop']:.1%} loss must be at most {row['limit']:.2f} of the "
                f"ideal, not {row['ratio']:.3f}"
            )
        per_loss = row["resends_per_loss"]
        if row["drop"] == RESENDS_RATE and per_loss is not None and per_loss > RESENDS_LIMIT:
            found.append(
                f"resends per loss at {row['drop']:.1%} must be at most {RESENDS_LIMIT}, "
                f"not {per_loss:.2f}"
            )
    return found


def loss_table(result: dict) -> Table:
    """Return what was measured, in 80 columns."""
    title = (
        f"{result['octets']:,} octets, preset {result['preset']}; "
        f"ideal {result['ideal_us']:,.1f} us"
    )
    table = Table(title=title, box=box.SIMPLE, title_justify="left")
    for name in ("loss", "packets", "lost", "resends", "per loss", "us", "of ideal", "limit", ""):
        table.add_column(name, justify="right")
    for row in result["rows"]:
        limit, per_loss = row["limit"], row["resends_per_loss"]
        missed = loss_problems({"rows": [row]})
        table.add_row(
            f"{row['drop']:.1%}",
            f"{row['packets']:,}",
            f"{row['lost']:,}",
            f"{row['resends']:,}",
            "" if per_loss is None else f"{per_loss:.2f}",
            f"{row['completion_us']:,.1f}",
            f"{row['ratio']:.3f}",
            "" if limit is None else f"{limit:.2f}",
            "missed" if missed else "" if limit is None else "met",
        )
    return table


def plot_loss(result: dict, file: BinaryIO):
    """Draw completion and resends over loss into a PNG file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = result["rows"]
    names = [f"{row['drop']:.1%}" for row in rows]
    figure, (above, below) = pyplot.subplots(
        2, 1, sharex=True, figsize=(7, 6), layout="constrained"
    )
    above.bar(names, [row["ratio"] for row in rows], color="tab:blue", alpha=0.6, width=0.5)
    for n, row in enumerate(rows):
        above.annotate(f"{row['ratio']:.3f}", (n, row["ratio"]), ha="center", va="bottom")
        if row["limit"] is not None:
            above.hlines(row["limit"], n - 0.35, n + 0.35, color="tab:red", label="limit")
    above.axhline(1, color="0.3", linewidth=1)
    tops = [max(row["ratio"], row["limit"] or 0) for row in rows]
    above.set_ylim(0.9, max(tops) + 0.05)
    above.set_ylabel("completion / lossless ideal")
    above.set_title(f"{result['octets']:,} octets, preset {result['preset']}")

    per_loss = [row["resends_per_loss"] or 0 for row in rows]
    below.bar(names, per_loss, color="tab:orange", alpha=0.6, width=0.5)
    for n, row in enumerate(rows):
        if row["resends_per_loss"] is not None:
            below.annotate(f"{per_loss[n]:.2f}", (n, per_loss[n]), ha="center", va="bottom")
        if row["drop"] == RESENDS_RATE:
            below.hlines(RESENDS_LIMIT, n - 0.35, n + 0.35, color="tab:red")
    below.axhline(1, color="0.3", linewidth=1)
    below.set_ylim(0, 1.2 * max(*per_loss, RESENDS_LIMIT))
    below.set_ylabel("resends / packets lost")
    below.set_xlabel("chance of loss")
    figure.savefig(file, dpi=120, format="png")
    pyplot.close(figure)
