"""From ``keep`` of a beat to the place of its last octet, and back."""

from amaranth.hdl import Cat, Const, Value

__all__ = ["end_to_keep", "keep_to_end"]


def keep_to_end(keep: Value) -> Value:
    """Return the place of the last octet of ``keep``, which is ``2**n - 1`` with ``n > 0``.

    Bit ``n`` of that place is the parity of those bits of ``keep`` whose place is a multiple of
    ``2**n``, without place 0: each of them says that one more multiple was reached.
    """
    octets = len(keep)
    places = []
    for n in range((octets - 1).bit_length()):
        mask = sum(1 << place for place in range(1 << n, octets, 1 << n))
        places.append((keep & mask).xor())
    return Cat(places)


def end_to_keep(end: Value, octets: int) -> Value:
    """Return ``keep`` of a beat of ``octets`` octets, the last of which is at place ``end``."""
    return Cat(Const(1, 1), *(end >= place for place in range(1, octets)))
