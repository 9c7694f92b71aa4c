"""``mrcnic generate``: the NIC as one Verilog file, and what its ports are."""

import contextlib
import json
import re
from pathlib import Path

import click
from rich.console import Console

from mrcnic.sim.bench.build import nic_verilog
from mrcnic.sim.report.interface import nic_interface

from .options import config_options, make_config
from .output import whole_file

__all__ = ["generate"]

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(epilog="Example: mrcnic generate --preset 100g -o nic.v --interface nic.json")
@config_options(default="100g")
@click.option("-o", "--output", type=_FILE, help="Verilog file to write.")
@click.option(
    "--interface", type=_FILE, help="JSON file to write: each port with its width and meaning."
)
@click.option("--name", default="mrcnic", show_default=True, help="Name of the top module.")
def generate(preset, overrides, output, interface, name):
    """Write the NIC as Verilog, with AXI4, AXI4-Lite and AXI4-Stream ports."""
    config = make_config(preset, overrides)
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
        raise click.UsageError(f"--name takes a Verilog identifier, not {name}")
    if not output and not interface:
        raise click.UsageError("give -o, --interface, or both")
    told = []
    # Opened first: who waits for a minute is not told then that a file cannot be written.
    with Console(stderr=True).status(f"generating {preset}"), contextlib.ExitStack() as outputs:
        verilog_file = output and outputs.enter_context(whole_file(output))
        interface_file = interface and outputs.enter_context(whole_file(interface))
        try:
            if output:
                text = nic_verilog(config, name=name)
                verilog_file.write(text.encode())
                told.append(f"{output}: module {name}, {text.count(chr(10)):,} lines")
            if interface:
                found = nic_interface(config, module=name)
                interface_file.write(json.dumps(found, indent=2).encode() + b"\n")
                told.append(f"{interface}: {len(found['ports'])} ports of {name}")
        except (RuntimeError, ValueError) as error:
            raise click.ClickException(str(error)) from None
    for line in told:
        click.echo(line)
