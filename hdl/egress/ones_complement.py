"""Sums in ones' complement, of which checksums of the internet are made (RFC 1071)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from mrcnic.hdl.wire.headers import Header

__all__ = ["WORD_BITS", "add_with_wrap", "compress", "words_with"]

#: Bits of the numbers that are added.
WORD_BITS = 16


def add_with_wrap(m: Module, one: Value, other: Value, *, name: str) -> Value:
    """Return the sum; what is carried out at the top comes in at the bottom.

    The carry chooses between two sums, so that there is one adder in the path and not two.
    """
    plain = Signal(WORD_BITS + 1, name=f"{name}_plain")
    wrapped = Signal(WORD_BITS, name=f"{name}_wrapped")
    m.d.comb += plain.eq(one + other)
    m.d.comb += wrapped.eq(one + other + 1)
    return Mux(plain[-1], wrapped, plain[:WORD_BITS])


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
