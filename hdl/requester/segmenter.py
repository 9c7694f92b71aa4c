"""Work requests to packets."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import Retired
from mrcnic.hdl.descriptor.outwards import AllocateRequest
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.pending_set import PendingSet

from .gate import Gate
from .links import (
    Life,
    LifeNews,
    Opened,
    Passed,
    Popped,
    Progress,
    Pushed,
    Sent,
    pmtu_code,
    position_bits,
)
from .packet_maker import Message, PacketMaker
from .qp_memory import QpMemory
from .send_queue import QueuedRequest
from .sleepers import Sleepers

__all__ = ["Segmenter"]


class Segmenter(wiring.Component):
    """Visit the QPs that have work in turn, and make one packet in each visit.

    The first packet of a message takes 256 << mtu_code octets, and so on; the last one takes what
    is left, which is never nothing. PSNs follow each other; ``msn`` counts messages and ``rqmsn``
    writes with immediate, both from 0 (docs/protocol.md, "BTH and extension headers"). The last
    packet of a message asks for an acknowledgement, and so does each one after which no full
    packet would fit into the congestion window, or none at all into the PSN window.

    A QP whose windows are closed is put to sleep, and woken by whatever may open them. A visit
    takes 3 cycles if it makes a packet, also where it is the same QP each time; a packet is
    offered 4 cycles after its request was pushed, if nothing else was to do.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    life, opened, pushed, progress, popped : ``In``
        News.
    retired : ``In(stream.Signature(Retired(config)))``
        Packets that count no more.
    occupied : ``In(range(slots + 1))``
        Payload slots in use.
    qp, position, request
        Reading the send queue: the request comes a cycle later.
    o : ``Out(stream.Signature(AllocateRequest(config)))``
        Packets.
    sent, passed : ``Out``
        News.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "life": In(LifeNews(config)),
            "opened": In(Opened(config)),
            "pushed": In(Pushed(config)),
            "progress": In(Progress(config)),
            "popped": In(Popped(config)),
            "retired": In(stream.Signature(Retired(config))),
            "occupied": In(range(config.slots + 1)),
            "qp": Out(index_bits(config.qps)),
            "position": Out(position_bits(config)),
            "request": In(QueuedRequest()),
            "o": Out(stream.Signature(AllocateRequest(config))),
            "sent": Out(Sent(config)),
            "passed": Out(Passed(config)),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.lives = lives = QpMemory(Life, count=self.config.qps)
        m.d.comb += [
            lives.write.valid.eq(self.life.valid),
            lives.write.index.eq(self.life.qp),
            lives.write.value.eq(self.life.life),
        ]
        self._visits(m, lives)

        return m

    def _visits(self, m, lives):
        memories = self._memories(m)
        heads, tails, messages, codes = memories
        pending, asleep = self._pending(m)
        m.submodules.gate = gate = Gate(self.config)
        connect(m, gate.retired, flipped(self.retired))
        m.d.comb += [
            gate.opened.eq(self.opened),
            gate.progress.eq(self.progress),
            gate.popped.eq(self.popped),
            gate.occupied.eq(self.occupied),
            gate.spent.eq(messages.value[0].spent),
            asleep.news[0].eq(gate.credit),
        ]

        again, again_qp = Signal(), Signal(index_bits(self.config.qps))
        qp = Signal.like(again_qp)  # whose turn it is
        visited = Signal.like(qp)  # whose turn it was a cycle ago
        closed = Signal()
        head, tail = Signal(position_bits(self.config)), Signal(position_bits(self.config))
        message, pmtu, trim = Signal(Message()), Signal(13), Signal()
        m.d.comb += qp.eq(Mux(again, again_qp, pending.o.payload))
        m.d.comb += [memory.index[0].eq(qp) for memory in (*memories, lives)]
        m.d.comb += [gate.qp.eq(qp), self.qp.eq(visited), self.position.eq(head)]
        passes, dropped, slept, sleeps = Signal(), Signal(), Signal(), Signal()
        skips, sends, queued = Signal(), Signal(), Signal()
        m.d.comb += [
            asleep.write.valid.eq(slept),
            asleep.write.index.eq(Mux(sleeps, qp, visited)),
            asleep.write.value.eq(sleeps),
            self.passed.valid.eq(passes),
            self.passed.qp.eq(visited),
            self.passed.head.eq(Mux(skips, tail, head + 1)),
            self.passed.ended.eq(skips | self.request.refused),
            self.passed.dropped.eq(dropped),
            pending.add[0].valid.eq(queued),
        ]

        after = (head + 1)[: len(head)]
        free = (self.o.ready | ~self.o.valid) & ~self.opened.valid
        m.submodules.packet = packet = PacketMaker(self.config)
        m.d.comb += [
            packet.qp.eq(visited),
            packet.asked.eq(self.request),
            packet.message.eq(message),
            packet.windows.eq(gate.windows),
            packet.pmtu.eq(pmtu),
            packet.trim.eq(trim),
        ]
        m.d.comb += queued.eq(self.pushed.valid)
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)

        with m.FSM():
            with m.State("LOAD"):
                m.d.comb += pending.o.ready.eq(~again & ~heads.clearing)
                m.d.sync += visited.eq(qp)
                with m.If((again | pending.o.valid) & ~heads.clearing):
                    m.d.comb += [slept.eq(1), sleeps.eq(1)]
                    m.d.sync += again.eq(0)
                    m.next = "FETCH"
                with m.Elif(self.pushed.valid):  # nobody waits: skip the queue
                    m.d.comb += queued.eq(0)
                    m.d.sync += [again.eq(1), again_qp.eq(self.pushed.qp)]

            with m.State("FETCH"):
                m.d.comb += [gate.look.eq(1), self.position.eq(heads.value[0])]
                m.d.sync += [
                    head.eq(heads.value[0]),
                    tail.eq(tails.value[0]),
                    message.eq(messages.value[0]),
                    pmtu.eq(Const(256) << codes.value[0].code),
                    trim.eq(codes.value[0].trim),
                    closed.eq(lives.value[0] == Life.CLOSED),
                ]
                m.next = "MAKE"
                with m.If(lives.value[0] != Life.OPEN):
                    m.next = "DROP"
                with m.Elif(heads.value[0] == tails.value[0]):
                    m.d.comb += slept.eq(1)
                    m.next = "LOAD"

            with m.State("DROP"):
                m.d.comb += skips.eq(1)
                with m.If(~self.o.valid | (self.o.payload.qp != visited)):
                    m.d.comb += [passes.eq(1), dropped.eq(closed), slept.eq(1)]
                    m.next = "LOAD"

            with m.State("MAKE"):
                more = Signal()
                with m.If(self.request.refused):
                    m.d.comb += [passes.eq(1), more.eq(after != tail), slept.eq(1)]
                    m.next = "LOAD"
                with m.Elif(~packet.may_go):
                    m.next = "LOAD"
                with m.Elif(free):
                    m.d.comb += [sends.eq(1), passes.eq(packet.last)]
                    m.d.comb += more.eq((~packet.last | (after != tail)) & ~gate.windows.psn_last)
                    m.d.comb += slept.eq(~gate.windows.psn_last)
                    m.d.sync += [self.o.valid.eq(1), self.o.payload.eq(packet.o)]
                    m.next = "LOAD"
                # It stays its turn if nobody else waits.
                m.d.comb += [pending.add[1].index.eq(visited)]
                m.d.comb += pending.add[1].valid.eq(more & pending.o.valid)
                with m.If(more):
                    m.d.sync += [again.eq(~pending.o.valid), again_qp.eq(visited)]

        m.d.comb += self.sent.valid.eq(sends)
        self._commit(m, messages, packet.after)

    def _memories(self, m):
        """Make the memories of heads, tails, messages, and what is fixed."""
        qps, row = self.config.qps, self.opened.row
        m.submodules.heads = heads = QpMemory(position_bits(self.config), count=qps)
        m.submodules.tails = tails = QpMemory(position_bits(self.config), count=qps)
        m.submodules.messages = messages = QpMemory(Message(), count=qps)
        m.submodules.codes = codes = QpMemory(data.StructLayout({"code": 3, "trim": 1}), count=qps)
        most = pmtu_code(self.config)
        m.d.comb += [
            codes.write.value.code.eq(Mux(row.mtu_code < most, row.mtu_code, most)),
            codes.write.value.trim.eq(row.trim_nack),
            tails.write.value.eq(self.pushed.position + 1),
            heads.write.value.eq(self.passed.head),
        ]
        for memory, news in (
            (codes, self.opened),
            (tails, self.pushed),
            (heads, self.passed),
        ):
            m.d.comb += memory.write.valid.eq(news.valid)
            m.d.comb += memory.write.index.eq(news.qp)
        return heads, tails, messages, codes

    def _pending(self, m):
        """Make the set of QPs to be visited, and collect all who add to it."""
        m.submodules.pending = pending = PendingSet(count=self.config.qps, adders=6)
        m.submodules.asleep = asleep = Sleepers(count=self.config.qps, sources=3)
        m.d.comb += [
            pending.add[0].index.eq(self.pushed.qp),
            pending.add[2].valid.eq(self.life.valid),
            pending.add[2].index.eq(self.life.qp),
            asleep.news[1].valid.eq(
                self.progress.valid & (self.progress.cack_moved | self.progress.mpr_moved)
            ),
            asleep.news[1].index.eq(self.progress.qp),
            asleep.news[2].valid.eq(self.popped.valid & self.popped.immediates_moved),
            asleep.news[2].index.eq(self.popped.qp),
        ]
        m.d.comb += [pending.add[3 + n].eq(asleep.wake[n]) for n in range(3)]
        return pending, asleep

    def _commit(self, m, messages, after):
        """Write what a packet has changed, or where a QP starts."""
        write, opened, start = messages.write, self.opened, Signal(Message())
        m.d.comb += [
            start.spent.next_psn.eq(opened.row.tx_psn),
            start.spent.fresh.eq(1),
            self.sent.qp.eq(self.qp),
            self.sent.next_psn.eq(after.spent.next_psn),
            self.sent.messages.eq(after.messages),
            write.valid.eq(opened.valid | self.sent.valid),
            write.index.eq(Mux(opened.valid, opened.qp, self.qp)),
            write.value.eq(Mux(opened.valid, start.as_value(), after.as_value())),
        ]
