"""What the stages of a receiving lane pass to each other. No logic, no back-pressure."""

from amaranth.lib import data

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.inwards import RxDescriptor
from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.layout import HeaderLayout

__all__ = [
    "MAX_FRAME_OCTETS",
    "MAX_SRH_UNITS",
    "START_SKEW",
    "START_UNIT",
    "FrameBeat",
    "FrameNotes",
    "HeaderFields",
    "InnerBeat",
    "Piece",
    "QueuedFields",
]

#: Longest frame that is taken, without its check sequence; longer ones are oversize.
MAX_FRAME_OCTETS = 9216

#: Longest segment routing header that is skipped: its header_length. Eight segments take 16 of it,
#: which leaves 64 octets for TLVs.
MAX_SRH_UNITS = 24

#: Inner packets start at so many octets past a multiple of 4: an Ethernet header takes 14, all
#: other headers multiples of 4.
START_UNIT = 4
START_SKEW = headers.ETHERNET.octets % START_UNIT

#: Width of a frame's length, in octets.
_LENGTH_BITS = 15


class FrameNotes(data.StructLayout):
    """What the first 70 octets of a frame say, without a verdict.

    Members
    -------
    disabled : 1
        The port was not enabled when the frame began.
    tags : 2
        VLAN tags.
    other_vlan, not_ip, bad_version : 1
        Tags other than those of the port; neither IPv6 nor IPv4; another version than the type
        says.
    ipv4 : 1
        IPv4, which is its own inner packet.
    tunnel, routed : 1
        There is an outer IPv6 header; a routing header follows it.
    own : 1
        The outermost destination starts with block and uSID of the port.
    trimmed, last_hop, ce : 1
        From the traffic class of the outermost IP header; ``last_hop`` only with ``trimmed``.
    start : 7
        The inner packet starts at octet ``START_SKEW + START_UNIT * start``.
    payload_length : 16
        Of the outermost IPv6 header.
    srh : ``HeaderLayout(SRH)``
        Of the routing header, where there is one.
    """

    def __init__(self):
        super().__init__({
            "disabled": 1,
            "tags": 2,
            "other_vlan": 1,
            "not_ip": 1,
            "bad_version": 1,
            "ipv4": 1,
            "tunnel": 1,
            "routed": 1,
            "own": 1,
            "trimmed": 1,
            "last_hop": 1,
            "ce": 1,
            "start": 7,
            "payload_length": 16,
            "srh": HeaderLayout(headers.SRH),
        })


class FrameBeat(data.StructLayout):
    """One beat of a frame from the MAC, with notes.

    Members
    -------
    valid : 1
        There is a beat.
    first, last : 1
        First and last of its frame.
    data : ``8 * beat_octets``
        Octets, the first in the least significant bits.
    end : ``range(beat_octets)``
        Place of the last octet.
    bad : 1
        With ``last``: the MAC says that the frame is bad.
    index : number of the beat within its frame; stays at its highest value in longer ones
    notes : :class:`FrameNotes`
        With ``first``.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": 1,
            "first": 1,
            "last": 1,
            "data": 8 * config.beat_octets,
            "end": range(config.beat_octets),
            "bad": 1,
            "index": range(MAX_FRAME_OCTETS // config.beat_octets + 2),
            "notes": FrameNotes(),
        })


class InnerBeat(data.StructLayout):
    """One beat of an inner packet, which starts at octet 0 of its first beat.

    There is at least one beat for each frame.

    Members
    -------
    valid, first, last, data, end : as in :class:`FrameBeat`
    late : 1
        With ``last``: it comes a cycle later after the frame's last beat than others do.
    bad : 1
        With ``last``: as in :class:`FrameBeat`.
    octets : 15
        With ``last``: length of the frame.
    notes : :class:`FrameNotes`
        The same in all beats.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": 1,
            "first": 1,
            "last": 1,
            "data": 8 * config.beat_octets,
            "end": range(config.beat_octets),
            "late": 1,
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
    """A receive descriptor as far as the headers tell, and the peer's address.

    Members
    -------
    source : 128
        Source of the inner packet; an IPv4 address as in ``::ffff:0:0/96`` (RFC 4291).
    """

    def __init__(self, config: NicConfig):
        members = _members(config, without=("lane", "octets", "payload", "no_room"))
        super().__init__({**members, "source": 128})


def _members(config, without):
    return {name: entry.shape for name, entry in RxDescriptor(config) if name not in without}
