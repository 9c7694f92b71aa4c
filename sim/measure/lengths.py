"""Lengths of frames that are worth a measurement, and how fast a line carries them."""

__all__ = ["LINE_GBPS", "frame_lengths", "line_mpps", "packet_lengths"]

#: Rate of a port.
LINE_GBPS = 100

#: Octets per frame besides its own: check sequence, then preamble and gap (IEEE 802.3).
_AROUND = 4 + 20

_SHORTEST, _LONGEST = 60, 9216


def line_mpps(octets: int) -> float:
    """Return how many million frames of so many octets a line of 100 Gb/s carries in a second.

    Parameters
    ----------
    octets : :class:`int`
        Length without frame check sequence.

    Examples
    --------
    >>> round(line_mpps(60), 1)
    148.8
    """
    return LINE_GBPS * 1e3 / ((octets + _AROUND) * 8)


def frame_lengths(beat_octets: int) -> list[int]:
    """Return lengths of any frames: the shortest, around multiples of a beat, and long ones.

    Examples
    --------
    >>> frame_lengths(64)[:9]
    [60, 64, 65, 127, 128, 129, 191, 192, 193]
    """
    around = [n * beat_octets + more for n in (1, 2, 3, 4, 8) for more in (-1, 0, 1)]
    chosen = {*around, 60, 64, 65, 512, 1024, 1025, 1518, 4096, 4442, 9216}
    return sorted(octets for octets in chosen if _SHORTEST <= octets <= _LONGEST and octets != 63)


def packet_lengths(beat_octets: int, *, longest: int) -> list[int]:
    """Return lengths of frames with a packet in them, which are two more than a multiple of four.

    Parameters
    ----------
    longest : :class:`int`
        Of the packets with the most payload.

    Examples
    --------
    >>> packet_lengths(64, longest=4198)[:6]
    [62, 66, 126, 130, 190, 194]
    """
    around = [n * beat_octets + more for n in (1, 2, 3, 4, 5, 8) for more in (-2, 2)]
    chosen = {*around, 514, 1026, 1518, longest}
    return sorted(octets for octets in chosen if octets <= longest)
