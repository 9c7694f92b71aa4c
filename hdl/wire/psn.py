"""Serial arithmetic of packet sequence numbers (RFC 1982)."""

__all__ = ["PSN_BITS", "PSN_MODULUS", "psn_add", "psn_difference"]

#: Width of a PSN, in bits.
PSN_BITS = 24

#: Number of PSNs.
PSN_MODULUS = 1 << PSN_BITS


def psn_add(psn: int, count: int) -> int:
    """Return the PSN ``count`` packets after ``psn``.

    Examples
    --------
    >>> psn_add(0xFFFFFF, 2)
    1
    """
    return (psn + count) % PSN_MODULUS


def psn_difference(psn: int, base: int) -> int:
    """Return how far ``psn`` is ahead of ``base``: negative where it is behind.

    Examples
    --------
    >>> psn_difference(1, 0xFFFFFF), psn_difference(0xFFFFFF, 1)
    (2, -2)
    """
    return (psn - base + PSN_MODULUS // 2) % PSN_MODULUS - PSN_MODULUS // 2
