"""What is known of a packet's headers before they are laid out. No logic."""

from amaranth.lib import data

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.srv6 import SEGMENTS_MAX

from .extension import EXTENSION_OCTETS_MAX, PAYLOAD_EXTENSION_OCTETS
from .header_block import WORD_OCTETS, FrameNote, place_of

__all__ = ["TAGS_MAX", "HeaderPlan", "Sizes"]

#: VLAN tags in front of a packet.
TAGS_MAX = 2


class Sizes:
    """Sizes of headers and frames.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Attributes
    ----------
    list_words : :class:`int`
        Words of the longest list of segments; 0 if there are none.
    header_octets : :class:`int`
        Octets of the longest headers.
    packet_octets : :class:`int`
        Octets of the longest frame, with ICRC.
    starts : :class:`tuple` of :class:`int`
        Where payload may start.
    beats : :class:`int`
        Beats of the longest headers.
    """

    def __init__(self, config: NicConfig):
        segment = headers.IPV6.fields["destination"] // 8
        lists = range(1, SEGMENTS_MAX + 1) if config.routes else ()
        routing = [headers.SRH.octets + segment * entries for entries in lists]
        outer = [0, *(headers.IPV6.octets + octets for octets in (0, *routing))]
        link = [
            headers.ETHERNET.octets + headers.VLAN.octets * tags for tags in range(TAGS_MAX + 1)
        ]
        behind = headers.UDP.octets + headers.BTH.octets

        self.list_words = segment * len(lists) // WORD_OCTETS
        before_inner = max(link) + max(outer)
        self.header_octets = before_inner + headers.IPV6.octets + behind + EXTENSION_OCTETS_MAX
        longest = before_inner + headers.IPV6.octets + behind + max(PAYLOAD_EXTENSION_OCTETS)
        self.packet_octets = max(longest + config.mtu, self.header_octets) + headers.ICRC.octets
        self.starts = tuple(
            sorted({
                first + second + inner + behind + extension
                for first in link
                for second in outer
                for inner in (headers.IPV4.octets, headers.IPV6.octets)
                for extension in PAYLOAD_EXTENSION_OCTETS
            })
        )
        self.beats = -(-self.header_octets // config.beat_octets)


class HeaderPlan(data.StructLayout):
    """A beat of headers to be laid out.

    Headers in front of the list of segments stand where they stand whatever follows. All behind,
    the variable part, are laid out as if the list were the longest, and then moved to their place.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    number : ``range(Sizes(config).beats)``
        Which beat of the frame this is.
    more : 1
        Another one follows. Only ``number`` and ``rows`` are different in it.
    rows : one for each word of a beat
        From which beat of the variable part the word is that comes into this beat: the words that
        are moved beyond the end of their beat come from the one before that of the others.
    prefix : :class:`int`
        Words in front of the list of segments, as of :func:`~.header_block.place_of`.
    words : :class:`int`
        Words of all headers, counted in the same way.
    rest_words : :class:`int`
        Words behind the headers: payload, pad and ICRC.
    udp_words, ip_words : :class:`int`
        Words from the UDP header to the ICRC; the same with the inner IPv4 header, if it is one.
    outer_words : :class:`int`
        Words from the outer header to the ICRC.
    srh, segments_left, entries : 1, 3, 4
        Whether there is a segment routing header, its field, and how many segments it lists.
    checksum_word : :class:`int`
        Which word's low half is the checksum of the inner IPv4 header, if it is one.
    sums : ``ArrayLayout(16, 2)``
        Numbers whose sum is that of the IPv4 header without its length, in ones' complement.
    extension : ``8 * EXTENSION_OCTETS_MAX``
        Headers behind the BTH, as octets.
    dscp, pad, timestamped : of their headers
    opcode, psn, ack_request, retransmission, dqp, ev, ipv4, destination, srv6, carrier, reduced
        As in :class:`~mrcnic.hdl.descriptor.outwards.TxDescriptor`.
    payload : 1
        A packet of payload follows.
    note : :class:`~.header_block.FrameNote`
        For the stages behind.
    """

    def __init__(self, config: NicConfig):
        sizes = Sizes(config)
        words = place_of(sizes.header_octets)
        rest_words = (config.mtu + headers.ICRC.octets) // WORD_OCTETS
        super().__init__({
            "number": range(sizes.beats + 1),
            "more": 1,
            "rows": data.ArrayLayout(
                max(1, (self.rows(config) - 1).bit_length()), config.beat_octets // WORD_OCTETS
            ),
            "prefix": range(words),
            "words": range(words + 1),
            "rest_words": range(rest_words + 1),
            "udp_words": range(rest_words + words),
            "ip_words": range(rest_words + words),
            "outer_words": 14,
            "srh": 1,
            "segments_left": range(SEGMENTS_MAX),
            "entries": range(SEGMENTS_MAX + 1),
            "checksum_word": range(words),
            "sums": data.ArrayLayout(16, 2),
            "extension": 8 * EXTENSION_OCTETS_MAX,
            "dscp": 6,
            "pad": 2,
            "timestamped": 1,
            "opcode": 8,
            "psn": 24,
            "ack_request": 1,
            "retransmission": 1,
            "dqp": 24,
            "ev": 32,
            "ipv4": 1,
            "destination": 128,
            "srv6": 1,
            "carrier": 128,
            "reduced": 1,
            "payload": 1,
            "note": FrameNote(),
        })

    @staticmethod
    def rows(config: NicConfig) -> int:
        """Return the beats of the variable part."""
        octets = headers.ETHERNET.octets % WORD_OCTETS  # as many as make it start in a word
        octets += Sizes(config).list_words * WORD_OCTETS
        octets += headers.IPV6.octets + headers.UDP.octets + headers.BTH.octets
        octets += EXTENSION_OCTETS_MAX
        return -(-octets // config.beat_octets)
