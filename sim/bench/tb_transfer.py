"""Bench: a transfer."""

import cocotb

from .report import read_spec, tell_result
from .transfer import Transfer

__all__ = ["transfer"]


@cocotb.test()
async def transfer(dut):
    """Do what the specification says, and tell what came of it."""
    tell_result(await Transfer(dut, read_spec()).run())
