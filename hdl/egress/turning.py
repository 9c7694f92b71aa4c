"""Turning a value by a number of units that is only known when it comes."""

from amaranth.hdl import Module, Signal, Value

__all__ = ["turned"]

#: Bits of the amount that one choice does: a choice of four is one LUT of six inputs for each bit.
_DIGIT = 2


def turned(m: Module, value: Value, amount: Value, *, unit: int, name: str) -> Value:
    """Return ``value`` turned to the left by ``amount`` units of ``unit`` bits, in no time."""
    for start in range(0, len(amount), _DIGIT):
        digit = amount[start : start + _DIGIT]
        after = Signal(len(value), name=f"{name}_{start}")
        with m.Switch(digit):
            for number in range(1 << len(digit)):
                with m.Case(number):
                    m.d.comb += after.eq(value.rotate_left(unit * number << start))
        value = after
    return value
