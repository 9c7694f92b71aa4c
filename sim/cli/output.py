"""Files that are written whole or not at all."""

import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path

import click

__all__ = ["end_figures", "figures_file", "whole_file", "whole_folder"]


@contextlib.contextmanager
def whole_file(path: Path):
    """Open ``path`` for writing octets; it appears when the block ends, and not on an error.

    What is there and no file, such as ``/dev/null``, is written as it is.

    Raises
    ------
    click.ClickException
        If the file cannot be written.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        with _writing(path):
            file = path.open("wb")
        with file:
            yield file
        return
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def whole_folder(path: Path):
    """Give a new folder; its files go into ``path`` when the block ends, and not on an error.

    Raises
    ------
    click.ClickException
        If the folder cannot be written.
    """
    path = path.resolve()
    with _writing(path):
        path.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=path, prefix=".mrcnic-"))
    try:
        yield folder
        for file in folder.iterdir():
            file.replace(path / file.name)
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def _writing(path: Path):
    try:
        yield
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from None


@contextlib.contextmanager
def figures_file(json_file: Path | None):
    """Give a function that writes a result; the file is opened first, and appears at the end."""
    if json_file is None:
        yield lambda result: None
        return
    with whole_file(json_file) as file:
        yield lambda result: file.write(json.dumps(result, indent=2).encode() + b"\n")


def end_figures(json_file: Path | None, problems: list[str]):
    """Tell where the figures are, and end with 1 if there are problems."""
    if json_file:
        click.echo(f"figures: {json_file}")
    if problems:
        raise click.ClickException("; ".join(problems))
