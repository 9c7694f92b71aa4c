"""Lengths of frames on the line, and what storing them takes. No logic."""

__all__ = ["MAX_FRAME_OCTETS", "MIN_FRAME_OCTETS", "crossing_depth"]

#: Shortest and longest frame, without frame check sequence: IEEE 802.3's least, and the customary
#: jumbo frame. The longest is a whole number of beats of any size.
MIN_FRAME_OCTETS = 60
MAX_FRAME_OCTETS = 9216


def crossing_depth(beat_octets: int) -> int:
    """Return the beats that a crossing takes: two of the longest frames, and a power of two.

    While one frame leaves, the next one arrives.

    Examples
    --------
    >>> crossing_depth(64), crossing_depth(8)
    (512, 4096)
    """
    return 1 << (2 * MAX_FRAME_OCTETS // beat_octets - 1).bit_length()
