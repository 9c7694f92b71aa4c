"""What is sent next: resends first, then new packets."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import QpFailure, QpStop, Status
from mrcnic.hdl.descriptor.outwards import TxRequest
from mrcnic.hdl.descriptor.sizes import slot_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory
from mrcnic.hdl.wire.opcodes import Role

from .payload_store import Stored
from .pick_log import Sent
from .scoreboard import Query
from .slot_rows import SlotContents, SlotKey

__all__ = ["Sender", "SenderEvents"]


class SenderEvents(data.StructLayout):
    """One-cycle pulses: packets not sent because they were acknowledged, stopped, or not read."""

    def __init__(self):
        super().__init__({"resend_declined": 1, "send_stopped": 1, "fetch_error": 1})


class Sender(wiring.Component):
    """Offer packets to be sent, resends before new ones.

    A resend is held against the scoreboard again in the cycle before it is offered, however long
    it has waited: if its PSN was acknowledged meanwhile, or the QP stopped, it is declined, which
    takes two cycles. A packet whose payload could not be read fails its QP. A packet is offered
    three cycles after it was put into a queue that was empty; one per cycle passes. A resend avoids
    the plane of the send before, or at least its EV.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    resends : ``In(stream.Signature(slot_bits))``
        Slots to be sent again.
    fresh : ``In(stream.Signature(Stored(config)))``
        Slots to be sent for the first time.
    o : ``Out(stream.Signature(TxRequest(config)))``
        Packets.
    declined : ``Out(stream.Signature(slot_bits))``
        Slots that are not sent after all.
    failed : ``Out(stream.Signature(QpFailure(config)))``
        QPs with a payload that could not be read.
    stop : ``Out(stream.Signature(QpStop(config)))``
        The same QPs, to be stopped before their slot is declined.
    enable, slot : ``Out(1)``, ``Out(slot_bits)``
        Asks for a slot's packet and last send.
    key, contents, sent : ``In(SlotKey)``, ``In(SlotContents)``, ``In(Sent)``
        The answer in the next cycle, which stays while there is no ``enable``.
    query : ``Out(Query(config))``
        Asks the scoreboard.
    stopped : ``In(1)``
        Answer to ``query.at.qp``, in the next cycle: the QP was stopped.
    asked, resent : ``In(slot_bits)``, ``Out(2)``
        A slot, and one cycle later how often it was sent again, up to 3.
    events : ``Out(SenderEvents())``
    """

    def __init__(self, config: NicConfig):
        self.config = config
        bits = slot_bits(config)
        super().__init__({
            "resends": In(stream.Signature(bits)),
            "fresh": In(stream.Signature(Stored(config))),
            "o": Out(stream.Signature(TxRequest(config))),
            "declined": Out(stream.Signature(bits)),
            "failed": Out(stream.Signature(QpFailure(config))),
            "stop": Out(stream.Signature(QpStop(config))),
            "enable": Out(1),
            "slot": Out(bits),
            "key": In(SlotKey(config)),
            "contents": In(SlotContents(config)),
            "sent": In(Sent(config)),
            "query": Out(Query(config)),
            "stopped": In(1),
            "asked": In(bits),
            "resent": Out(2),
            "events": Out(SenderEvents()),
        })

    def elaborate(self, platform):
        m = Module()

        config = self.config
        job = data.StructLayout({"valid": 1, "resend": 1, "error": 1, "slot": slot_bits(config)})
        taken, read, judged = (Signal(job, name=name) for name in ("taken", "read", "judged"))
        request = Signal(TxRequest(config))
        m.submodules.counts = counts = DeepMemory(2, depth=config.slots, readers=2)

        # Three steps, which move together: take a slot, read its packet, judge it.
        advance, leave = Signal(), Signal()
        m.d.comb += advance.eq(~judged.valid | leave)
        m.d.comb += [self.resends.ready.eq(advance), self.enable.eq(advance)]
        m.d.comb += self.fresh.ready.eq(advance & ~self.resends.valid)
        m.d.comb += [self.slot.eq(taken.slot), counts.row[0].eq(taken.slot)]
        m.d.comb += counts.enable[0].eq(advance)
        count = Signal(2)
        with m.If(advance):
            m.d.sync += [
                taken.valid.eq(self.resends.valid | self.fresh.valid),
                taken.resend.eq(self.resends.valid),
                taken.error.eq(~self.resends.valid & self.fresh.p.error),
                taken.slot.eq(Mux(self.resends.valid, self.resends.payload, self.fresh.p.slot)),
                read.eq(taken),
                judged.eq(read),
                count.eq(Mux(read.resend, counts.data[0] + (counts.data[0] != 3), 0)),
            ]
            self._compose(m, request, read)

        # While a packet waits, its question is asked over and over.
        m.d.comb += self.query.at.qp.eq(Mux(advance, self.key.qp, request.qp))
        m.d.comb += self.query.at.psn.eq(Mux(advance, self.key.psn, request.psn))

        for port in (self.o, self.declined, self.failed, self.stop):
            with m.If(port.ready):
                m.d.sync += port.valid.eq(0)
        m.d.sync += self.events.eq(0)
        told = Signal()
        m.d.comb += [self.stop.p.qp.eq(request.qp), self.failed.p.qp.eq(request.qp)]
        m.d.comb += self.failed.p.status.eq(Status.LOCAL_ERROR)
        broken, refused = judged.error & ~self.stopped, Signal()
        m.d.comb += refused.eq(self.stopped | (judged.resend & self.query.acked))
        with m.If(judged.valid & broken & ~told):
            # Once the stop shows in the answer, the slot goes the way of all that are stopped.
            m.d.sync += [told.eq(1), self.stop.valid.eq(1), self.failed.valid.eq(1)]
            m.d.sync += self.events.fetch_error.eq(1)
        with m.If(judged.valid & refused & ~self.declined.valid):
            m.d.comb += leave.eq(1)
            m.d.sync += [self.declined.valid.eq(1), self.declined.payload.eq(judged.slot)]
            m.d.sync += [told.eq(0), self.events.send_stopped.eq(self.stopped)]
            m.d.sync += self.events.resend_declined.eq(~self.stopped)
        with m.If(judged.valid & ~broken & ~refused & (~self.o.valid | self.o.ready)):
            m.d.comb += leave.eq(1)
            m.d.sync += [self.o.valid.eq(1), self.o.payload.eq(request)]
            m.d.comb += counts.write.valid.eq(1)
        m.d.comb += [counts.write.row.eq(judged.slot), counts.write.data.eq(count)]
        m.d.comb += [counts.row[1].eq(self.asked), self.resent.eq(counts.data[1])]

        return m

    def _compose(self, m, request, job):
        m.d.sync += [
            request.retransmission.eq(job.resend),
            request.slot.eq(job.slot),
            # Where a whole plane is cut off, as many EVs would be tried as it has.
            request.avoid.eq(job.resend),
            request.avoid_plane.eq(job.resend),
            request.avoid_ev.eq(self.sent.ev_index),
            request.body.write.eq(self.contents.body),
            request.role.eq(self.contents.role),
        ]
        for name in ("qp", "psn", "octets"):
            m.d.sync += request[name].eq(self.key[name])
        for name in ("opcode", "ack_request"):
            m.d.sync += request[name].eq(self.contents[name])
        with m.If(job.resend & (self.contents.role == Role.TRIMMABLE)):
            m.d.sync += request.role.eq(Role.TRIMMABLE_RETX)
