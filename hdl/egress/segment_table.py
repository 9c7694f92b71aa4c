"""Lists of segments behind the first, as the host wrote them."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import TableWrite
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.rows import ROUTE_ROW, Table
from mrcnic.hdl.wire.layout import HeaderLayout
from mrcnic.hdl.wire.srv6 import SEGMENTS_MAX

__all__ = ["SegmentTable"]


class SegmentTable(wiring.Component):
    """Keep the further segments of a port's routes, in the order of a segment routing header.

    Such a header lists segments from the last to the first (RFC 8754, section 2). So the list of a
    route ends at a fixed place whatever its length, and starts at one that follows from it: of the
    ``SEGMENTS_MAX`` entries here, the one before the last is the second segment, and so on
    backwards. The last entry is for the first segment, which is not in the table, and reads as
    zero. Where the first segment is to be left out, all others stand one entry further behind.
    Every segment is kept twice, once for each of the two, which costs less than to move them.

    Rows come out one cycle after they were asked for, and stay until the next is. A row is taken in
    each cycle.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes; ``routes`` is not 0.

    Members
    -------
    number : ``In(index_bits(lanes))``
        Number of the port.
    table : ``In(stream.Signature(TableWrite()))``
        Rows of tables. Always ready.
    route, reduced : ``In``, ``In(1)``
        Which list is wanted, and whether without its first segment.
    enable : ``In(1)``
        It is wanted now.
    entries : ``Out(ArrayLayout(128, SEGMENTS_MAX))``
        Entries, from the last segment to the first.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        segment = ROUTE_ROW.fields["segment"]
        super().__init__({
            "number": In(index_bits(config.lanes)),
            "table": In(stream.Signature(TableWrite())),
            "route": In(index_bits(config.routes)),
            "reduced": In(1),
            "enable": In(1),
            "entries": Out(data.ArrayLayout(segment, SEGMENTS_MAX)),
        })

    def elaborate(self, platform):
        m = Module()

        routes = self.config.routes
        write = self.table.payload
        row = HeaderLayout(ROUTE_ROW)(write.row[: HeaderLayout(ROUTE_ROW).size])
        low = (SEGMENTS_MAX - 1).bit_length()
        number = write.index[:low]
        route = Signal(len(write.index) - low)  # of this port; those before it wrap
        ours = Signal()
        m.d.comb += self.table.ready.eq(1)
        m.d.comb += route.eq(write.index[low:] - self.number * routes)
        m.d.comb += ours.eq(self.table.valid & (write.table == Table.ROUTE) & (route < routes))

        # Each entry has a memory: with the first segment in the even rows, without it in the odd.
        for entry in range(SEGMENTS_MAX):
            m.submodules[f"entry_{entry}"] = memory = Memory(
                shape=ROUTE_ROW.fields["segment"], depth=2 * routes, init=[]
            )
            write_port = memory.write_port()
            read_port = memory.read_port()
            # Numbers of the segments that stand here; the first one, 0, is in no table.
            with_first = SEGMENTS_MAX - 1 - entry
            is_reduced = number == with_first + 1
            is_listed = is_reduced | (number == with_first) if with_first else is_reduced
            m.d.comb += write_port.addr.eq(Cat(is_reduced, route))
            m.d.comb += write_port.data.eq(row.segment)
            m.d.comb += write_port.en.eq(ours & is_listed)
            m.d.comb += read_port.addr.eq(Cat(self.reduced, self.route))
            m.d.comb += read_port.en.eq(self.enable)
            m.d.comb += self.entries[entry].eq(read_port.data)

        return m
