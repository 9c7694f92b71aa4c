"""The start of the responder's pipeline."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.inwards import RxDescriptor
from mrcnic.hdl.wire.opcodes import Opcode

from .slot import Slot, SlotOp, WorkItem

__all__ = ["Intake"]

#: Slots for which packets may keep other work waiting.
_PATIENCE = 256

_FIRST = (Opcode.WRITE_FIRST, Opcode.WRITE_ONLY, Opcode.WRITE_ONLY_IMM)
_LAST = (Opcode.WRITE_LAST, Opcode.WRITE_LAST_IMM, Opcode.WRITE_ONLY, Opcode.WRITE_ONLY_IMM)
_WITH_IMMEDIATE = (Opcode.WRITE_LAST_IMM, Opcode.WRITE_ONLY_IMM)
_WRITE = (Opcode.WRITE_MIDDLE, *_FIRST, Opcode.WRITE_LAST, Opcode.WRITE_LAST_IMM)


class Intake(wiring.Component):
    """Start a slot in each phase 0: a packet, or work where there is no packet.

    Work that has waited while 256 packets went by goes before the next one. ``o`` stands for the
    three cycles that follow.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    phase : ``In(2)``
    i : ``In(stream.Signature(RxDescriptor(config)))``
        Packets.
    work : ``In(stream.Signature(WorkItem(config)))``
        Other work.
    room : ``In(1)``
        There is room for whatever the slots under way and one more may produce.
    hold_packets, hold_work : ``In(1)``
        Start no packet; start nothing.
    o : ``Out(Slot(config))``
        The slot.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "phase": In(2),
            "i": In(stream.Signature(RxDescriptor(config))),
            "work": In(stream.Signature(WorkItem(config))),
            "room": In(1),
            "hold_packets": In(1),
            "hold_work": In(1),
            "o": Out(Slot(config)),
        })

    def elaborate(self, platform):
        m = Module()

        waited = Signal(range(_PATIENCE))
        overdue = waited == _PATIENCE - 1
        start = (self.phase == 0) & self.room & ~self.hold_work
        may_take = ~self.hold_packets & ~(overdue & self.work.valid)
        m.d.comb += [
            self.i.ready.eq(start & may_take),
            self.work.ready.eq(start & ~(self.i.valid & may_take)),
        ]

        descriptor = self.i.payload
        packet = self.o.packet
        with m.If(self.phase == 0):
            m.d.sync += self.o.valid.eq(0)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                self.o.valid.eq(1),
                self.o.op.eq(SlotOp.PACKET),
                self.o.qp.eq(descriptor.dqp),
                waited.eq(waited + (self.work.valid & ~overdue)),
            ]
        with m.Elif(self.work.valid & self.work.ready):
            m.d.sync += [
                self.o.valid.eq(1),
                self.o.op.eq(self.work.p.op),
                self.o.qp.eq(self.work.p.qp),
                waited.eq(0),
            ]

        write, probe = descriptor.body.write, descriptor.body.probe
        with m.If(self.phase == 0):
            for name in (
                "lane", "dqp", "psn", "ack_request", "retransmission", "ce", "ev", "tx_timestamp",
                "pad", "octets", "payload", "no_room", "trimmed", "last_hop",
            ):  # fmt: skip
                m.d.sync += packet[name].eq(descriptor[name])
            m.d.sync += [
                packet.write.eq(descriptor.opcode.matches(*_WRITE)),
                packet.probe.eq(descriptor.opcode == Opcode.PROBE),
                packet.first.eq(descriptor.opcode.matches(*_FIRST)),
                packet.last.eq(descriptor.opcode.matches(*_LAST)),
                packet.with_immediate.eq(descriptor.opcode.matches(*_WITH_IMMEDIATE)),
                packet.va.eq(write.reth.va),
                packet.rkey.eq(write.reth.rkey),
                packet.dmalen.eq(write.reth.dmalen),
                packet.rqmsn.eq(write.meth.rqmsn),
                packet.immediate.eq(write.immediate),
                packet.probe_id.eq(probe.probe_id),
            ]

        return m
