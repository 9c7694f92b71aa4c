"""Waveforms that a simulator writes: kept if they are whole."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import click

from .output import whole_folder

__all__ = ["is_whole_fst", "trace_file"]

#: Kinds of blocks of an FST file. One that is still being written has others, or lacks the
#: geometry and the hierarchy.
_HEADER, _BLACKOUTS, _GEOMETRY = 0, 2, 3
_HIERARCHIES = frozenset({4, 6, 7})
_VALUES = frozenset({1, 5, 8})


def is_whole_fst(path: Path) -> bool:
    """Return whether a file in the FST format was written to its end.

    It is a sequence of blocks: an octet for the kind, eight for the length with themselves.
    """
    octets = path.stat().st_size
    kinds = []
    with path.open("rb") as file:
        while file.tell() < octets:
            head = file.read(9)
            length = int.from_bytes(head[1:], "big")
            if len(head) < 9 or length < 8 or file.tell() + length - 8 > octets:
                return False
            kinds.append(head[0])
            file.seek(length - 8, 1)
    known = {_HEADER, _GEOMETRY, _BLACKOUTS} | _HIERARCHIES | _VALUES
    return (
        kinds[:1] == [_HEADER]
        and set(kinds) <= known
        and _GEOMETRY in kinds
        and not _HIERARCHIES.isdisjoint(kinds)
    )


@contextlib.contextmanager
def trace_file(path: Path) -> Iterator[Path]:
    """Give a path for a simulator to write; ``path`` appears when the block ends.

    A run that fails has waveforms that are worth a look, so these are kept too. Those of a
    simulator that was killed cannot be read, and are removed.

    Raises
    ------
    click.ClickException
        If the file cannot be written, or the simulator has not finished it.
    """
    path = path.resolve()
    with whole_folder(path.parent) as folder:
        written = folder / path.name
        try:
            yield written
        finally:
            whole = written.exists() and is_whole_fst(written)
            for file in folder.iterdir():
                if whole and file == written:
                    file.replace(path)
                else:
                    file.unlink()
    if not whole:
        raise click.ClickException(f"the simulator has not finished {path.name}")
