"""``mrcnic sim NAME``: scenarios, which tell what becomes of a failure."""

import contextlib
import os
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, replace
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from mrcnic.sim.report.scenario import (
    plot_scenario,
    scenario_problems,
    scenario_result,
    scenario_tables,
)
from mrcnic.sim.scenarios.catalogue import SCENARIOS
from mrcnic.sim.scenarios.run import simulate
from mrcnic.sim.scenarios.scenario import CONFIG, Scenario

from .options import parse_numbers
from .output import end_figures, figures_file, whole_file, whole_folder
from .progress import build_steps, items_bar, octets_bar

__all__ = ["SCENARIO_COMMANDS", "scenarios"]


def _command(scenario: Scenario) -> click.Command:
    @click.command(
        scenario.name,
        help=f"{scenario.summary} Ends with 1 if a limit is missed.",
        epilog=f"Example: mrcnic sim {scenario.name} --plot {scenario.name}.png",
    )
    @click.option("--seed", default=0, show_default=True, help="Seed of what fails, and when.")
    @click.option("--plot", type=click.Path(path_type=Path), help="PNG file for a plot over time.")
    @click.option(
        "--json", "json_file", type=click.Path(path_type=Path), help="File for all figures."
    )
    @click.option(
        "--pcap", type=click.Path(path_type=Path), help="Folder for a capture of each port."
    )
    def command(seed, plot, json_file, pcap):
        console = Console(highlight=False)
        with contextlib.ExitStack() as outputs:
            # Opened first: who waits is not told only then that a file cannot be written.
            folder = pcap and str(outputs.enter_context(whole_folder(pcap)))
            plot_output = plot and outputs.enter_context(whole_file(plot))
            write = outputs.enter_context(figures_file(json_file))
            try:
                pair = build_steps(console, CONFIG)
                plan = scenario.planned(seed)
                with octets_bar(console, scenario.name, total=plan.spec.octets) as done:
                    result = run_scenario(scenario, seed, pair, progress=done, pcap=folder)
                    done(plan.spec.octets)  # what was not posted in time was not meant to be
            except RuntimeError as error:
                raise click.ClickException(str(error)) from None
            if plot:
                plot_scenario(result, plot_output)
            write(result)
        for table in scenario_tables(result):
            console.print(table)
        console.print(f"shortened: {'; '.join(result['shortened'])}")
        for name, path in (("captures", pcap), ("plot", plot)):
            if path:
                click.echo(f"{name}: {path}")
        end_figures(json_file, scenario_problems(result))

    return command


def run_scenario(scenario: Scenario, seed: int, pair, *, progress, pcap: str | None = None) -> dict:
    """Run a scenario on a build; return what came of it."""
    plan = scenario.planned(seed)
    spec = replace(plan.spec, pcap=pcap)
    spec.check()
    result = simulate(
        pair,
        "mrcnic.sim.bench.tb_transfer",
        {**asdict(spec), "max_cycles": spec.max_cycles, "event_names": pair.event_names},
        progress=lambda news: progress(news["octets"]),
        seed=seed,
    )
    return scenario_result(scenario, plan, result)


#: A command for each scenario.
SCENARIO_COMMANDS = tuple(_command(scenario) for scenario in SCENARIOS.values())


@click.command(epilog="Example: mrcnic sim scenarios --seeds 1-20")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--seeds", default="0", show_default=True, help="Seeds, such as 1-20 or 3,5,8.")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Simulations at a time; one per processor."
)
@click.option("--plots", type=click.Path(path_type=Path), help="Folder for a plot of each run.")
def scenarios(names, seeds, jobs, plots):
    """Run each scenario NAME, or all, with each seed; print a line for every run.

    Ends with 1 if a run misses a limit.
    """
    for name in names:
        if name not in SCENARIOS:
            raise click.UsageError(
                f"there is no scenario {name}; the scenarios are {', '.join(SCENARIOS)}"
            )
    runs = [(SCENARIOS[name], seed) for name in names or SCENARIOS for seed in parse_numbers(seeds)]
    console = Console(highlight=False)
    found = {}
    with contextlib.ExitStack() as outputs:
        folder = plots and outputs.enter_context(whole_folder(plots))
        try:
            pair = build_steps(console, CONFIG)
            workers = jobs or len(os.sched_getaffinity(0))
            pool = outputs.enter_context(ThreadPoolExecutor(workers))
            done = outputs.enter_context(items_bar(console, "scenarios", total=len(runs)))
            waiting = {
                pool.submit(_timed, scenario, seed, pair, folder): (scenario.name, seed)
                for scenario, seed in runs
            }
            try:
                for future in as_completed(waiting):
                    name, seed = waiting[future]
                    found[name, seed] = future.result()
                    done(f"{name} {seed}")
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        except RuntimeError as error:
            raise click.ClickException(str(error)) from None
    table = Table(box=box.SIMPLE)
    for heading in ("scenario", "seed", "cycles", "s", "verdict"):
        table.add_column(heading, justify="left" if heading in ("scenario", "verdict") else "right")
    failed = 0
    for scenario, seed in runs:
        cycles, seconds, wrong = found[scenario.name, seed]
        failed += bool(wrong)
        verdict = "; ".join(wrong) or "ok"
        table.add_row(scenario.name, str(seed), f"{cycles:,}", f"{seconds:.0f}", verdict)
    console.print(table)
    if failed:
        raise click.ClickException(f"{failed} of {len(runs)} runs failed")


def _timed(scenario: Scenario, seed: int, pair, folder: Path | None) -> tuple[int, float, list]:
    """Run a scenario; return its cycles, how long it took, and what went wrong."""
    began = time.monotonic()
    result = run_scenario(scenario, seed, pair, progress=lambda octets: None)
    if folder:
        with (folder / f"{scenario.name}-{seed}.png").open("wb") as file:
            plot_scenario(result, file)
    return result["total_cycles"], time.monotonic() - began, scenario_problems(result)
