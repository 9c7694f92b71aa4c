"""``mrcnic``: generate Verilog, run simulations, read captures, show configurations."""

import importlib.metadata
import signal
import sys

import click

from .bench import bench
from .board import board
from .config import config
from .decode import decode
from .generate import generate
from .sim import sim

__all__ = ["cli", "main"]


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: mrcnic sim transfer --size 1MiB --drop 0.01",
)
@click.version_option(importlib.metadata.version("mrcnic"), prog_name="mrcnic")
def cli():
    """Open hardware implementation of MRC, the multipath RDMA transport."""


cli.add_command(bench)
cli.add_command(board)
cli.add_command(config)
cli.add_command(decode)
cli.add_command(generate)
cli.add_command(sim)


class _Interrupted(SystemExit):
    """End of the command by a signal, as an exception: files and processes are tidied up."""


def _interrupt(number, frame):
    raise _Interrupted(128 + number)


def main():
    """Run the command line: exit 2 on wrong usage, 1 when a run failed."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        cli.main(prog_name="mrcnic", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.UsageError as error:
        # One line: what is wrong. `--help` has the rest.
        _end(error.format_message(), 2)
    except click.ClickException as error:
        _end(error.format_message(), error.exit_code)
    except _Interrupted as interrupted:
        _end("interrupted", interrupted.code)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        _end(str(error), 1)


def _end(message: str, code: int):
    # A tool that failed may have had much to say; its last line is the error.
    click.echo(f"mrcnic: {message.strip().splitlines()[-1]}", err=True)
    sys.exit(code)
