"""Bench: transfers one after the other, with a reset before each."""

import cocotb

from .report import read_spec, tell, tell_result
from .transfer import Transfer

__all__ = ["finish", "transfer"]

_ITEMS = read_spec()["items"]

_told: list[int] = []


@cocotb.test()
@cocotb.parametrize(item=range(len(_ITEMS)))
async def transfer(dut, item: int):
    """Do a transfer, and tell what came of it, if only that something broke."""
    number, spec = _ITEMS[item]
    try:
        found = {"outcome": await Transfer(dut, spec).run()}
    except Exception as error:  # the others are to be run all the same
        found = {"broken": f"{type(error).__name__}: {error}"}
    _told.append(item)
    tell(item=item, run=number, **found)


@cocotb.test()
async def finish(dut):
    """Tell that all have been run, unless one of them broke in a task of its own."""
    if len(_told) == len(_ITEMS):
        tell_result({})
