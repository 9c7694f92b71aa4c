"""What the stages of a receiving lane pass to each other. No logic, no back-pressure."""

from amaranth.lib import data

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.inwards import RxDescriptor
from mrcnic.hdl.wire import headers

__all__ = [
    "INNER_SKEW",
    "MAX_SRH_UNITS",
    "FrameBeat",
    "FrameNotes",
    "HeaderFields",
    "InnerBeat",
    "Piece",
    "QueuedFields",
    "max_frame_octets",
]

#: Longest segment routing header that is skipped: its header_length. Eight segments take 16 of it,
#: which leaves 64 octets for TLVs.
MAX_SRH_UNITS = 24

#: Inner packets start at so many octets past a multiple of 8: an Ethernet header takes 14, an IPv6
#: header and any routing header take multiples of 8.
INNER_SKEW = headers.ETHERNET.octets % 8

#: Width of a frame's length, in octets.
_LENGTH_BITS = 15


def max_frame_octets(config: NicConfig) -> int:
    """Return the length of the longest frame that is looked at; longer ones are oversize.

    Examples
    --------
    >>> max_frame_octets(NicConfig())
    4442
    """
    outer = headers.ETHERNET.octets + headers.IPV6.octets + 8 * (MAX_SRH_UNITS + 1)
    inner = headers.IPV6.octets + headers.UDP.octets + headers.BTH.octets
    extension = (headers.METH, headers.TSETH, headers.RETH, headers.IMMDT, headers.ICRC)
    return outer + inner + sum(header.octets for header in extension) + config.mtu


class FrameNotes(data.StructLayout):
    """What the first 64 octets of a frame say. The same in all beats of the frame.

    Members
    -------
    disabled : 1
        The port was not enabled when the frame began.
    not_ipv6, bad_version, foreign, bad_srh, srh_unsupported, bad_next_header : 1
        Reasons to drop it. ``foreign``: the outer header is not for this port.
    trimmed, last_hop, ce : 1
        From the traffic class of the outermost IPv6 header; ``last_hop`` only with ``trimmed``.
    tunnel : 1
        There is an outer IPv6 header.
    start : 5
        The inner packet starts at octet ``6 + 8 * start``.
    payload_length : 16
        Of the outermost IPv6 header.
    """

    def __init__(self):
        super().__init__({
            "disabled": 1,
            "not_ipv6": 1,
            "bad_version": 1,
            "foreign": 1,
            "bad_srh": 1,
            "srh_unsupported": 1,
            "bad_next_header": 1,
            "trimmed": 1,
            "last_hop": 1,
            "ce": 1,
            "tunnel": 1,
            "start": 5,
            "payload_length": 16,
        })


class FrameBeat(data.StructLayout):
    """One beat of a frame from the MAC, with notes.

    Members
    -------
    valid : 1
        There is a beat.
    last : 1
        Last of its frame.
    data : ``8 * beat_octets``
        Octets, the first in the least significant bits.
    end : ``range(beat_octets)``
        Place of the last octet.
    bad : 1
        With ``last``: the MAC says that the frame is bad.
    index : number of the beat within its frame; stays at its highest value in longer ones
    notes : :class:`FrameNotes`
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": 1,
            "last": 1,
            "data": 8 * config.beat_octets,
            "end": range(config.beat_octets),
            "bad": 1,
            "index": range(max_frame_octets(config) // config.beat_octets + 2),
            "notes": FrameNotes(),
        })


class InnerBeat(data.StructLayout):
    """One beat of an inner packet, which starts at octet 0 of its first beat.

    There is at least one beat for each frame.

    Members
    -------
    valid, first, last, data, end : as in :class:`FrameBeat`
    empty : 1
        With ``last``: the frame ended before the inner packet started.
    bad : 1
        With ``last``: as in :class:`FrameBeat`.
    octets : 15
        With ``last``: length of the frame.
    notes : :class:`FrameNotes`
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": 1,
            "first": 1,
            "last": 1,
            "data": 8 * config.beat_octets,
            "end": range(config.beat_octets),
            "empty": 1,
            "bad": 1,
            "octets": _LENGTH_BITS,
            "notes": FrameNotes(),
        })


class Piece(data.StructLayout):
    """One beat of payload.

    Members
    -------
    last, data, end : as in :class:`FrameBeat`
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "last": 1,
            "data": 8 * config.beat_octets,
            "end": range(config.beat_octets),
        })


class QueuedFields(data.StructLayout):
    """A receive descriptor but for ``lane``, which is the same in all descriptors of a lane."""

    def __init__(self, config: NicConfig):
        super().__init__(_members(config, without=("lane",)))


class HeaderFields(data.StructLayout):
    """A receive descriptor as far as the headers tell."""

    def __init__(self, config: NicConfig):
        super().__init__(_members(config, without=("lane", "octets", "payload", "no_room")))


def _members(config, without):
    return {name: entry.shape for name, entry in RxDescriptor(config) if name not in without}
