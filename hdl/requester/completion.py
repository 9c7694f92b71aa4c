"""Ends of work requests."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import Completion, Status
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory
from mrcnic.hdl.packet.pending_set import PendingSet

from .links import Life, LifeNews, Opened, Passed, Popped, Progress, Pushed, position_bits
from .qp_memory import QpMemory

__all__ = ["CompletionQueue"]


class _Entry(data.StructLayout):
    """What is to be known of a work request at its end."""

    def __init__(self):
        super().__init__({"identifier": 32, "with_immediate": 1, "refused": 1})


class _Done(data.StructLayout):
    """Messages of a QP that have ended well."""

    def __init__(self):
        super().__init__({"messages": 24, "immediates": 16})


class CompletionQueue(wiring.Component):
    """End work requests, in order per QP, once the segmenter is through with them.

    Those that the peer has acknowledged end well, whatever came later. Of a QP that failed, the
    oldest of the others ends with the cause (or, where there is none, the next that comes), and
    all more are flushed; of a QP that was closed, all are flushed.

    A visit to a QP takes 2 cycles, and one for each request that ends; one more if some are left.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    life, opened, pushed, passed, progress : ``In``
        News.
    popped : ``Out``
        News, after each visit.
    o : ``Out(stream.Signature(Completion(config)))``
        Completions.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "life": In(LifeNews(config)),
            "opened": In(Opened(config)),
            "pushed": In(Pushed(config)),
            "passed": In(Passed(config)),
            "progress": In(Progress(config)),
            "popped": Out(Popped(config)),
            "o": Out(stream.Signature(Completion(config))),
        })

    def elaborate(self, platform):
        m = Module()

        pending = self._pending(m)
        lives, heads, acked, places, dones = self._memories(m)
        qp, position = Signal(index_bits(self.config.qps)), Signal(position_bits(self.config))
        entry = self._entries(m, qp, position)

        life, head, messages = Signal.like(lives.value[0]), Signal.like(position), Signal(24)
        place, done, start = Signal.like(places.value[0]), Signal(_Done()), Signal(16)
        m.d.comb += position.eq(place.position)

        # What becomes of the oldest request.
        ok = done.messages != messages
        ends = (place.position != head) & (entry.refused | ok | (life.life != Life.OPEN))
        status = Signal(Status)
        blamed = (life.life == Life.FAILED) & (place.epoch != life.epoch)
        with m.If(entry.refused):
            m.d.comb += status.eq(Status.REFUSED)
        with m.Elif(ok):
            m.d.comb += status.eq(Status.OK)
        with m.Elif(blamed):
            m.d.comb += status.eq(life.status)
        with m.Else():
            m.d.comb += status.eq(Status.FLUSHED)

        finished = Signal()
        m.d.comb += [
            self.popped.valid.eq(finished),
            self.popped.qp.eq(qp),
            self.popped.done.eq(place.position),
            self.popped.immediates.eq(done.immediates),
            self.popped.immediates_moved.eq(done.immediates != start),
            places.write.value.position.eq(place.position),
            places.write.value.epoch.eq(Mux(life.life == Life.FAILED, place.epoch, life.epoch)),
        ]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += pending.o.ready.eq(~lives.clearing)
                m.d.sync += qp.eq(pending.o.payload)
                with m.If(pending.o.valid & pending.o.ready):
                    m.next = "LOOK"

            with m.State("LOOK"):
                m.d.comb += position.eq(places.value[0].position)
                m.d.sync += [
                    life.eq(lives.value[0]),
                    head.eq(heads.value[0]),
                    messages.eq(acked.value[0]),
                    place.eq(places.value[0]),
                    done.eq(dones.value[0]),
                    start.eq(dones.value[0].immediates),
                ]
                m.next = "POP"

            with m.State("POP"):
                with m.If(ends & (~self.o.valid | self.o.ready)):
                    m.d.comb += position.eq(place.position + 1)
                    m.d.sync += [
                        place.position.eq(place.position + 1),
                        self.o.valid.eq(1),
                        self.o.payload.qp.eq(qp),
                        self.o.payload.identifier.eq(entry.identifier),
                        self.o.payload.status.eq(status),
                    ]
                    with m.If(~entry.refused & ok):
                        m.d.sync += done.messages.eq(done.messages + 1)
                        m.d.sync += done.immediates.eq(done.immediates + entry.with_immediate)
                    with m.Elif(~entry.refused):
                        m.d.sync += place.epoch.eq(life.epoch)
                with m.Elif(~ends & ~self.opened.valid):
                    m.d.comb += finished.eq(1)
                    m.next = "IDLE"

        # A closed QP keeps its numbers to itself: it may have opened since this visit began.
        opened = self.opened
        m.d.comb += [
            dones.write.valid.eq(opened.valid | (finished & (life.life != Life.CLOSED))),
            dones.write.index.eq(Mux(opened.valid, opened.qp, qp)),
            dones.write.value.eq(Mux(opened.valid, 0, done.as_value())),
        ]

        return m

    def _pending(self, m):
        """Make the set of QPs to be visited, and collect all who add to it."""
        m.submodules.pending = pending = PendingSet(count=self.config.qps, adders=3)
        m.d.comb += [
            pending.add[0].valid.eq(self.life.valid),
            pending.add[0].index.eq(self.life.qp),
            pending.add[1].valid.eq(self.passed.valid & self.passed.ended),
            pending.add[1].index.eq(self.passed.qp),
            pending.add[2].valid.eq(self.progress.valid & self.progress.messages_moved),
            pending.add[2].index.eq(self.progress.qp),
        ]
        return pending

    def _memories(self, m):
        qps, bits = self.config.qps, position_bits(self.config)
        m.submodules.lives = lives = QpMemory(
            data.StructLayout({"life": Life, "status": Status, "epoch": 1}), count=qps
        )
        m.submodules.heads = heads = QpMemory(bits, count=qps)
        m.submodules.acked = acked = QpMemory(24, count=qps)
        m.submodules.places = places = QpMemory(
            data.StructLayout({"position": bits, "epoch": 1}), count=qps
        )
        m.submodules.dones = dones = QpMemory(_Done(), count=qps)
        opened = self.opened
        for copy, news in (
            (lives, self.life),
            (heads, self.passed),
            (places, self.popped),
        ):
            m.d.comb += copy.write.valid.eq(news.valid)
            m.d.comb += copy.write.index.eq(news.qp)
        m.d.comb += [
            lives.write.value.life.eq(self.life.life),
            lives.write.value.status.eq(self.life.status),
            lives.write.value.epoch.eq(self.life.epoch),
            heads.write.value.eq(self.passed.head),
            acked.write.valid.eq(opened.valid | self.progress.valid),
            acked.write.index.eq(Mux(opened.valid, opened.qp, self.progress.qp)),
            acked.write.value.eq(Mux(opened.valid, 0, self.progress.messages)),
        ]
        memories = (lives, heads, acked, places, dones)
        m.d.comb += [copy.index[0].eq(m.submodules.pending.o.payload) for copy in memories]
        return memories

    def _entries(self, m, qp, position):
        """Keep what is pushed; return what is at a position, a cycle later."""
        low = index_bits(self.config.send_queue)
        depth = self.config.qps * self.config.send_queue
        m.submodules.entries = entries = DeepMemory(_Entry(), depth=depth)
        m.d.comb += [
            entries.write.valid.eq(self.pushed.valid),
            entries.write.row.eq(Cat(self.pushed.position[:low], self.pushed.qp)),
            entries.write.data.identifier.eq(self.pushed.identifier),
            entries.write.data.with_immediate.eq(self.pushed.with_immediate),
            entries.write.data.refused.eq(self.pushed.refused),
            entries.row[0].eq(Cat(position[:low], qp)),
        ]
        return entries.data[0]
