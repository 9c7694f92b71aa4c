"""What a transfer found, for people: a table and a plot."""

from typing import BinaryIO

from rich import box
from rich.table import Table

__all__ = ["plot_transfer", "problems", "transfer_tables", "violations"]

#: Causes of drops in the fabric, in words; others are told as they are.
_CAUSES = {
    "random": "at random",
    "link_down": "at a link or switch that was down",
    "queue_full": "at a full queue",
    "no_route": "for want of a route",
    "kernel": "in the kernel",
}

#: Counters of what goes well: the packets have rows of their own.
_GOOD = ("_sent", "_packets", "_payload_written", "_port_up")


def problems(result: dict) -> list[str]:
    """Return what went wrong, a sentence each; nothing if the transfer is a success."""
    checks = [
        (not result["failed"], f"messages failed: {', '.join(result['failed'])}"),
        (
            result["sha256_sent"] == result["sha256_received"],
            "the octets that arrived differ from those that were sent",
        ),
    ]
    return [*(sentence for good, sentence in checks if not good), *violations(result)]


def violations(result: dict) -> list[str]:
    """Return what must not be even if messages fail, a sentence each."""
    checks = [
        (result["finished"], "not every message was completed in time"),
        (result["memory_as_modelled"], "memory differs from what the reference model wrote"),
        (result["immediates_as_modelled"], "immediates differ from those of the reference model"),
        (not result["scoreboard_faults"], "; ".join(result["scoreboard_faults"])),
        (not result["malformed"], "; ".join(result["malformed"])),
        (result["rest_untouched"], "octets outside of the targets were overwritten"),
        (result["immediates_complete"], "immediates are missing"),
        (result["immediates_in_order"], "immediates are repeated, wrong or in the wrong order"),
        (not result["shortfalls"], "; ".join(result["shortfalls"])),
        (
            not any(result["occupied_slots"].values()),
            f"payload slots stay occupied: {result['occupied_slots']}",
        ),
        (not result["underruns"], f"{result['underruns']} idle beats inside frames towards a MAC"),
    ]
    return [sentence for good, sentence in checks if not good]


def transfer_tables(result: dict, *, title: str) -> list[Table]:
    """Return what a transfer found, in 80 columns: figures, and the digests at both ends."""
    table = Table(title=title, show_header=False, box=box.SIMPLE, title_justify="left")
    table.add_column("what")
    table.add_column("value")

    def row(name, value, comment=""):
        text = f"{value:,}" if isinstance(value, int) else value
        table.add_row(name, f"{text} {comment}".strip())

    row("octets", result["octets"])
    row("messages", result["messages"], f"on {result['qps']} queue pairs")
    row("data packets sent", result["packets"])
    planes = result["packets_per_plane"]
    evs = len(result["packets_per_ev"]) // len(planes)
    for plane, packets in enumerate(planes):
        shares = result["packets_per_ev"][plane * evs : (plane + 1) * evs]
        row(f"  plane {plane}", packets, _spread(shares))
    row("drops", result["drops"], "in the fabric")
    for cause, count in sorted(result["drops_by_cause"].items()):
        row("", count, _CAUSES.get(cause, cause))
    if result["foreign_frames"]:
        row("foreign frames", result["foreign_frames"], "of the switches' own")
    row("resends", result["resends"])
    kinds = result["control_packets"].items()
    row("control packets", ", ".join(f"{count:,} {kind}" for kind, count in kinds))
    for side, counters in sorted(result["counters"].items()):
        for name, count in counters.items():
            if count and not name.endswith(_GOOD):
                row(f"  {side}: {name}", count)
    table.add_section()
    row("cycles", result["cycles"])
    row("simulated time", f"{result['simulated_us']:,.1f} us")
    row("goodput", f"{result['goodput_gbps']:.2f} Gb/s")
    row("simulation speed", f"{result['cycles_per_second']:,.0f} cycles/s")

    digests = Table.grid(padding=(0, 1))
    for side, digest in (("A", result["sha256_sent"]), ("B", result["sha256_received"])):
        digests.add_row(f"SHA-256 at {side}", digest)
    return [table, digests]


def _spread(shares: list[int]) -> str:
    """Return how packets are shared among the EVs of a plane that carried any."""
    used = [count for count in shares if count]
    if not used:
        return "on none of its EVs"
    each = f"{min(used):,}" if min(used) == max(used) else f"{min(used):,} to {max(used):,}"
    return f"on {len(used)} of {len(shares)} EVs, {each} each"


def plot_transfer(result: dict, file: BinaryIO, *, title: str):
    """Draw goodput and packets per plane over time into a PNG file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    series = result["series"]
    width = series["bin_us"]
    times = [n * width for n in range(len(series["octets"]) + 1)]
    figure, (above, below) = pyplot.subplots(
        2, 1, sharex=True, figsize=(9, 6), layout="constrained"
    )

    goodput = [octets * 8 / width / 1e3 for octets in series["octets"]]
    above.stairs(goodput, times, color="tab:blue", fill=True, alpha=0.3)
    above.stairs(goodput, times, color="tab:blue")
    above.set_ylabel("payload arriving (Gb/s)")
    above.set_ylim(0, 1.15 * max(*goodput, 1))  # room for what happens
    above.set_title(title)

    for plane, packets in enumerate(series["planes"]):
        below.stairs(packets, times, label=f"plane {plane}", linewidth=1.5)
    below.stairs(series["resends"], times, label="resends", color="tab:red", linewidth=1.5)
    below.set_ylabel(f"data packets sent per {width:g} us")
    below.set_xlabel("simulated time (us)")
    below.set_ylim(bottom=0)
    below.set_xlim(0, times[-1])

    for event in series["events"]:
        for axes in (above, below):
            axes.axvline(event["time_us"], color="0.3", linestyle="--", linewidth=1)
        above.annotate(
            event["what"],
            (event["time_us"], 1),
            xycoords=("data", "axes fraction"),
            xytext=(3, -12),
            textcoords="offset points",
            fontsize=9,
        )
    below.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=9, frameon=False)
    figure.savefig(file, dpi=120, format="png")
    pyplot.close(figure)
