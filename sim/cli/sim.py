"""``mrcnic sim``: simulations."""

import click

from .campaign import campaign
from .loss_sweep import loss_sweep
from .scenario import SCENARIO_COMMANDS, scenarios
from .transfer import transfer

__all__ = ["sim"]

#: Commands of the group, each an experiment.
_SCENARIOS = (transfer, campaign, loss_sweep, *SCENARIO_COMMANDS, scenarios)


@click.group(epilog="Example: mrcnic sim transfer --size 1MiB --drop 0.01")
def sim():
    """Run two NICs and a fabric in a simulator."""


@sim.command("list", epilog="Example: mrcnic sim list")
def list_scenarios():
    """List what can be simulated."""
    for scenario in _SCENARIOS:
        click.echo(f"{scenario.name:<15} {scenario.get_short_help_str(100)}")


for _scenario in _SCENARIOS:
    sim.add_command(_scenario)
