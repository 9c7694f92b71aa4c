"""Headers on their way to be put in front of payload. No logic."""

from amaranth.hdl import ShapeLike, signed
from amaranth.lib import data

from mrcnic.hdl.wire.headers import ETHERNET

__all__ = ["WORD_OCTETS", "FrameNote", "HeaderBlock", "place_of"]

#: All headers behind the first are made of words of so many octets. The first, Ethernet's, is two
#: octets longer than some of them.
WORD_OCTETS = 4


def place_of(octets: int) -> int:
    """Return the number of words in front of what starts so many octets behind a frame's start.

    Examples
    --------
    >>> place_of(14), place_of(54)
    (3, 13)
    """
    place, rest = divmod(octets - ETHERNET.octets % WORD_OCTETS, WORD_OCTETS)
    if rest:
        raise ValueError(f"octets must be two more than a multiple of {WORD_OCTETS}, not {octets}")
    return place


class FrameNote(data.StructLayout):
    """What is told of a frame to the stages behind the inserter.

    Members
    -------
    place : signed
        Where the inner IP header starts, as of :func:`place_of`. One of IPv4 counts as if there
        were as many octets in front of it as make it as long as one of IPv6.
    ipv4 : 1
        It is one of IPv4.
    control : 1
        The packet's role is CONTROL.
    """

    def __init__(self):
        super().__init__({"place": signed(7), "ipv4": 1, "control": 1})


class HeaderBlock(data.StructLayout):
    """A beat of a packet's headers, and what follows them.

    Parameters
    ----------
    octets : :class:`int`
        Octets of a beat; a power of two.
    packet_octets : :class:`int`
        Longest packet.
    user_shape : :ref:`shape-like <lang-shapelike>`
        Shape of ``user``.

    Members
    -------
    octets : ``8 * octets``
        Headers, the first octet in the least significant bits; zero behind their end.
    more : 1
        Another beat of headers follows; this one is full of them.
    length : ``range(octets)``
        Octets of headers in the last beat of them; 0 if it is full. The same in all beats.
    payload : 1
        A packet of payload follows. The same in all beats.
    end : ``range(packet_octets)``
        Octets of the whole packet (headers, payload, pad and trailer) less one. The same in all
        beats.
    user : ``user_shape``
        Comes out in ``user`` of every beat. The same in all beats.
    """

    def __init__(self, octets: int, packet_octets: int, user_shape: ShapeLike):
        super().__init__({
            "octets": 8 * octets,
            "more": 1,
            "length": range(octets),
            "payload": 1,
            "end": range(packet_octets),
            "user": user_shape,
        })
