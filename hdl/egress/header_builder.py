"""From a descriptor to the headers of its packet."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import TxDescriptor
from mrcnic.hdl.descriptor.settings import LaneSettings, TableWrite
from mrcnic.hdl.descriptor.sizes import NOW_BITS

from .header_block import FrameNote, HeaderBlock
from .header_layer import HeaderLayer
from .header_plan import Sizes
from .header_planner import HeaderPlanner
from .segment_table import SegmentTable

__all__ = ["HeaderBuilder"]


class HeaderBuilder(wiring.Component):
    """Build all headers of a packet, from Ethernet to the last in front of the payload.

    The layout is that of docs/protocol.md, "Frame" to "BTH and extension headers":

    * Ethernet, with as many VLAN tags as the port has (IEEE 802.1Q);
    * if ``srv6``, an IPv6 header with the carrier as its destination (RFC 8986, section 5), with
      the same DSCP and ECN as the inner one and a flow label of 0;
    * if there are ``segments``, a segment routing header (RFC 8754) that lists them from the last
      to the first. The first is the carrier, and with ``reduced`` it is left out of the list; a
      list without entries has no header. More than 8 segments count as 8;
    * the inner header, IPv6 or IPv4 (which has half of the EV only); UDP; BTH; extension.

    There is no segment routing header in front of IPv4: ``segments`` do not count there. Fields
    that a descriptor's body leaves to the lane are filled in here: ``now`` at the cycle in which
    the descriptor is taken goes into TSETH, PETH and ERTH. ECN is ECT(0) in every packet.

    Latency is two cycles to the first beat; one beat per cycle passes, without a bubble between
    packets.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes. Without ``routes``, there are no segments.

    Attributes
    ----------
    sizes : :class:`~.header_plan.Sizes`
        Sizes of headers and frames.

    Members
    -------
    i : ``In(stream.Signature(TxDescriptor(config)))``
        Packets to be built.
    o : ``Out(stream.Signature(HeaderBlock(...)))``
        Beats of their headers. ``user`` is a :class:`~.header_block.FrameNote`.
    table : ``In(stream.Signature(TableWrite()))``
        Rows of tables. Always ready.
    settings : ``In(LaneSettings(config))``
        Addresses, tags, ports and DSCP values.
    now : ``In(NOW_BITS)``
        Time.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        self.sizes = Sizes(config)
        block = HeaderBlock(config.beat_octets, self.sizes.packet_octets, FrameNote())
        super().__init__({
            "i": In(stream.Signature(TxDescriptor(config))),
            "o": Out(stream.Signature(block)),
            "table": In(stream.Signature(TableWrite())),
            "settings": In(LaneSettings(config)),
            "now": In(NOW_BITS),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.planner = planner = HeaderPlanner(self.config)
        m.submodules.layer = layer = HeaderLayer(self.config)
        connect(m, flipped(self.i), planner.i)
        connect(m, planner.o, layer.i)
        connect(m, layer.o, flipped(self.o))
        m.d.comb += planner.settings.eq(self.settings)
        m.d.comb += planner.now.eq(self.now)
        m.d.comb += layer.settings.eq(self.settings)

        if self.config.routes:
            m.submodules.segments = segments = SegmentTable(self.config)
            connect(m, flipped(self.table), segments.table)
            m.d.comb += segments.number.eq(self.settings.number)
            m.d.comb += segments.route.eq(self.i.payload.route)
            m.d.comb += segments.reduced.eq(self.i.payload.reduced)
            m.d.comb += segments.enable.eq(self.i.ready)
            m.d.comb += layer.segments.eq(segments.entries)
        else:
            m.d.comb += self.table.ready.eq(1)

        return m
