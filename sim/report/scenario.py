"""What a scenario has shown, for people: verdicts, a timeline, a plot."""

from dataclasses import asdict
from typing import BinaryIO

from rich import box
from rich.table import Table

from mrcnic.sim.scenarios.history import History
from mrcnic.sim.scenarios.scenario import CONFIG, Plan, Scenario, shortened

from .transfer import problems, violations

__all__ = ["plot_scenario", "scenario_problems", "scenario_result", "scenario_tables"]

#: Lines of the timeline, at most.
_TIMES = 16

#: Least distance of labels, as a part of the plot's width.
_LABELS_APART = 0.07

#: Colours of EV states, from GOOD over SKIP to ASSUMED_BAD in all QPs.
_COLOURS = ("white", "tab:orange", "tab:red")


def scenario_result(scenario: Scenario, plan: Plan, result: dict) -> dict:
    """Return findings and what they are made of, as it goes into JSON."""
    history = History(result["log"])
    findings = scenario.judge(plan, result, history)
    wrong = (violations if scenario.fails else problems)(result)
    if dropped := result["counters"]["a"]["spray_ev_news_dropped"]:
        wrong.append(f"{dropped} news of EVs were dropped")
    return {
        "scenario": scenario.name,
        "what": plan.what,
        "seed": plan.spec.seed,
        "down_us": plan.down_us,
        "up_us": plan.up_us,
        "shortened": shortened(plan.spec),
        "findings": [
            {**asdict(finding), "limited": finding.limited, "good": finding.good}
            for finding in findings
        ],
        "problems": wrong,
        "timeline": _timeline(plan, history),
        **{key: value for key, value in result.items() if key != "log"},
        "log": result["log"],
    }


def scenario_problems(result: dict) -> list[str]:
    """Return what went wrong, and which limits were missed, a sentence each."""
    return result["problems"] + [
        f"{finding['what']}: {_value(finding)}, {_limit(finding)}"
        for finding in result["findings"]
        if not finding["good"]
    ]


def _timeline(plan: Plan, history: History) -> list[dict]:
    """Return states of EVs, in all QPs together, at times at which they have changed."""
    others = set(range(CONFIG.evs)) - plan.evs
    times = sorted({change.time_us for change in history.changes})
    step = max(1, -(-len(times) // _TIMES))
    chosen = {*times[step - 1 :: step], *times[:1], *times[-1:], plan.down_us}
    if plan.up_us is not None:
        chosen.add(plan.up_us)
    events = {plan.down_us: plan.what, plan.up_us: "well again"}
    return [
        {
            "time_us": time_us,
            "concerned": history.out_of_use(plan.evs, time_us + 1e-6),
            "others": history.out_of_use(others, time_us + 1e-6),
            "what": events.get(time_us, ""),
        }
        for time_us in sorted(chosen)
    ]


def scenario_tables(result: dict) -> list[Table]:
    """Return verdicts and timeline, in 80 columns."""
    verdicts = Table(
        title=f"{result['scenario']}, seed {result['seed']}: {result['what']} at "
        f"{result['down_us']:.1f} us",
        box=box.SIMPLE,
        title_justify="left",
    )
    verdicts.add_column("what")
    for heading in ("measured", "limit"):
        verdicts.add_column(heading, justify="right", no_wrap=True)
    verdicts.add_column("", no_wrap=True)
    for finding in result["findings"]:
        verdict = ("ok" if finding["good"] else "MISSED") if finding["limited"] else ""
        limit = _limit(finding) if finding["limited"] else ""
        verdicts.add_row(finding["what"], _value(finding), limit, verdict)
    verdicts.add_section()
    for plane, packets in enumerate(result["packets_per_plane"]):
        verdicts.add_row(f"packets in plane {plane}", f"{packets:,}")
    verdicts.add_row("resends", f"{result['resends']:,}")
    verdicts.add_row("drops in the fabric", f"{result['drops']:,}")
    verdicts.add_row("goodput", f"{result['goodput_gbps']:.1f} Gb/s")
    verdicts.add_row("simulated time", f"{result['simulated_us']:.1f} us")
    verdicts.add_row("cycles", f"{result['total_cycles']:,}")

    timeline = Table(
        title="EVs out of use (ASSUMED_BAD), in all QPs", box=box.SIMPLE, title_justify="left"
    )
    for heading in ("us", "concerned", "others"):
        timeline.add_column(heading, justify="right")
    timeline.add_column("")
    for line in result["timeline"]:
        timeline.add_row(
            f"{line['time_us']:.1f}", str(line["concerned"]), str(line["others"]), line["what"]
        )
    return [verdicts, timeline]


def _value(finding: dict) -> str:
    value = finding["value"]
    if value is None:
        return "never"
    text = f"{value:,.1f}" if isinstance(value, float) else f"{value}"
    return f"{text} {finding['unit']}".strip()


def _limit(finding: dict) -> str:
    least, most, unit = finding["least"], finding["most"], finding["unit"]
    if least is not None and least == most:
        text = f"= {least:g}"
    elif least is not None and most is not None:
        text = f"{least:g} to {most:g}"
    elif least is not None:
        text = f">= {least:.3g}"
    else:
        text = f"<= {most:.3g}"
    return f"{text} {unit}".strip()


def plot_scenario(result: dict, file: BinaryIO):
    """Draw goodput, packets per plane and EV states over time into a PNG file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.colors import LinearSegmentedColormap

    series, history = result["series"], History(result["log"])
    width = series["bin_us"]
    times = [n * width for n in range(len(series["octets"]) + 1)]
    figure, (above, middle, below) = pyplot.subplots(
        3, 1, sharex=True, figsize=(9, 8), layout="constrained", height_ratios=(2, 2, 3)
    )
    goodput = [octets * 8 / width / 1e3 for octets in series["octets"]]
    above.stairs(goodput, times, color="tab:blue", fill=True, alpha=0.3)
    above.stairs(goodput, times, color="tab:blue")
    above.set_ylabel("goodput (Gb/s)")
    above.set_ylim(0, 1.25 * max(*goodput, 1))
    above.set_title(f"{result['scenario']}, seed {result['seed']}: {result['what']}")

    for plane, packets in enumerate(series["planes"]):
        middle.stairs(packets, times, label=f"plane {plane}", linewidth=1.5)
    middle.stairs(series["resends"], times, label="resends", color="tab:red", linewidth=1.5)
    middle.set_ylabel(f"packets per {width:g} us")
    middle.set_ylim(bottom=0)
    middle.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=9, frameon=False)

    image = below.imshow(
        _states(result, history, columns=4 * len(goodput)),
        aspect="auto",
        origin="lower",
        extent=(0, times[-1], -0.5, CONFIG.evs - 0.5),
        interpolation="nearest",
        vmin=0,
        vmax=1,
        cmap=LinearSegmentedColormap.from_list("states", _COLOURS),
    )
    for plane in range(1, CONFIG.lanes):
        below.axhline(plane * CONFIG.evs_per_plane - 0.5, color="0.6", linewidth=0.8)
    below.set_ylabel("EV, from plane 0 upwards")
    below.set_xlabel("simulated time (us)")
    below.set_xlim(0, times[-1])
    scale = figure.colorbar(image, ax=below, fraction=0.04, pad=0.01, ticks=(0, 0.5, 1))
    scale.ax.set_yticklabels(("GOOD", "SKIP, or bad\nin half the QPs", "ASSUMED_BAD\nin all QPs"))

    labelled = -times[-1]
    for n, event in enumerate(_events(result)):
        for axes in (above, middle, below):
            axes.axvline(event["time_us"], color="0.3", linestyle="--", linewidth=1)
        if event["time_us"] - labelled < _LABELS_APART * times[-1]:
            continue  # one of a burst: there is no room for its name
        labelled = event["time_us"]
        above.annotate(
            event["what"],
            (event["time_us"], 1),
            xycoords=("data", "axes fraction"),
            xytext=(3, -10 - 9 * (n % 4)),
            textcoords="offset points",
            fontsize=7,
        )
    figure.savefig(file, dpi=110, format="png")
    pyplot.close(figure)


def _events(result: dict) -> list[dict]:
    """Return what the fabric did, and what was done to packets one by one."""
    events = result["series"]["events"]
    if any(abs(event["time_us"] - result["down_us"]) < 1 for event in events):
        return events
    return [{"time_us": result["down_us"], "what": result["what"]}, *events]


def _states(result: dict, history: History, *, columns: int) -> list[list[float]]:
    """Return, per EV and time, 1 if it is out of use in all QPs, and less if in some."""
    series = result["series"]
    end_us = series["bin_us"] * len(series["octets"])
    qps = result["qps"]
    rows = [[0.0] * columns for _ in range(CONFIG.evs)]

    def column(time_us):
        return min(columns, max(0, int(time_us / end_us * columns)))

    since: dict[tuple[int, int], float] = {}
    spans = []
    for change in history.changes:
        key = (change.qp, change.ev)
        if change.new == "ASSUMED_BAD":
            since.setdefault(key, change.time_us)
        elif key in since:
            spans.append((key, since.pop(key), change.time_us))
    spans += [(key, start_us, end_us) for key, start_us in since.items()]
    for (_, ev), start_us, stop_us in spans:
        for n in range(column(start_us), column(stop_us)):
            rows[ev][n] += 1 / qps
    until = [time_us for time_us, _ in history.samples[1:]] + [end_us]
    for (time_us, states), next_us in zip(history.samples, until, strict=False):
        for of_qp in states:
            for ev, state in enumerate(of_qp):
                if state == "SKIP":
                    for n in range(column(time_us), column(next_us)):
                        rows[ev][n] = max(rows[ev][n], 0.5)
    return [[min(1.0, value) for value in row] for row in rows]
