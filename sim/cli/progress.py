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

__all__ = ["items_bar", "octets_bar", "steps"]

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
