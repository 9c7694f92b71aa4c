"""Both edges behind each other: frames from a MAC, turned round in the engine, back to the MAC."""

from amaranth.hdl import DomainRenamer, Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.line.line_in import LINE_IN_EVENTS, LineIn
from mrcnic.hdl.line.line_out import LineOut
from mrcnic.hdl.packet.axi_stream import FromAxiStream, ToAxiStream, axi_stream_signature


class LineEdges(wiring.Component):
    """A port, as it is put together in the clock domains rx0, sync and tx0."""

    def __init__(self, octets):
        self.config = NicConfig(beat_octets=octets)
        super().__init__({
            "rx": In(axi_stream_signature(octets, user=True)),
            "tx": Out(axi_stream_signature(octets)),
            "events": Out(data.StructLayout(dict.fromkeys(LINE_IN_EVENTS, 1))),
        })

    def elaborate(self, platform):
        m = Module()

        octets = self.config.beat_octets
        from_mac = FromAxiStream(octets=octets, outlasts_reset=True)
        to_mac = ToAxiStream(octets=octets)
        line_in, line_out = LineIn(self.config), LineOut(self.config)
        m.submodules.from_mac = DomainRenamer("rx0")(from_mac)
        m.submodules.to_mac = DomainRenamer("tx0")(to_mac)
        m.submodules.line_in = DomainRenamer({"mac_rx": "rx0"})(line_in)
        m.submodules.line_out = DomainRenamer({"mac_tx": "tx0"})(line_out)
        connect(m, flipped(self.rx), from_mac.i)
        connect(m, from_mac.o, line_in.i)
        m.d.comb += line_out.i.valid.eq(line_in.o.valid)
        m.d.comb += line_in.o.ready.eq(line_out.i.ready)
        for name in ("data", "keep", "first", "last"):
            m.d.comb += line_out.i.payload[name].eq(line_in.o.payload[name])
        connect(m, line_out.o, to_mac.i)
        connect(m, to_mac.o, flipped(self.tx))
        m.d.comb += self.events.eq(line_in.events)

        return m
