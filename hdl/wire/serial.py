"""Serial arithmetic (RFC 1982) as gateware: the one helper that compares numbers that wrap."""

from amaranth.hdl import Value

__all__ = ["ahead"]


def ahead(number: Value, base: Value) -> Value:
    """Return how far ``number`` is ahead of ``base``, signed; both are equally wide.

    Right as long as the true distance is less than half the number space. Sums are as cheap:
    ``(number + 1)[:24]``.

    Raises
    ------
    ValueError
        If the widths differ.
    """
    number, base = Value.cast(number), Value.cast(base)
    if len(number) != len(base):
        raise ValueError(
            f"base must be {len(number)} bits wide, like the number, not {len(base)} bits"
        )
    return (number - base)[: len(number)].as_signed()
