"""Files that are written whole or not at all."""

import contextlib
import os
import tempfile
from pathlib import Path

import click

__all__ = ["whole_file"]


@contextlib.contextmanager
def whole_file(path: Path):
    """Open ``path`` for writing octets; it appears when the block ends, and not on an error.

    Raises
    ------
    click.ClickException
        If the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
