"""Options that several commands share."""

import re
from dataclasses import fields

import click

from mrcnic.hdl.config import PRESETS, NicConfig

__all__ = ["config_options", "make_config", "parse_numbers", "parse_size"]

_UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def config_options(default: str):
    """Add ``--preset`` and ``--set``; the command gets a checked ``config`` and its ``preset``."""

    def decorate(command):
        command = click.option(
            "--set",
            "overrides",
            multiple=True,
            metavar="FIELD=VALUE",
            help="Change one field of the preset; may be repeated.",
        )(command)
        return click.option(
            "--preset",
            default=default,
            show_default=True,
            metavar="|".join(PRESETS),
            help="Sizes to start from.",
        )(command)

    return decorate


def make_config(preset: str, overrides: tuple[str, ...]) -> NicConfig:
    """Return the configuration that ``--preset`` and ``--set`` ask for.

    Raises
    ------
    click.UsageError
        If there is no such preset or field, or a value is wrong.
    """
    if preset not in PRESETS:
        raise click.UsageError(f"there is no preset {preset}; the presets are {', '.join(PRESETS)}")
    names = [item.name for item in fields(NicConfig)]
    values = {}
    for override in overrides:
        name, _, text = override.partition("=")
        if name not in names:
            raise click.UsageError(f"there is no field {name}; the fields are {', '.join(names)}")
        try:
            values[name] = int(text.replace("_", ""), 0)
        except ValueError:
            raise click.UsageError(
                f"--set takes FIELD=VALUE with a whole number, not {override}"
            ) from None
    try:
        return PRESETS[preset].override(**values)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def parse_size(text: str) -> int:
    """Return the octets that ``text`` names: a number, with KiB, MiB or GiB behind it or not.

    Examples
    --------
    >>> parse_size("4MiB"), parse_size("100")
    (4194304, 100)
    """
    match = re.fullmatch(r"(\d+)(|KiB|MiB|GiB)", text)
    if not match or not int(match[1]):
        raise click.UsageError(f"--size takes a number of octets such as 4096 or 4MiB, not {text}")
    return int(match[1]) * _UNITS[match[2]]


def parse_numbers(text: str) -> list[int]:
    """Return the numbers that ``text`` names: single ones and ranges, with commas between.

    Examples
    --------
    >>> parse_numbers("1-3,7")
    [1, 2, 3, 7]
    """
    numbers = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if not match or (match[2] and int(match[2]) < int(match[1])):
            raise click.UsageError(f"--seeds takes numbers and ranges such as 1-20,33, not {text}")
        numbers += range(int(match[1]), int(match[2] or match[1]) + 1)
    return numbers
