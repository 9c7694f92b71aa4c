"""From wide AXI4, as PCIe bridges speak it, to the register port."""

from operator import index

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.host.axi import (
    axi4_lite_signature,
    axi4_read_signature,
    axi4_write_signature,
)
from mrcnic.hdl.host.registers import ADDRESS_BITS

__all__ = ["RegisterBridge"]


class RegisterBridge(wiring.Component):
    """Make an access of AXI4-Lite of each access of AXI4.

    Accesses are of one beat, as those of a processor to registers are, and of 32 bits; of others
    the first 32 bits are done. One at a time in each direction.

    Parameters
    ----------
    octets : :class:`int`
        Width of the wide side.

    Members
    -------
    read : ``In(axi4_read_signature(octets))``
    write : ``In(axi4_write_signature(octets))``
    axil : ``Out(axi4_lite_signature(ADDRESS_BITS))``
    """

    def __init__(self, *, octets: int):
        self.octets = index(octets)
        super().__init__({
            "read": In(axi4_read_signature(self.octets)),
            "write": In(axi4_write_signature(self.octets)),
            "axil": Out(axi4_lite_signature(ADDRESS_BITS)),
        })

    def elaborate(self, platform):
        m = Module()

        words = self.octets // 4
        word_bits = words.bit_length() - 1
        self._add_read(m, words)
        self._add_write(m, words, word_bits)

        return m

    def _add_read(self, m, words):
        wide, axil = self.read, self.axil
        busy = Signal()
        m.d.comb += wide.arready.eq(~busy)
        m.d.comb += axil.rready.eq(busy & ~wide.rvalid)
        with m.If(wide.arvalid & wide.arready):
            m.d.sync += busy.eq(1)
            m.d.sync += axil.arvalid.eq(1)
            m.d.sync += axil.araddr.eq(wide.araddr)
            m.d.sync += wide.rid.eq(wide.arid)
        with m.If(axil.arvalid & axil.arready):
            m.d.sync += axil.arvalid.eq(0)
        with m.If(axil.rvalid & axil.rready):
            m.d.sync += wide.rvalid.eq(1)
            # In all places, so that the reader finds it in the one it looks at.
            m.d.sync += wide.rdata.eq(axil.rdata.replicate(words))
            m.d.sync += wide.rresp.eq(axil.rresp)
        m.d.comb += wide.rlast.eq(1)
        with m.If(wide.rvalid & wide.rready):
            m.d.sync += wide.rvalid.eq(0)
            m.d.sync += busy.eq(0)

    def _add_write(self, m, words, word_bits):
        wide, axil = self.write, self.axil
        busy, sent = Signal(), Signal()
        place = axil.awaddr[2 : 2 + word_bits]
        m.d.comb += wide.awready.eq(~busy)
        m.d.comb += wide.wready.eq(busy & ~sent)
        m.d.comb += axil.bready.eq(busy & ~wide.bvalid)
        with m.If(wide.awvalid & wide.awready):
            m.d.sync += busy.eq(1)
            m.d.sync += sent.eq(0)
            m.d.sync += axil.awvalid.eq(1)
            m.d.sync += axil.awaddr.eq(wide.awaddr)
            m.d.sync += wide.bid.eq(wide.awid)
        with m.If(axil.awvalid & axil.awready):
            m.d.sync += axil.awvalid.eq(0)
        with m.If(wide.wvalid & wide.wready):
            m.d.sync += sent.eq(1)
            m.d.sync += axil.wvalid.eq(1)
            with m.Switch(place):
                for n in range(words):
                    with m.Case(n):
                        m.d.sync += axil.wdata.eq(wide.wdata[32 * n : 32 * n + 32])
                        m.d.sync += axil.wstrb.eq(wide.wstrb[4 * n : 4 * n + 4])
        with m.If(axil.wvalid & axil.wready):
            m.d.sync += axil.wvalid.eq(0)
        with m.If(axil.bvalid & axil.bready):
            m.d.sync += wide.bvalid.eq(1)
            m.d.sync += wide.bresp.eq(axil.bresp)
        with m.If(wide.bvalid & wide.bready):
            m.d.sync += wide.bvalid.eq(0)
            m.d.sync += busy.eq(0)
