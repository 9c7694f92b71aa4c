"""NACKs: each names one packet, so they have to wait in line."""

from operator import index

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import TxRequest
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.wire.opcodes import Opcode, Role

from .slot import Outcome, Slot

__all__ = ["NackEvents", "NackQueue"]

#: Kind of congestion state in a NACK: there is only a timestamp.
_CC_TYPE = 2


class NackEvents(data.StructLayout):
    """NACKs that found the queue full."""

    def __init__(self):
        super().__init__({"tx_nack_dropped": 1})


class NackQueue(wiring.Component):
    """Queue up NACKs. When the queue is full, further ones are dropped and counted.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    depth : :class:`int`
        NACKs that may wait, at least 2.

    Members
    -------
    phase : ``In(2)``
    i, outcome : ``In(Slot(config))``, ``In(Outcome())``
        Slot and outcome, from phase 1 on.
    o : ``Out(stream.Signature(TxRequest(config)))``
        NACKs.
    events : ``tx_nack_dropped``

    Raises
    ------
    ValueError
        If ``depth`` is below 2.
    """

    def __init__(self, config: NicConfig, *, depth: int = 16):
        self.config = config
        self.depth = index(depth)
        if self.depth < 2:
            raise ValueError(f"depth must be at least 2, not {depth}")
        super().__init__({
            "phase": In(2),
            "i": In(Slot(config)),
            "outcome": In(Outcome()),
            "o": Out(stream.Signature(TxRequest(config))),
            "events": Out(NackEvents()),
        })

    def elaborate(self, platform):
        m = Module()

        layout = data.StructLayout({
            "qp": index_bits(self.config.qps),
            "psn": 24,
            "reason": 8,
            "ev": 32,
            "spdcid": 16,
            "dpdcid": 16,
            "tx_timestamp": 16,
        })
        m.submodules.queue = queue = SyncFIFOBuffered(width=layout.size, depth=self.depth)
        packet, outcome = self.i.packet, self.outcome
        asked = (self.phase == 1) & outcome.nack
        entry = data.View(layout, queue.w_data)
        m.d.comb += [
            entry.qp.eq(self.i.qp),
            entry.psn.eq(packet.psn),
            entry.reason.eq(outcome.reason),
            entry.ev.eq(packet.ev),
            entry.spdcid.eq(outcome.spdcid),
            entry.dpdcid.eq(outcome.dpdcid),
            entry.tx_timestamp.eq(packet.tx_timestamp),
            queue.w_en.eq(asked),
            self.events.tx_nack_dropped.eq(asked & ~queue.w_rdy),
        ]

        head = data.View(layout, queue.r_data)
        neth = self.o.p.body.nack
        m.d.comb += [
            self.o.valid.eq(queue.r_rdy),
            queue.r_en.eq(self.o.ready),
            self.o.p.qp.eq(head.qp),
            self.o.p.opcode.eq(Opcode.NACK),
            self.o.p.psn.eq(head.psn),
            self.o.p.role.eq(Role.CONTROL),
            neth.reason.eq(head.reason),
            neth.entropy.eq(head.ev),
            neth.spdcid.eq(head.spdcid),
            neth.dpdcid.eq(head.dpdcid),
            neth.nack_psn.eq(head.psn),
            neth.cc_type.eq(_CC_TYPE),
            neth.tx_timestamp.eq(head.tx_timestamp),
        ]

        return m
