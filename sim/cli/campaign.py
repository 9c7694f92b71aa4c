"""``mrcnic sim campaign``: transfers drawn by lot, with everything going wrong."""

import os
import random
import time
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from mrcnic.hdl.config import PRESETS
from mrcnic.sim.report.campaign import campaign_table
from mrcnic.sim.scenarios.campaign import batches, local_workers, run_campaign
from mrcnic.sim.scenarios.cluster import cluster_workers

from .output import end_figures, figures_file
from .progress import build_steps, items_bar

__all__ = ["campaign"]

#: Seeds are drawn from so many, if none is given.
_SEEDS = 1 << 32


@click.command(epilog="Example: mrcnic sim campaign --runs 200 --seed 7")
@click.option("--runs", default=20, show_default=True, help="How many runs.")
@click.option("--jobs", default=None, type=int, help="Simulators at once; one per processor.")
@click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler whose workers simulate.")
@click.option("--seed", type=int, default=None, help="Seed of the campaign; drawn if not given.")
@click.option("--first", default=0, show_default=True, help="Number of the first run.")
@click.option(
    "--preset", "presets", multiple=True, default=("sim",), show_default=True,
    metavar="|".join(PRESETS), help="Sizes of the NICs; may be repeated.",
)  # fmt: skip
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="File for the figures.")
def campaign(runs, jobs, scheduler, seed, first, presets, json_file):
    """Transfers drawn by lot: loss, reordering, flaps, resets; check what must never break."""
    jobs = len(os.sched_getaffinity(0)) if jobs is None else jobs
    seed = random.randrange(_SEEDS) if seed is None else seed
    for name, value, least in (("runs", runs, 1), ("jobs", jobs, 1), ("first", first, 0)):
        if value < least:
            raise click.UsageError(f"--{name} must be at least {least}, not {value}")
    for preset in presets:
        if preset not in PRESETS:
            raise click.UsageError(
                f"there is no preset {preset}; the presets are {', '.join(PRESETS)}"
            )
    console = Console(highlight=False)
    with figures_file(json_file) as write:
        began = time.monotonic()
        try:
            reports = _run(
                presets,
                cluster_workers(scheduler) if scheduler else local_workers(jobs),
                console,
                seed=seed,
                first=first,
                runs=runs,
            )
        except RuntimeError as error:
            raise click.ClickException(str(error)) from None
        seconds = time.monotonic() - began
        write({"seed": seed, "seconds": seconds, "runs": [asdict(r) for r in reports]})

    title = f"campaign, preset {', '.join(presets)}, seed {seed}, {seconds:,.0f} s"
    console.print(campaign_table(reports, title=title))
    failed = sum(bool(report.problems) for report in reports)
    end_figures(json_file, [f"{failed} of {len(reports)} runs failed"] if failed else [])


def _run(presets, found_workers, console: Console, *, seed: int, first: int, runs: int) -> list:
    for preset in dict.fromkeys(presets):
        build_steps(console, PRESETS[preset])
    reports = []
    with found_workers as workers, items_bar(console, "campaign", total=runs) as done:
        work = batches(presets, seed=seed, first=first, runs=runs, jobs=workers.jobs)
        for report in run_campaign(work, workers):
            reports.append(report)
            done(f"run {report.number}")
            if report.problems:
                console.print(f"run {report.number} failed: {'; '.join(report.problems)}")
                console.print(f"  {report.replay}", soft_wrap=True)
    return sorted(reports, key=lambda report: report.number)
