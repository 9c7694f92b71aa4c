"""Turning a value by a number of units that is only known when it comes."""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Module, Mux, Signal, Value

__all__ = ["chosen", "turned"]

#: Bits of the amount that one choice does: a choice of four is one LUT of six inputs for each bit.
_DIGIT = 2


def chosen(values: Sequence[Value], number: Value) -> Value:
    """Return the value of this number; where there is none, one of the others.

    A tree of choices between two is what Yosys makes the most of: of a switch, it decodes each case
    by itself.
    """
    values = list(values)
    for bit in number:
        pairs = [values[n : n + 2] for n in range(0, len(values), 2)]
        values = [Mux(bit, pair[1], pair[0]) if len(pair) == 2 else pair[0] for pair in pairs]
    return values[0]


def turned(
    m: Module, value: Value, amount: Value, *, unit: int, name: str, flat: bool = False
) -> Value:
    """Return ``value`` turned to the left by ``amount`` units of ``unit`` bits, in no time.

    Bits share halves of their choices, unless they are ``flat``, which are sums of products: with
    logic before and behind, Yosys makes fewer levels of these, of more LUTs.
    """
    for start in range(0, len(amount), _DIGIT):
        digit = amount[start : start + _DIGIT]
        after = Signal(len(value), name=f"{name}_{start}")
        turns = [value.rotate_left(unit * number << start) for number in range(1 << len(digit))]
        if flat:
            terms = [
                turn & (digit == number).replicate(len(value)) for number, turn in enumerate(turns)
            ]
            m.d.comb += after.eq(reduce(or_, terms))
        else:
            m.d.comb += after.eq(chosen(turns, digit))
        value = after
    return value
