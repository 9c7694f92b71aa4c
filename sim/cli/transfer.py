"""``mrcnic sim transfer``: a file from A to B, across a fabric that loses packets."""

import contextlib
import json
import os
import time
from dataclasses import asdict, replace
from pathlib import Path

import click
from rich.console import Console

from mrcnic.sim.bench.runner import SIMULATORS
from mrcnic.sim.fabric.linux.namespaces import check_support
from mrcnic.sim.report.transfer import plot_transfer, problems, transfer_tables
from mrcnic.sim.scenarios.run import simulate
from mrcnic.sim.scenarios.transfer import FABRICS, TransferSpec

from .options import config_options, make_config, parse_size
from .output import whole_file, whole_folder
from .progress import build_steps, octets_bar
from .waveforms import trace_file

__all__ = ["transfer"]


@click.command(epilog="Example: mrcnic sim transfer --size 4MiB --drop 0.01 --fail p0t10@60us")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--size", metavar="OCTETS", help="Send so much random content instead of a file.")
@config_options(default="sim")
@click.option(
    "--simulator", default="verilator", show_default=True, metavar="|".join(SIMULATORS),
    help="What runs the Verilog.",
)  # fmt: skip
@click.option(
    "--fabric", default="model", show_default=True, metavar="|".join(FABRICS),
    help="Modelled switches, or the Linux kernel's (needs root).",
)  # fmt: skip
@click.option("--qps", default=4, show_default=True, help="Queue pairs to spread the file over.")
@click.option("--drop", default=0.0, show_default=True, help="Chance of losing a packet.")
@click.option(
    "--fail", "failures", multiple=True, metavar="NODE@TIME[-TIME]",
    help="Switch or link that dies at a time, such as p0t10@20us, or gets worse, such as "
    "p0t10@20us:drop=0.1; may be repeated.",
)  # fmt: skip
@click.option("--plain", is_flag=True, help="Plain IPv6 instead of SRv6.")
@click.option("--psn", default=None, metavar="PSN", help="First PSN of every queue pair.")
@click.option("--seed", default=0, show_default=True, help="Seed of content, losses and PSNs.")
@click.option(
    "--trace", type=click.Path(dir_okay=False, path_type=Path),
    help="FST file for the waveforms of both NICs, which GTKWave and Surfer show.",
)  # fmt: skip
@click.option("--pcap", type=click.Path(path_type=Path), help="Folder for a capture of each port.")
@click.option("--plot", type=click.Path(path_type=Path), help="PNG file for a plot over time.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="File for the figures.")
def transfer(
    file, size, preset, overrides, simulator, fabric, qps, drop, failures, plain, psn, seed,
    trace, pcap, plot, json_file,
):  # fmt: skip
    """Let A send FILE, or seeded content, to B by RDMA WRITE; compare what arrives."""
    spec = TransferSpec(
        config=make_config(preset, overrides),
        file=_content(file, size),
        size=0 if size is None else parse_size(size),
        fabric=fabric,
        qps=qps,
        drop=drop,
        failures=failures,
        srv6=not plain,
        psn=_psn(psn),
        seed=seed,
    )
    if simulator not in SIMULATORS:
        raise click.UsageError(
            f"there is no simulator {simulator}; the simulators are {', '.join(SIMULATORS)}"
        )
    try:
        spec.check()
    except ValueError as error:
        raise click.UsageError(str(error)) from None

    console = Console(highlight=False)
    title = f"{spec.octets:,} octets, preset {preset}, {simulator}, seed {seed}"
    with contextlib.ExitStack() as outputs:
        # Opened first: who waits for minutes is not told then that a file cannot be written.
        if pcap:
            folder = outputs.enter_context(whole_folder(pcap))
            spec = replace(spec, pcap=str(folder))
        trace_path = trace and outputs.enter_context(trace_file(trace))
        plot_output = plot and outputs.enter_context(whole_file(plot))
        json_output = json_file and outputs.enter_context(whole_file(json_file))
        try:
            result = _run(spec, simulator, console, trace_path)
        except RuntimeError as error:
            raise click.ClickException(str(error)) from None
        if plot:
            plot_transfer(result, plot_output, title=title)
        if json_file:
            json_output.write(json.dumps(result, indent=2).encode() + b"\n")

    for table in transfer_tables(result, title=title):
        console.print(table)
    for name, path in (
        ("waveforms", trace),
        ("captures", pcap),
        ("plot", plot),
        ("figures", json_file),
    ):
        if path:
            click.echo(f"{name}: {path}")
    if found := problems(result):
        raise click.ClickException("; ".join(found))


def _content(file: Path | None, size: str | None) -> str | None:
    if (file is None) == (size is None):
        raise click.UsageError("give either FILE or --size")
    if file is None:
        return None
    if not file.is_file():
        raise click.UsageError(f"there is no file {file}")
    if not os.access(file, os.R_OK):
        raise click.UsageError(f"{file} must not be read")
    if not file.stat().st_size:
        raise click.UsageError(f"{file} is empty: there is nothing to send")
    return str(file.absolute())


def _psn(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        psn = int(text, 0)
    except ValueError:
        psn = -1
    if psn not in range(1 << 24):
        raise click.UsageError(f"--psn takes a number from 0 to 0xffffff, not {text}")
    return psn


def _run(spec: TransferSpec, simulator: str, console: Console, trace: Path | None) -> dict:
    if spec.fabric == "linux":
        check_support()  # who waits for a build is not told only then
    pair = build_steps(console, spec.config, simulator=simulator, trace=trace is not None)
    with octets_bar(console, "transfer", total=spec.octets) as done:
        began = time.monotonic()
        result = simulate(
            pair,
            "mrcnic.sim.bench.tb_transfer",
            {**asdict(spec), "max_cycles": spec.max_cycles, "event_names": pair.event_names},
            progress=lambda news: done(news["octets"]),
            seed=spec.seed,
            trace=trace,
        )
        if result["finished"]:
            done(spec.octets)
    result["wall_seconds"] = time.monotonic() - began
    result["cycles_per_second"] = result["total_cycles"] / result["wall_seconds"]
    return result
