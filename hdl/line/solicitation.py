"""Neighbour solicitations as they come: sizes, and what to judge them by."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data

from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.layout import HeaderLayout

__all__ = [
    "ADVERTISED_OCTETS",
    "ADVERTISEMENT",
    "ICMPV6",
    "IPV6_TYPE",
    "LOOK_OCTETS",
    "MAX_SOLICITATION_OCTETS",
    "NEIGHBOUR_START",
    "PACKET_OCTETS",
    "SOLICITATION",
    "TAG_TYPES",
    "Findings",
    "all_good",
    "find",
    "looks_like_one",
    "solicited_node",
]

IPV6_TYPE = 0x86DD
TAG_TYPES = (0x8100, 0x88A8)
ICMPV6 = 58
SOLICITATION, ADVERTISEMENT = 135, 136

#: Where the ICMPv6 message starts within the IPv6 packet, and lengths of packets: one with the
#: most options that are looked at, 16 octets, and an advertisement.
NEIGHBOUR_START = headers.IPV6.octets
PACKET_OCTETS = NEIGHBOUR_START + headers.NEIGHBOUR.octets + 16
ADVERTISED_OCTETS = NEIGHBOUR_START + headers.NEIGHBOUR.octets + headers.LINK_ADDRESS.octets

#: The longest frame that is looked at, with two tags.
MAX_SOLICITATION_OCTETS = headers.ETHERNET.octets + 2 * headers.VLAN.octets + PACKET_OCTETS

#: With so many octets of a frame it is known whether a closer look is worth it.
LOOK_OCTETS = headers.ETHERNET.octets + 2 * headers.VLAN.octets + NEIGHBOUR_START + 1

_SOLICITED_NODE = 0xFF02_0000_0000_0000_0000_0001_FF00_0000  # RFC 4291, section 2.7.1
_SOLICITED_NODE_MAC = 0x3333_FF00_0000  # RFC 2464, section 7


def _number(octets: Value, start: int, count: int) -> Value:
    """Return the big-endian number at octet ``start``, the first octet being least significant."""
    return Cat(octets[8 * n : 8 * n + 8] for n in reversed(range(start, start + count)))


def looks_like_one(octets: Value) -> Value:
    """Return, for 0, 1 and 2 tags, whether a frame with that many could be a solicitation.

    Parameters
    ----------
    octets : :ref:`value-like <lang-valuelike>`
        The frame's first :data:`LOOK_OCTETS` octets or more.
    """
    looks = []
    tagged = 1
    for tags in range(3):
        start = headers.ETHERNET.octets + 4 * tags
        ether_type = _number(octets, start - 2, 2)
        next_header = _number(octets, start + 6, 1)
        message = _number(octets, start + NEIGHBOUR_START, 1)
        is_one = (next_header == ICMPV6) & (message == SOLICITATION)
        looks.append(tagged & (ether_type == IPV6_TYPE) & is_one)
        tagged &= (ether_type == TAG_TYPES[0]) | (ether_type == TAG_TYPES[1])
    return Cat(looks)


def solicited_node(address: Value) -> Value:
    """Return the solicited-node multicast address of ``address``."""
    return Cat(address[:24], Const(_SOLICITED_NODE >> 24, 104))


class Findings(data.StructLayout):
    """What comparisons say of a packet, a bit each."""

    NAMES = (
        "version_good",
        "hops_good",
        "length_good",
        "code_good",
        "to_underlay",
        "to_link_local",
        "target_special",
        "to_target",
        "to_node",
        "link_own",
        "link_node",
        "link_from_group",
        "from_nobody",
        "from_group",
        "options_good",
        "address_given",
        "address_good",
    )

    def __init__(self):
        super().__init__(dict.fromkeys(self.NAMES, 1))


def find(m: Module, found, *, packet, octets, link, settings):
    """Fill ``found`` with what there is to say of a packet.

    Parameters
    ----------
    found : view of :class:`Findings`
        Assigned in the combinational domain.
    packet : :class:`~amaranth.hdl.Signal`
        :data:`PACKET_OCTETS` octets, of which ``octets`` behind the IPv6 header are the frame's.
    link : view of ``HeaderLayout(ETHERNET)``
        Its addresses.
    settings : view of :class:`~mrcnic.hdl.descriptor.settings.PortSettings`
        Own addresses.
    """
    ipv6 = HeaderLayout(headers.IPV6).from_octets(packet)
    message = HeaderLayout(headers.NEIGHBOUR).from_octets(packet[8 * NEIGHBOUR_START :])
    options = 8 * (NEIGHBOUR_START + headers.NEIGHBOUR.octets)
    option = [
        HeaderLayout(headers.LINK_ADDRESS).from_octets(packet[options + 64 * n :]) for n in range(2)
    ]
    target = message.target
    node = solicited_node(target)
    rest = Signal(2)  # options, in units of eight octets
    m.d.comb += rest.eq((octets - headers.NEIGHBOUR.octets) >> 3)

    one = option[0].length == 1
    given = [(rest > n) & (option[n].type == 1) for n in range(2)]
    given[1] &= one  # otherwise it is inside the first one
    address_good = [~given[n] | (option[n].address == link.source) for n in range(2)]
    # No option has the length 0, and together they end where the packet does.
    options_good = (
        (rest == 0)
        | ((rest == 1) & one)
        | ((rest == 2) & one & (option[1].length == 1))
        | ((rest == 2) & (option[0].length == 2) & ~given[0])
    )
    values = {
        "version_good": ipv6.version == 6,
        "hops_good": ipv6.hop_limit == 255,
        "length_good": (ipv6.payload_length == octets)
        & ((octets == 24) | (octets == 32) | (octets == 40)),
        "code_good": message.code == 0,
        "to_underlay": target == settings.underlay,
        "to_link_local": target == settings.link_local,
        "target_special": (target == 0) | (target[120:] == 0xFF),
        "to_target": ipv6.destination == target,
        "to_node": ipv6.destination == node,
        "link_own": link.destination == settings.own_mac,
        "link_node": link.destination == Cat(target[:24], Const(_SOLICITED_NODE_MAC >> 24, 24)),
        "link_from_group": link.source[40],
        "from_nobody": ipv6.source == 0,
        "from_group": ipv6.source[120:] == 0xFF,
        "options_good": options_good,
        "address_given": given[0] | given[1],
        "address_good": address_good[0] & address_good[1],
    }
    for name, value in values.items():
        m.d.comb += found[name].eq(value)


def all_good(found) -> Value:
    """Return whether a packet whose checksum is good is to be answered.

    RFC 4861, section 7.1.1, and besides: an address in an option must be the sender's own.
    """
    return (
        found.version_good
        & found.hops_good
        & found.length_good
        & found.code_good
        & (found.to_underlay | found.to_link_local)
        & ~found.target_special
        & (found.to_node | (found.to_target & ~found.from_nobody))
        & (found.link_own | found.link_node)
        & ~found.link_from_group
        & ~found.from_group
        & found.options_good
        & ~(found.from_nobody & found.address_given)
        & found.address_good
    )
