"""The whole room as one component, so that a simulator is built once."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out, connect, flipped

from mrcnic.hdl.host.csr import RegisterBank
from mrcnic.hdl.host.dma_read import DmaRead
from mrcnic.hdl.host.dma_write import DmaWrite

__all__ = ["EVENT_NAMES", "HostRoom"]

EVENT_NAMES = (
    "tx_payload_read_error",
    "rx_payload_written",
    "rx_payload_write_error",
    "rx_payload_dropped",
)


class HostRoom(wiring.Component):
    def __init__(self, config):
        self.config = config
        self.bank = RegisterBank(config, EVENT_NAMES)
        self.reader = DmaRead(config)
        self.writer = DmaWrite(config)
        self.parts = {
            "axil": (self.bank, "axil"),
            "table": (self.bank, "table"),
            "fetch": (self.reader, "i"),
            "store": (self.reader, "o"),
            "axi_read": (self.reader, "axi"),
            "verdict": (self.writer, "i"),
            "payload": (self.writer, "payload"),
            "axi_write": (self.writer, "axi"),
        }
        members = {}
        for name, (part, member) in self.parts.items():
            members[name] = Out(part.signature.members[member].signature)
        super().__init__({**members, "written": Out(1), "error": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.bank = self.bank
        m.submodules.reader = self.reader
        m.submodules.writer = self.writer
        for name, (part, member) in self.parts.items():
            connect(m, flipped(getattr(self, name)), getattr(part, member))
        m.d.comb += self.written.eq(self.writer.written)
        m.d.comb += self.error.eq(self.writer.error)
        events = {**self.reader.events.shape().members, **self.writer.events.shape().members}
        assert tuple(events) == EVENT_NAMES
        for n, name in enumerate(EVENT_NAMES):
            part = self.reader if name.startswith("tx") else self.writer
            m.d.comb += self.bank.events[n].eq(part.events[name])
        return m
