"""Masters of several lanes on one AXI4 bus."""

from operator import index

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.host.axi import axi4_read_signature, axi4_write_signature

__all__ = ["AxiJoin"]


class AxiJoin(wiring.Component):
    """Give each lane its turn on one bus, whose identifiers tell the lane.

    Addresses of reads pass in the cycle in which they are offered; the data of several lanes may
    come mixed. A write has the bus for its address and then for its data. Lanes take turns.

    Parameters
    ----------
    lanes : :class:`int`
        Masters, 1 to 8.
    octets : :class:`int`
        Width of the data.

    Members
    -------
    read : ``In(axi4_read_signature(octets)).array(lanes)``
    write : ``In(axi4_write_signature(octets)).array(lanes)``
    read_bus : ``Out(axi4_read_signature(octets))``
    write_bus : ``Out(axi4_write_signature(octets))``
        Without identifiers, which are:
    arid, awid : ``Out(4)``
    rid, bid : ``In(4)``

    Raises
    ------
    ValueError
        If ``lanes`` is out of its limits.
    """

    def __init__(self, *, lanes: int, octets: int):
        self.lanes = index(lanes)
        self.octets = index(octets)
        if not 1 <= self.lanes <= 8:
            raise ValueError(f"lanes must be from 1 to 8, not {lanes}")
        super().__init__({
            "read": In(axi4_read_signature(self.octets)).array(self.lanes),
            "write": In(axi4_write_signature(self.octets)).array(self.lanes),
            "read_bus": Out(axi4_read_signature(self.octets)),
            "write_bus": Out(axi4_write_signature(self.octets)),
            "arid": Out(4),
            "awid": Out(4),
            "rid": In(4),
            "bid": In(4),
        })

    def elaborate(self, platform):
        m = Module()

        self._add_read(m)
        self._add_write(m)
        return m

    def _turn(self, m, name, wanted, free):
        """Return whose turn it is; it stays for as long as ``free`` is low."""
        turn = Signal(range(self.lanes), name=f"{name}_turn")
        with m.If(free), m.Switch(turn):
            for lane in range(self.lanes):
                with m.Case(lane):
                    # The next ones first: what is assigned last counts.
                    for step in range(self.lanes, 0, -1):
                        other = (lane + step) % self.lanes
                        with m.If(wanted[other]):
                            m.d.sync += turn.eq(other)
        return turn

    def _add_read(self, m):
        bus = self.read_bus
        wanted = Cat(lane.arvalid for lane in self.read)
        turn = self._turn(m, "read", wanted, ~bus.arvalid | bus.arready)
        with m.Switch(turn):
            for n, lane in enumerate(self.read):
                with m.Case(n):
                    for name in _ADDRESS:
                        m.d.comb += _value(bus, f"ar{name}").eq(_value(lane, f"ar{name}"))
                    m.d.comb += bus.arvalid.eq(lane.arvalid)
                    m.d.comb += lane.arready.eq(bus.arready)
                    m.d.comb += self.arid.eq(Cat(lane.arid, turn))
        with m.Switch(self.rid[1:]):
            for n, lane in enumerate(self.read):
                with m.Case(n):
                    m.d.comb += lane.rvalid.eq(bus.rvalid)
                    m.d.comb += bus.rready.eq(lane.rready)
        for lane in self.read:
            m.d.comb += lane.rid.eq(self.rid[0])
            m.d.comb += lane.rdata.eq(bus.rdata)
            m.d.comb += _value(lane, "rresp").eq(_value(bus, "rresp"))
            m.d.comb += lane.rlast.eq(bus.rlast)

    def _add_write(self, m):
        bus = self.write_bus
        asked = Signal()  # the address of this turn is over, and its data comes
        wanted = Cat(lane.awvalid for lane in self.write)
        ends = Signal()
        idle = Signal()
        turn = self._turn(m, "write", wanted, ends | idle)
        with m.Switch(turn):
            for n, lane in enumerate(self.write):
                with m.Case(n):
                    for name in _ADDRESS:
                        m.d.comb += _value(bus, f"aw{name}").eq(_value(lane, f"aw{name}"))
                    m.d.comb += bus.awvalid.eq(lane.awvalid & ~asked)
                    m.d.comb += lane.awready.eq(bus.awready & ~asked)
                    m.d.comb += self.awid.eq(Cat(lane.awid, turn))
                    m.d.comb += bus.wvalid.eq(lane.wvalid & asked)
                    m.d.comb += lane.wready.eq(bus.wready & asked)
                    m.d.comb += bus.wdata.eq(lane.wdata)
                    m.d.comb += bus.wstrb.eq(lane.wstrb)
                    m.d.comb += bus.wlast.eq(lane.wlast)
        m.d.comb += ends.eq(bus.wvalid & bus.wready & bus.wlast)
        m.d.comb += idle.eq(~asked & ~bus.awvalid)
        with m.If(bus.awvalid & bus.awready):
            m.d.sync += asked.eq(1)
        with m.If(ends):
            m.d.sync += asked.eq(0)

        with m.Switch(self.bid[1:]):
            for n, lane in enumerate(self.write):
                with m.Case(n):
                    m.d.comb += lane.bvalid.eq(bus.bvalid)
                    m.d.comb += bus.bready.eq(lane.bready)
        for lane in self.write:
            m.d.comb += lane.bid.eq(self.bid[0])
            m.d.comb += _value(lane, "bresp").eq(_value(bus, "bresp"))


_ADDRESS = ("addr", "len", "size", "burst", "cache", "prot")


def _value(interface, name):
    return Value.cast(getattr(interface, name))
