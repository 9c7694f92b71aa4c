"""``mrcnic sim loss-sweep``: what random loss costs."""

import contextlib
import os
from pathlib import Path

import click
from rich.console import Console

from mrcnic.hdl.config import PRESETS
from mrcnic.sim.report.loss_sweep import loss_problems, loss_result, loss_table, plot_loss
from mrcnic.sim.scenarios.campaign import local_workers
from mrcnic.sim.scenarios.loss_sweep import RATES, ideal_us, run_loss_sweep
from mrcnic.sim.scenarios.transfer import MAX_OCTETS

from .options import parse_size
from .output import end_figures, figures_file, whole_file
from .progress import build_steps, items_bar

__all__ = ["loss_sweep"]


@click.command("loss-sweep", epilog="Example: mrcnic sim loss-sweep --plot out/loss.png")
@click.option("--size", default="8MiB", show_default=True, metavar="OCTETS", help="To be sent.")
@click.option(
    "--drop", "rates", multiple=True, type=float, default=RATES, show_default=True,
    help="Chance of losing a packet; may be repeated.",
)  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="First seed of the losses.")
@click.option("--seeds", default=2, show_default=True, help="Transfers for each chance.")
@click.option("--jobs", default=None, type=int, help="Simulators at once; one per processor.")
@click.option("--preset", default="sim", show_default=True, metavar="|".join(PRESETS),
              help="Sizes of the NICs.")  # fmt: skip
@click.option("--plot", type=click.Path(path_type=Path), help="PNG file for a plot.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="File for the figures.")
def loss_sweep(size, rates, seed, seeds, jobs, preset, plot, json_file):
    """Send the same octets at several rates of random loss; compare with the lossless ideal.

    Ends with 1 if a transfer takes longer than it may, or sends again more than it may.
    """
    jobs = len(os.sched_getaffinity(0)) if jobs is None else jobs
    octets = parse_size(size)
    if octets > MAX_OCTETS:
        raise click.UsageError(f"--size must be at most {MAX_OCTETS} octets, not {octets}")
    for name, value in (("seeds", seeds), ("jobs", jobs)):
        if value < 1:
            raise click.UsageError(f"--{name} must be at least 1, not {value}")
    for rate in rates:
        if not 0 <= rate < 1:
            raise click.UsageError(f"--drop must be from 0 to below 1, not {rate}")
    if preset not in PRESETS:
        raise click.UsageError(f"there is no preset {preset}; the presets are {', '.join(PRESETS)}")
    rates = sorted(set(rates))
    console = Console(highlight=False)
    with contextlib.ExitStack() as outputs:
        plot_output = plot and outputs.enter_context(whole_file(plot))
        write = outputs.enter_context(figures_file(json_file))
        try:
            pair = build_steps(console, PRESETS[preset])
            with (
                local_workers(jobs) as workers,
                items_bar(console, "loss sweep", total=len(rates) * seeds) as done,
            ):
                points = []
                for point in run_loss_sweep(
                    pair, workers, preset=preset, octets=octets, rates=rates,
                    seeds=range(seed, seed + seeds),
                ):  # fmt: skip
                    points.append(point)
                    done(f"{point.drop:.1%}")
        except RuntimeError as error:
            raise click.ClickException(str(error)) from None
        result = loss_result(
            points, ideal_us=ideal_us(octets, preset=preset), octets=octets, preset=preset
        )
        write(result)
        if plot:
            plot_loss(result, plot_output)
    console.print(loss_table(result))
    if plot:
        click.echo(f"plot: {plot}")
    end_figures(json_file, loss_problems(result))
