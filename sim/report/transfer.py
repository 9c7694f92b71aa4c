"""What a transfer found, for people: a table and a plot."""

from pathlib import Path

from rich.table import Table

__all__ = ["plot_transfer", "problems", "transfer_table"]


def problems(result: dict) -> list[str]:
    """Return what went wrong, a sentence each; nothing if the transfer is a success."""
    checks = [
        (result["finished"], "not every message was completed in time"),
        (not result["failed"], f"messages failed: {', '.join(result['failed'])}"),
        (
            result["sha256_sent"] == result["sha256_received"],
            "the octets that arrived differ from those that were sent",
        ),
        (result["memory_as_modelled"], "memory differs from what the reference model wrote"),
        (result["immediates_as_modelled"], "immediates differ from those of the reference model"),
        (not result["scoreboard_faults"], "; ".join(result["scoreboard_faults"])),
        (not result["malformed"], "; ".join(result["malformed"])),
        (result["guard_intact"], "octets behind the target were overwritten"),
        (result["immediates_complete"], "immediates are missing, repeated or wrong"),
        (not result["underruns"], f"{result['underruns']} idle beats inside frames towards a MAC"),
    ]
    return [sentence for good, sentence in checks if not good]


def transfer_table(result: dict, *, title: str) -> Table:
    """Return the table of a transfer."""
    table = Table(title=title, show_header=False)
    table.add_column("what")
    table.add_column("value", justify="right", overflow="fold")

    def row(name, value):
        table.add_row(name, f"{value:,}" if isinstance(value, int) else str(value))

    row("octets", result["octets"])
    row("messages", result["messages"])
    row("queue pairs", result["qps"])
    row("data packets sent", result["packets"])
    row("data packets per plane", _listed(result["packets_per_plane"]))
    row("data packets per EV", _spread(result["packets_per_ev"]))
    row("dropped in the fabric", result["drops"])
    for cause, count in sorted(result["drops_by_cause"].items()):
        row(f"  {cause}", count)
    row("resends", result["resends"])
    row("SACKs, NACKs, ACKs, probes", _listed(result["control_packets"]))
    for name, count in _troubles(result["counters"]):
        row(f"  {name}", count)
    table.add_section()
    row("cycles", result["cycles"])
    row("simulated time", f"{result['simulated_us']:,.1f} us")
    row("goodput", f"{result['goodput_gbps']:.2f} Gb/s")
    row("simulation speed", f"{result['cycles_per_second']:,.0f} cycles/s")
    table.add_section()
    row("SHA-256 sent", result["sha256_sent"])
    row("SHA-256 received", result["sha256_received"])
    return table


def _troubles(counters: dict[str, dict[str, int]]) -> list[tuple[str, int]]:
    """Return counters of both NICs that are not zero."""
    return [
        (f"{side} {name}", count)
        for side, counts in sorted(counters.items())
        for name, count in counts.items()
        if count
    ]


def _listed(counts: list[int]) -> str:
    return "  ".join(f"{count:,}" for count in counts)


def _spread(counts: list[int]) -> str:
    """Return least, median and most of the EVs that carried anything."""
    used = sorted(count for count in counts if count)
    if not used:
        return "none"
    return f"{len(used)} used, {used[0]:,} to {used[-1]:,}, median {used[len(used) // 2]:,}"


def plot_transfer(result: dict, path: Path, *, title: str):
    """Draw goodput and packets per plane over time into the PNG file ``path``."""
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
    above.set_ylim(bottom=0)
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
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
