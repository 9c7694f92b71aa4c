"""When and by which path every packet was last sent."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import Picked
from mrcnic.hdl.descriptor.sizes import NOW_BITS, index_bits, slot_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory
from mrcnic.hdl.wire.opcodes import Opcode

__all__ = ["STAMP_BITS", "LastSend", "PickLog", "Sent"]

#: Width of a send-order stamp: the number of a send within its QP.
STAMP_BITS = 16


class Sent(data.StructLayout):
    """How a slot's packet was last sent.

    Members
    -------
    stamp : 16
        Order among the QP's sends.
    time : 24
        When, in ticks.
    ev_index, plane : by which path
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "stamp": STAMP_BITS,
            "time": NOW_BITS,
            "ev_index": index_bits(config.evs),
            "plane": index_bits(config.lanes),
        })


class LastSend(data.StructLayout):
    """A QP's last send, and the stamp of its last reliability probe."""

    def __init__(self, config: NicConfig):
        super().__init__({
            "sent": Sent(config),
            "probe_stamp": STAMP_BITS,
        })


class PickLog(wiring.Component):
    """Stamp every packet and reliability probe for which a path was picked.

    A stamp counts the QP's sends, modulo 2**16. It goes on where it was when a QP is created
    again, so that no record of a former life of the QP can be taken for a new one; its first
    value does not matter. Takes a pick per cycle, which can be read three cycles later.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    picked_valid, picked : ``In(1)``, ``In(Picked(config))``
        What was picked; everything but writes and probes is passed over.
    now : ``In(24)``
        Time.
    enable : ``In(1)``
        Of ``slot[0]``: without it, ``sent[0]`` stays as it is.
    slot, sent : ``In(slot_bits).array(readers)``, ``Out(Sent(config)).array(readers)``
        A slot, and one cycle later its last send.
    qp, last : ``In(index_bits(qps))``, ``Out(LastSend(config))``
        A QP, and one cycle later its last send.
    """

    def __init__(self, config: NicConfig, *, readers: int):
        self.config = config
        self.readers = readers
        super().__init__({
            "picked_valid": In(1),
            "picked": In(Picked(config)),
            "now": In(NOW_BITS),
            "enable": In(1),
            "slot": In(slot_bits(config)).array(readers),
            "sent": Out(Sent(config)).array(readers),
            "qp": In(index_bits(config.qps)),
            "last": Out(LastSend(config)),
        })

    def elaborate(self, platform):
        m = Module()

        config = self.config
        m.submodules.slots = slots = DeepMemory(
            Sent(config), depth=config.slots, readers=self.readers
        )
        m.submodules.qps = qps = memory.Memory(shape=LastSend(config), depth=config.qps, init=[])
        write = qps.write_port()
        before = qps.read_port(transparent_for=[write])
        asked = qps.read_port()

        # Read what the QP sent last, write what it sends now; back to back on one QP too.
        probe = (self.picked.opcode == Opcode.PROBE) & ~self.picked.fixed
        write_opcode = (self.picked.opcode >= Opcode.WRITE_FIRST) & (
            self.picked.opcode <= Opcode.WRITE_ONLY_IMM
        )
        pick = [Signal(Picked(config), name=f"pick_{n}") for n in range(2)]
        is_write, is_probe = Signal(2), Signal(2)
        m.d.sync += [
            pick[0].eq(self.picked),
            pick[1].eq(pick[0]),
            is_write[0].eq(self.picked_valid & write_opcode),
            is_probe[0].eq(self.picked_valid & probe),
            is_write[1].eq(is_write[0]),
            is_probe[1].eq(is_probe[0]),
        ]
        m.d.comb += before.addr.eq(pick[0].qp)

        sent = Signal(Sent(config))
        m.d.comb += [
            sent.stamp.eq(before.data.sent.stamp + 1),
            sent.time.eq(self.now),
            sent.ev_index.eq(pick[1].ev_index),
            sent.plane.eq(pick[1].plane),
            write.en.eq(is_write[1] | is_probe[1]),
            write.addr.eq(pick[1].qp),
            write.data.sent.eq(sent),
            write.data.probe_stamp.eq(before.data.probe_stamp),
            slots.write.valid.eq(is_write[1]),
            slots.write.row.eq(pick[1].slot),
            slots.write.data.eq(sent),
        ]
        with m.If(is_probe[1]):
            m.d.comb += write.data.probe_stamp.eq(sent.stamp)

        m.d.comb += slots.enable[0].eq(self.enable)
        m.d.comb += [asked.addr.eq(self.qp), self.last.eq(asked.data)]
        for n in range(self.readers):
            m.d.comb += [slots.row[n].eq(self.slot[n]), self.sent[n].eq(slots.data[n])]

        return m
