"""Receive descriptors, out of headers."""

from amaranth.hdl import Cat, Const, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import LaneSettings
from mrcnic.hdl.wire.opcodes import Ecn, Opcode

from .frame import HeaderFields, InnerBeat
from .header_collector import HEADER_OCTETS, HeaderView, is_write

__all__ = ["DescriptorBuilder"]

#: What stands before an IPv4 address in ``::ffff:0:0/96`` (RFC 4291, section 2.5.5.2).
_MAPPED = 0xFFFF


class DescriptorBuilder(wiring.Component):
    """Put the fields of a packet's headers where the engine expects them. No registers.

    Congestion was experienced if the outer header says so or the inner one does (RFC 6040,
    section 4.2). The EV is made of the UDP source port and the low half of the flow label of the
    inner header; behind an IPv4 header, the latter half is zero.

    Of a trimmed packet there are the BTH, the METH, and the TSETH if the BTH promises one. All else
    is zero.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(InnerBeat(config))``, ``headers``
        Inner packets, as they come out of a :class:`.HeaderCollector`.
    settings : ``In(LaneSettings(config))``
        Settings.
    o : ``Out(HeaderFields(config))``
        With the last beat: what the headers say.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "i": In(InnerBeat(config)),
            "headers": In(8 * HEADER_OCTETS),
            "settings": In(LaneSettings(config)),
            "o": Out(HeaderFields(config)),
        })

    def elaborate(self, platform):
        m = Module()

        header = HeaderView(self.headers)
        bth = header.bth
        notes = self.i.notes
        has_timestamp = is_write(bth.opcode) & bth.timestamped
        m.d.comb += [
            self.o.opcode.eq(bth.opcode),
            self.o.dqp.eq(bth.dqp),
            self.o.psn.eq(bth.psn),
            self.o.ack_request.eq(bth.ack_request),
            self.o.retransmission.eq(bth.retransmission),
            self.o.ce.eq(notes.ce | (~notes.ipv4 & (header.ipv6.ecn == Ecn.CE))),
            self.o.pad.eq(bth.pad),
            self.o.trimmed.eq(notes.trimmed),
            self.o.last_hop.eq(notes.last_hop),
        ]
        mapped = Cat(header.ipv4.source, Const(_MAPPED, 128 - len(header.ipv4.source)))
        m.d.comb += self.o.source.eq(Mux(notes.ipv4, mapped, header.ipv6.source))

        label, source = Mux(notes.ipv4, 0, header.ipv6.flow_label[:16]), header.udp.source_port
        m.d.comb += self.o.ev.eq(Mux(self.settings.swap_ev, Cat(source, label), Cat(label, source)))

        body = self.o.body
        with m.Switch(bth.opcode):
            with m.Case(Opcode.SACK):
                m.d.comb += body.sack.seth.eq(header.seth)
                m.d.comb += body.sack.cc_state.eq(header.cc_state)
            with m.Case(Opcode.NACK):
                m.d.comb += body.nack.eq(header.nack)
            with m.Case(Opcode.ACK):
                m.d.comb += body.ack.eq(header.ack)
            with m.Case(Opcode.PROBE):
                m.d.comb += body.probe.eq(header.probe)
                m.d.comb += self.o.tx_timestamp.eq(header.probe.tx_timestamp)
            with m.Case(Opcode.ENDPOINT_REQUEST):
                m.d.comb += body.request.eq(header.request)
                m.d.comb += self.o.tx_timestamp.eq(header.request.tx_timestamp)
            with m.Case(Opcode.ENDPOINT_RESPONSE):
                m.d.comb += body.response.eq(header.response)
                m.d.comb += self.o.tx_timestamp.eq(header.response.tx_timestamp)
            with m.Default():
                m.d.comb += body.write.meth.eq(header.meth)
                with m.If(~notes.trimmed):
                    m.d.comb += body.write.reth.eq(header.reth)
                    m.d.comb += body.write.immediate.eq(header.immediate)
                with m.If(has_timestamp):
                    m.d.comb += self.o.tx_timestamp.eq(header.tseth.tx_timestamp)

        return m
