"""What the responder tells its peers: SACK, NACK and ACK."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import TxRequest
from mrcnic.hdl.descriptor.sizes import NOW_BITS, index_bits
from mrcnic.hdl.packet.pending_set import PendingSet
from mrcnic.hdl.packet.stream_arbiter import StreamArbiter

from .ack_builder import AckBuilder
from .arrival import Failure
from .arrival_bitmap import ArrivalBitmap, BitmapRow
from .nack_queue import NackEvents, NackQueue
from .qp_table import QpRow
from .sack_builder import SackBuilder
from .sack_triggers import SackTriggers
from .slot import Clear, Outcome, Slot

__all__ = ["Report"]


class Report(wiring.Component):
    """Put together what makes reports. No logic of its own.

    Reports wait as long as ``o`` is not ready, and the pipeline does not care. SACKs and ACKs wait
    as a mark of their QP, NACKs in a queue. The three take turns.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    bitmap : :class:`ArrivalBitmap`
        Whose rows these are.

    Members
    -------
    phase, now, sack_threshold, flush_delay
        Phase of the pipeline; time; settings.
    judged, judged_outcome : ``In(Slot(config))``, ``In(Outcome())``
        Slot and outcome, from phase 1 on.
    advanced, advanced_outcome : ``In(Slot(config))``, ``In(Outcome())``
        The same, three cycles later, when cack has moved.
    complete, msn : ``In(StructLayout({"valid": 1, "index": ...}))``, ``In(24)``
        Messages of a QP that are complete and in memory.
    nak : ``In(StructLayout({"valid": 1, "index": ...}))``
        A QP that has failed, and of which all messages that are complete have been told.
    sack_qp, sack_qp_row, sack_expected, ack_qp, ack_failure, ack_expected
        Questions about QPs, and the answers a cycle later.
    read_address, bitmap_row : towards the bitmap: asked in phase 0, answered in phase 1
    flush, remain : ``Out(StructLayout({"valid": 1, "index": ...}))``
        Work for the background.
    o : ``Out(stream.Signature(TxRequest(config)))``
        Reports.
    clear : ``In(Clear(config))``
    events : those of the NACK queue
    """

    def __init__(self, config: NicConfig, *, bitmap: ArrivalBitmap):
        self.config = config
        qp_bits = index_bits(config.qps)
        wanted = data.StructLayout({"valid": 1, "index": qp_bits})
        self.bitmap = bitmap
        super().__init__({
            "phase": In(2),
            "now": In(NOW_BITS),
            "sack_threshold": In(24),
            "flush_delay": In(16),
            "judged": In(Slot(config)),
            "judged_outcome": In(Outcome()),
            "advanced": In(Slot(config)),
            "advanced_outcome": In(Outcome()),
            "complete": In(wanted),
            "msn": In(24),
            "nak": In(wanted),
            "sack_qp": Out(qp_bits),
            "sack_qp_row": In(QpRow()),
            "sack_expected": In(24),
            "ack_qp": Out(qp_bits),
            "ack_failure": In(Failure()),
            "ack_expected": In(24),
            "read_address": Out(bitmap.address_bits),
            "bitmap_row": In(BitmapRow()),
            "flush": Out(wanted),
            "remain": Out(wanted),
            "o": Out(stream.Signature(TxRequest(config))),
            "clear": In(Clear(config)),
            "events": Out(NackEvents()),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.triggers = triggers = SackTriggers(self.config)
        m.submodules.sacks = sacks = SackBuilder(self.config, bitmap=self.bitmap)
        m.submodules.acks = acks = AckBuilder(self.config)
        m.submodules.nacks = nacks = NackQueue(self.config)
        m.submodules.sacks_due = sacks_due = PendingSet(count=self.config.qps)
        m.submodules.acks_due = acks_due = PendingSet(count=self.config.qps, adders=2)

        m.d.comb += [
            triggers.phase.eq(self.phase),
            triggers.now.eq(self.now),
            triggers.sack_threshold.eq(self.sack_threshold),
            triggers.flush_delay.eq(self.flush_delay),
            triggers.i.eq(self.advanced),
            triggers.outcome.eq(self.advanced_outcome),
            triggers.clear.eq(self.clear),
            triggers.take.eq(sacks.take),
            triggers.take_qp.eq(sacks.qp),
            sacks_due.add[0].eq(triggers.due),
            self.flush.eq(triggers.flush),
        ]
        connect(m, sacks_due.o, sacks.due)
        m.d.comb += [
            sacks.phase.eq(self.phase),
            sacks.causes.eq(triggers.causes),
            sacks.qp_row.eq(self.sack_qp_row),
            sacks.expected.eq(self.sack_expected),
            sacks.bitmap_row.eq(self.bitmap_row),
            sacks.clear.eq(self.clear),
            self.sack_qp.eq(sacks.qp),
            self.read_address.eq(sacks.read_address),
            self.remain.eq(sacks.remain),
        ]
        m.d.comb += [
            acks_due.add[0].valid.eq((self.phase == 1) & self.judged_outcome.acknowledge),
            acks_due.add[0].index.eq(self.judged.qp),
            acks_due.add[1].valid.eq(self.complete.valid | self.nak.valid),
            acks_due.add[1].index.eq(self.complete.index),  # if both come, they are of one QP
        ]
        connect(m, acks_due.o, acks.due)
        m.d.comb += [
            acks.complete.eq(self.complete),
            acks.msn.eq(self.msn),
            acks.nak.eq(self.nak),
            acks.failure.eq(self.ack_failure),
            acks.expected.eq(self.ack_expected),
            acks.clear.eq(self.clear),
            self.ack_qp.eq(acks.qp),
            nacks.phase.eq(self.phase),
            nacks.i.eq(self.judged),
            nacks.outcome.eq(self.judged_outcome),
            self.events.eq(nacks.events),
        ]

        m.submodules.turns = turns = StreamArbiter(TxRequest(self.config), inputs=3)
        for source, turn in zip((sacks, acks, nacks), turns.i, strict=True):
            connect(m, source.o, turn)
        connect(m, turns.o, flipped(self.o))

        return m
