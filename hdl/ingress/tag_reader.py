"""VLAN tags of a received frame, and what depends on where they end."""

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import LaneSettings
from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.layout import HeaderLayout
from mrcnic.hdl.wire.opcodes import EtherType

__all__ = ["TAGS_MAX", "TagNotes", "TagReader"]

#: VLAN tags that are skipped.
TAGS_MAX = 2

_TAG_BITS = headers.VLAN.fields["vid"]

#: Octets that are looked at: up to the uSID in the destination of the outermost IPv6 header.
_DESTINATION_AT = headers.IPV6.octets - headers.IPV6.fields["destination"] // 8
_OWN_BITS = 48
_LOOK_OCTETS = (
    headers.ETHERNET.octets + TAGS_MAX * headers.VLAN.octets + _DESTINATION_AT + _OWN_BITS // 8
)


class TagNotes(data.StructLayout):
    """What is known of a frame with its tags.

    Members
    -------
    count : 2
        VLAN tags, at most :data:`TAGS_MAX`.
    other : 1
        They are not those of the port.
    not_ip, ipv4 : 1
        Neither IPv6 nor IPv4 follows; IPv4 does.
    own : 1
        If an IPv6 header follows, its destination starts with block and uSID of the port.
    """

    def __init__(self):
        super().__init__({"count": 2, "other": 1, "not_ip": 1, "ipv4": 1, "own": 1})


class TagReader(wiring.Component):
    """Read VLAN tags (IEEE 802.1Q, types 0x8100 and 0x88A8 at either place). No registers.

    A frame is one of the port's VLAN if it has as many tags as the settings say, with their VLAN
    identifiers; priority and drop eligibility do not matter. Where no tags are set, a priority tag,
    whose identifier is 0, is passed over.

    Whatever depends on the number of tags is found for each number, and then chosen.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    octets : ``In(8 * 52)``
        First octets of the frame, the first in the least significant bits.
    settings : ``In(LaneSettings(config))``
        Settings.
    o : ``Out(TagNotes())``
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "octets": In(8 * _LOOK_OCTETS),
            "settings": In(LaneSettings(config)),
            "o": Out(TagNotes()),
        })

    def elaborate(self, platform):
        m = Module()

        port = self.settings.port
        ethernet = HeaderLayout(headers.ETHERNET).from_octets(self.octets)
        ends = [headers.ETHERNET.octets + n * headers.VLAN.octets for n in range(TAGS_MAX + 1)]
        tags = [HeaderLayout(headers.VLAN).from_octets(self.octets[8 * at :]) for at in ends[:-1]]
        types = [ethernet.ether_type, *(tag.ether_type for tag in tags)]
        is_tag = [(t == EtherType.VLAN) | (t == EtherType.SERVICE_VLAN) for t in types[:-1]]
        one, two = is_tag[0] & ~is_tag[1], is_tag[0] & is_tag[1]
        m.d.comb += self.o.count.eq(Cat(one, two))

        def chosen(values):
            return Mux(two, values[2], Mux(one, values[1], values[0]))

        is_ipv4 = chosen([t == EtherType.IPV4 for t in types])
        is_ipv6 = chosen([t == EtherType.IPV6 for t in types])
        m.d.comb += self.o.ipv4.eq(is_ipv4)
        m.d.comb += self.o.not_ip.eq(~is_ipv4 & ~is_ipv6)

        own = Cat(port.usid, self.settings.block)
        carriers = []
        for at in ends:
            start = 8 * (at + _DESTINATION_AT)
            octets = [self.octets[bit : bit + 8] for bit in range(start, start + _OWN_BITS, 8)]
            carriers.append(Cat(reversed(octets)) == own)
        m.d.comb += self.o.own.eq(chosen(carriers))

        is_inner = [tag.vid == port.inner_tag[:_TAG_BITS] for tag in tags]
        is_outer = tags[0].vid == port.outer_tag[:_TAG_BITS]
        fits = Mux(
            port.tags == 0,
            ~two & (~one | (tags[0].vid == 0)),
            Mux(port.tags == 1, one & is_inner[0], two & is_outer & is_inner[1]),
        )
        m.d.comb += self.o.other.eq(~fits)

        return m
