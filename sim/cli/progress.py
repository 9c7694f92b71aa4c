"""What a user sees while a command works."""

import contextlib

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from mrcnic.hdl.config import NicConfig
from mrcnic.sim.bench.build import Build
from mrcnic.sim.scenarios.run import build

__all__ = ["build_steps", "items_bar", "octets_bar", "steps"]

#: Steps of a build, in words.
_STEPS = {"generate": "generate Verilog", "compile": "compile"}

_NAME = TextColumn("{task.description:<20}")


@contextlib.contextmanager
def steps(console: Console):
    """Give a function that takes the name of each step as it begins; show how long each takes."""
    with Progress(SpinnerColumn(finished_text="+"), _NAME, TimeElapsedColumn(), console=console,
                  disable=not console.is_terminal) as bar:  # fmt: skip
        tasks = []

        def begin(step: str):
            end()
            tasks.append(bar.add_task(step, total=1))
            if not console.is_terminal:
                console.print(f"{step} ...")

        def end():
            if tasks:
                bar.update(tasks[-1], completed=1)

        yield begin
        end()


def build_steps(
    console: Console, config: NicConfig, *, simulator: str = "verilator", trace: bool = False
) -> Build:
    """Build two NICs, or find them built, and show the steps."""
    with steps(console) as begin:
        return build(
            config, simulator=simulator, trace=trace, progress=lambda step: begin(_STEPS[step])
        )


@contextlib.contextmanager
def octets_bar(console: Console, name: str, *, total: int):
    """Give a function that takes how many octets are done; show them as a bar."""
    with Progress(
        _NAME, BarColumn(), DownloadColumn(), TimeElapsedColumn(), console=console
    ) as bar:
        task = bar.add_task(name, total=total)
        yield lambda octets: bar.update(task, completed=octets)


@contextlib.contextmanager
def items_bar(console: Console, name: str, *, total: int):
    """Give a function that takes the name of each item that is done; show how many they are."""
    with Progress(
        _NAME, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[item]}"), console=console, disable=not console.is_terminal,
    ) as bar:  # fmt: skip
        task = bar.add_task(name, total=total, item="")
        yield lambda item: bar.update(task, advance=1, item=item)
