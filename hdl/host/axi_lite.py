"""From AXI4-Lite to the register map."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .axi import Response, axi4_lite_signature
from .register_port import READ_LATENCY, RegisterPort
from .registers import ADDRESS_BITS

__all__ = ["AxiLiteFront"]


class AxiLiteFront(wiring.Component):
    """Take AXI4-Lite transfers one at a time, reads and writes independently of each other.

    A write's address and data may come in any order. One write is taken, and the next only when
    its response has been; likewise for reads. All are answered OKAY: an address without a register
    reads zero, and writing there does nothing, so that a driver that probes a NIC does no harm. The
    two lowest address bits are ignored.

    A read is answered 4 cycles after its address was taken, a write 2 cycles after the later of
    its two parts.

    Members
    -------
    axil : ``In(axi4_lite_signature(ADDRESS_BITS))``
        The host.
    port : ``Out(RegisterPort())``
        The registers.
    """

    axil: In(axi4_lite_signature(ADDRESS_BITS))
    port: Out(RegisterPort())

    def elaborate(self, platform):
        m = Module()

        axil, port = self.axil, self.port
        has_address = Signal()
        has_data = Signal()

        # Writes.
        m.d.comb += axil.awready.eq(~has_address)
        m.d.comb += axil.wready.eq(~has_data)
        m.d.comb += axil.bresp.eq(Response.OKAY)
        m.d.comb += port.write.eq(has_address & has_data & ~axil.bvalid)
        with m.If(axil.awvalid & axil.awready):
            m.d.sync += has_address.eq(1)
            m.d.sync += port.write_address.eq(axil.awaddr[2:])
        with m.If(axil.wvalid & axil.wready):
            m.d.sync += has_data.eq(1)
            m.d.sync += port.write_data.eq(axil.wdata)
            m.d.sync += port.strobe.eq(axil.wstrb)
        with m.If(port.write):
            m.d.sync += axil.bvalid.eq(1)
        with m.If(axil.bvalid & axil.bready):
            m.d.sync += axil.bvalid.eq(0)
            m.d.sync += has_address.eq(0)
            m.d.sync += has_data.eq(0)

        # Reads. A one walks along while the data is fetched.
        idle = Signal(init=1)
        steps = Signal(READ_LATENCY + 1)
        m.d.comb += axil.arready.eq(idle)
        m.d.comb += axil.rresp.eq(Response.OKAY)
        m.d.comb += port.read.eq(steps[0])
        m.d.sync += steps.eq(steps << 1)
        with m.If(axil.arvalid & axil.arready):
            m.d.sync += idle.eq(0)
            m.d.sync += steps[0].eq(1)
            m.d.sync += port.read_address.eq(axil.araddr[2:])
        with m.If(steps[READ_LATENCY]):
            m.d.sync += axil.rvalid.eq(1)
            m.d.sync += axil.rdata.eq(port.read_data)
        with m.If(axil.rvalid & axil.rready):
            m.d.sync += axil.rvalid.eq(0)
            m.d.sync += idle.eq(1)

        return m
