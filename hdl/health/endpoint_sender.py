"""Endpoint packets on their way into the lanes."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl import rows
from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import TxDescriptor
from mrcnic.hdl.descriptor.settings import Settings
from mrcnic.hdl.packet.deep_memory import DeepMemory
from mrcnic.hdl.wire.layout import HeaderLayout
from mrcnic.hdl.wire.opcodes import Opcode, Role
from mrcnic.hdl.wire.srv6 import ENTROPY
from mrcnic.hdl.wire.usid_expander import UsidExpander

from .links import ENDPOINT_QP, EndpointSend, PeerWrite

__all__ = ["EndpointSender"]

#: Upper octet of EVs, as everywhere.
_PREFIX = 0xC0

#: Taps of a register of 16 bits that runs through all values but zero.
_TAPS = (15, 14, 12, 3)


class EndpointSender(wiring.Component):
    """Make descriptors of endpoint packets, with a path to the remote NIC or back to this one.

    The path is a row's carrier with plane and uplink put in; the uplink is one of the row's
    ``uplinks``, by chance, unless the EV is given. A packet to the NIC itself has the port's
    ``loop_carrier`` as it stands. All packets have the role CONTROL.

    A descriptor is offered 4 cycles after its packet was taken, and one packet is taken in 5
    cycles if lanes are ready. A lane that is not makes the others wait.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(EndpointSend(config)))``
        Packets.
    o : ``Out(stream.Signature(TxDescriptor(config))).array(lanes)``
        The same, by port.
    write : ``In(PeerWrite(config))``
        Rows.
    settings : ``In(Settings(config))``
        Own address, and carriers of the ports.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(EndpointSend(config))),
            "o": Out(stream.Signature(TxDescriptor(config))).array(config.lanes),
            "write": In(PeerWrite(config)),
            "settings": In(Settings(config)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        layout = HeaderLayout(rows.PEER_ROW)
        m.submodules.paths = paths = DeepMemory(layout, depth=config.peers)
        m.d.comb += [
            paths.write.valid.eq(self.write.valid),
            paths.write.row.eq(self.write.peer),
            paths.write.data.eq(self.write.row),
            paths.row[0].eq(self.i.payload.peer),
        ]

        chance = Signal(16, init=1)
        m.d.sync += chance.eq(Cat(Cat(chance[n] for n in _TAPS).xor(), chance[:-1]))

        # One packet at a time: its row is read, its EV chosen, its path laid.
        send, stage = Signal(EndpointSend(config)), Signal(3)
        row, ev, uplink = Signal(layout), Signal(HeaderLayout(ENTROPY)), Signal(16)
        out, valid = Signal(TxDescriptor(config)), Signal(config.lanes)
        m.d.comb += self.i.ready.eq(~stage.any() & ~valid.any())
        m.d.sync += [
            stage.eq(Cat(self.i.valid & self.i.ready, stage)),
            uplink.eq(chance[:8] * paths.data[0].uplinks),
        ]
        with m.If(self.i.ready):
            m.d.sync += send.eq(self.i.payload)
        with m.If(stage[0]):
            m.d.sync += row.eq(paths.data[0])
        with m.If(stage[1]):
            m.d.sync += [
                ev.prefix.eq(_PREFIX),
                ev.index.eq(chance[8:]),
                ev.plane.eq(send.plane),
                ev.uplink.eq(row.uplink_first + uplink[8:]),
                ev.reserved.eq(0),
            ]
            with m.If(send.fixed):
                m.d.sync += ev.eq(send.ev)
        with m.If(stage[2]):
            self._fill(m, out, send, row, ev.as_value())
            m.d.sync += valid.eq(1 << send.plane)
        for p, port in enumerate(self.o):
            m.d.comb += [port.valid.eq(valid[p]), port.payload.eq(out)]
            with m.If(port.valid & port.ready):
                m.d.sync += valid.eq(0)

        return m

    def _fill(self, m, out, send, row, ev):
        m.submodules.expander = expander = UsidExpander()
        loop_carrier = Signal(128)
        with m.Switch(send.plane):
            for p in range(self.config.lanes):
                with m.Case(p):
                    m.d.comb += loop_carrier.eq(self.settings.port[p].loop_carrier)
        m.d.comb += [
            expander.template.eq(row.carrier),
            expander.plane_slots.eq(row.plane_slots),
            expander.uplink_slots.eq(row.uplink_slots),
            expander.ev.eq(ev),
        ]
        m.d.sync += [
            out.eq(0),
            out.dqp.eq(ENDPOINT_QP),
            out.psn.eq(send.identifier),
            out.role.eq(Role.CONTROL),
            out.ev.eq(ev),
            out.ipv4.eq(row.ipv4 & ~send.own),
            out.destination.eq(Mux(send.own, self.settings.loopback, row.address)),
            out.srv6.eq(Mux(send.own, loop_carrier.any(), row.srv6)),
            out.carrier.eq(Mux(send.own, loop_carrier, expander.carrier)),
            out.segments.eq(Mux(send.own, 0, row.segments)),
            out.reduced.eq(row.reduced),
            out.route.eq(row.route),
        ]
        with m.If(send.response):
            m.d.sync += [
                out.opcode.eq(Opcode.ENDPOINT_RESPONSE),
                out.body.response.operation.eq(send.operation),
                out.body.response.tx_timestamp.eq(send.tx_timestamp),
            ]
        with m.Else():
            m.d.sync += [
                out.opcode.eq(Opcode.ENDPOINT_REQUEST),
                out.body.request.operation.eq(send.operation),
                out.body.request.port_status_mask.eq(send.mask),
            ]
