"""``mrcnic generate``: the NIC as one Verilog file."""

import re
from pathlib import Path

import click
from rich.console import Console

from mrcnic.sim.bench.build import nic_verilog

from .options import config_options, make_config
from .output import whole_file

__all__ = ["generate"]


@click.command(epilog="Example: mrcnic generate --preset 100g -o nic.v")
@config_options(default="100g")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Verilog file to write.",
)
@click.option("--name", default="mrcnic", show_default=True, help="Name of the top module.")
def generate(preset, overrides, output, name):
    """Write the NIC as Verilog, with AXI4, AXI4-Lite and AXI4-Stream ports."""
    config = make_config(preset, overrides)
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
        raise click.UsageError(f"--name takes a Verilog identifier, not {name}")
    with Console(stderr=True).status(f"generating {preset}"), whole_file(output) as file:
        try:
            text = nic_verilog(config, name=name)
        except RuntimeError as error:
            raise click.ClickException(str(error)) from None
        file.write(text.encode())
    click.echo(f"{output}: module {name}, {text.count(chr(10)):,} lines")
