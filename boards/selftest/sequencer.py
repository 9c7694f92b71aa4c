"""Registers are set up from a read-only memory."""

from collections.abc import Sequence

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Out

from mrcnic.hdl.host.axi import axi4_lite_signature
from mrcnic.hdl.host.registers import ADDRESS_BITS

from .setup import Step

__all__ = ["Sequencer"]


class Sequencer(wiring.Component):
    """Make accesses to registers, one after the other: writes, and reads that wait for a word.

    A write takes 4 cycles if the registers answer in the next one; a read as well, and begins anew
    until the word is the one that is waited for.

    Parameters
    ----------
    steps : sequence of :class:`~.setup.Step`
        Accesses.

    Members
    -------
    axil : ``Out(axi4_lite_signature(ADDRESS_BITS))``
    done : ``Out(1)``
        All accesses are made.

    Raises
    ------
    ValueError
        If there is nothing to do.
    """

    def __init__(self, steps: Sequence[Step]):
        self.steps = tuple(steps)
        if not self.steps:
            raise ValueError("steps must not be empty")
        super().__init__({
            "axil": Out(axi4_lite_signature(ADDRESS_BITS)),
            "done": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        row = data.StructLayout({"data": 32, "address": ADDRESS_BITS, "write": 1})
        rows = [{"data": s.data, "address": s.address, "write": int(s.write)} for s in self.steps]
        m.submodules.memory = memory = Memory(shape=row, depth=len(rows), init=rows)
        port = memory.read_port()
        at = Signal(range(len(rows)))
        axil = self.axil
        m.d.comb += port.addr.eq(at)
        m.d.comb += axil.awaddr.eq(port.data.address)
        m.d.comb += axil.araddr.eq(port.data.address)
        m.d.comb += axil.wdata.eq(port.data.data)
        m.d.comb += axil.wstrb.eq(0b1111)
        m.d.comb += axil.bready.eq(1)
        m.d.comb += axil.rready.eq(1)

        next_step = Signal()
        with m.FSM():
            with m.State("Fetch"):
                m.next = "Start"
            with m.State("Start"):
                m.d.sync += axil.awvalid.eq(port.data.write)
                m.d.sync += axil.wvalid.eq(port.data.write)
                m.d.sync += axil.arvalid.eq(~port.data.write)
                m.next = "Answer"
            with m.State("Answer"):
                for valid, ready in (
                    (axil.awvalid, axil.awready),
                    (axil.wvalid, axil.wready),
                    (axil.arvalid, axil.arready),
                ):
                    with m.If(ready):
                        m.d.sync += valid.eq(0)
                m.d.comb += next_step.eq(axil.bvalid)
                with m.If(axil.rvalid):
                    m.d.comb += next_step.eq(axil.rdata == port.data.data)
                    m.next = "Start"
                with m.If(next_step):
                    m.d.sync += at.eq(at + 1)
                    m.next = "Fetch"
                    with m.If(at == len(rows) - 1):
                        m.next = "Done"
            with m.State("Done"):
                m.d.comb += self.done.eq(1)

        return m
