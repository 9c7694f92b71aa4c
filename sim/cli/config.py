"""``mrcnic config``: every size, with its unit and limits."""

import json
from dataclasses import fields

import click
from rich import box
from rich.console import Console
from rich.table import Table

from .options import config_options, make_config

__all__ = ["config"]


def _limit(allowed) -> str:
    kind = "" if isinstance(allowed, range) else ", powers of two"
    return f"{allowed[0]:,} to {allowed[-1]:,}{kind}"


@click.command(epilog="Example: mrcnic config --preset 100g --set qps=64")
@config_options(default="sim")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def config(preset, overrides, as_json):
    """Show every field of a configuration: value, unit, limits."""
    chosen = make_config(preset, overrides)
    if as_json:
        click.echo(
            json.dumps({item.name: getattr(chosen, item.name) for item in fields(chosen)}, indent=2)
        )
        return
    table = Table(title=f"preset {preset}", box=box.SIMPLE_HEAD, title_justify="left")
    for heading in ("field", "value", "unit", "limits", "meaning"):
        table.add_column(heading, justify="right" if heading == "value" else "left")
    for item in fields(chosen):
        table.add_row(
            item.name,
            f"{getattr(chosen, item.name):,}",
            item.metadata["unit"],
            _limit(item.metadata["allowed"]),
            item.metadata["meaning"],
        )
    Console().print(table)
