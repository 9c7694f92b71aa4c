"""Widths that rooms share. No logic."""

from mrcnic.hdl.config import NicConfig

__all__ = ["NOW_BITS", "index_bits", "slot_bits"]

#: Width of ``now``, in bits: readings are told apart over 1.07 s (half of 2**24 ticks of 128 ns).
NOW_BITS = 24


def index_bits(count: int) -> int:
    """Return the width of an index below ``count``, at least 1.

    Examples
    --------
    >>> index_bits(1), index_bits(16), index_bits(17)
    (1, 4, 5)
    """
    return max(1, (count - 1).bit_length())


def slot_bits(config: NicConfig) -> int:
    """Return the width of a slot number."""
    return index_bits(config.slots)
