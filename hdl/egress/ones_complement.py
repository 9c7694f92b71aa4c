"""Sums in ones' complement, of which checksums of the internet are made (RFC 1071)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from mrcnic.hdl.wire.headers import Header

__all__ = ["WORD_BITS", "add_halves", "add_with_wrap", "compress", "join_halves", "words_with"]

#: Bits of the numbers that are added.
WORD_BITS = 16

_HALF = WORD_BITS // 2


def add_with_wrap(m: Module, one: Value, other: Value, *, name: str) -> Value:
    """Return the sum; what is carried out at the top comes in at the bottom."""
    return join_halves(add_halves(m, one, other, name=name))


def add_halves(m: Module, one: Value, other: Value, *, name: str) -> Value:
    """Return what :func:`join_halves` makes the sum of.

    That are the sums of the low and of the high halves, each without a carry in and with one, so
    that there is half an adder in the path.
    """
    sums = []
    for part in (slice(_HALF), slice(_HALF, WORD_BITS)):
        for carry in range(2):
            total = Signal(_HALF + 1, name=f"{name}_{part.start or 0}_{carry}")
            m.d.comb += total.eq(one[part] + other[part] + carry)
            sums.append(total)
    return Cat(sums)


def join_halves(halves: Value) -> Value:
    """Return the sum, by a choice; what is carried out at the top comes in at the bottom."""
    low, low_more, high, high_more = (
        halves[start : start + _HALF + 1] for start in range(0, len(halves), _HALF + 1)
    )
    wraps = Mux(low[-1], high_more[-1], high[-1])
    carries = Mux(wraps, low_more[-1], low[-1])
    return Cat(
        Mux(wraps, low_more[:_HALF], low[:_HALF]),
        Mux(carries, high_more[:_HALF], high[:_HALF]),
    )


def compress(one: Value, other: Value, third: Value) -> tuple[Value, Value]:
    """Return two numbers that have the sum of three, without an adder."""
    sums = one ^ other ^ third
    carries = (one & other) | (one & third) | (other & third)
    return sums, carries.rotate_left(1)


def words_with(header: Header, **fields) -> list[Value]:
    """Return those numbers of a header that have bits of ``fields``, with all others zero."""
    parts = [
        (name, Value.cast(fields.get(name, Const(0, width)))[:width])
        for name, width in header.fields.items()
    ]
    number = Cat(value for _, value in reversed(parts))
    names = [name for name, width in reversed(header.fields.items()) for _ in range(width)]
    return [
        number[start : start + WORD_BITS]
        for start in range(0, len(number), WORD_BITS)
        if set(names[start : start + WORD_BITS]) & fields.keys()
    ]
