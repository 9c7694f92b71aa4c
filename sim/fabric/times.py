"""Times as people write them, in picoseconds."""

import re
from fractions import Fraction

__all__ = ["parse_time"]

_PICOSECONDS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ps|ns|us|ms|s)")


def parse_time(text: str) -> int:
    """Return a time in picoseconds.

    Raises
    ------
    ValueError
        If it is not a number with a unit.

    Examples
    --------
    >>> parse_time("1.5us")
    1500000
    """
    match = _TIME.fullmatch(text.strip())
    if not match:
        raise ValueError(
            f"a time must be a number with {', '.join(_PICOSECONDS)} behind it, not {text!r}"
        )
    return int(Fraction(match[1]) * _PICOSECONDS[match[2]])
