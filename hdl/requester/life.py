"""Beginning, failure and end of QPs."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl import rows
from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor import QpFailure, QpStop, Status, TableWrite, index_bits
from mrcnic.hdl.packet.pending_set import PendingSet
from mrcnic.hdl.rows import Table
from mrcnic.hdl.wire.layout import HeaderLayout
from mrcnic.hdl.wire.serial import ahead

from .links import Life, LifeNews, Opened, Passed, Popped
from .qp_memory import QpMemory

__all__ = ["QpLife"]


class QpLife(wiring.Component):
    """Open, fail and close QPs, and tell everybody.

    A row for a QP closes it first: its packets stop, its work requests end. Only then, if the row
    is active, the QP opens. A failure is never held up by this, because closing may have to wait
    for slots that only a failure sets free; nor does this component ever hold up a failure's
    reporter. What follows a failure is two to ten cycles; a row takes as long as its old work
    requests take to end, and 16 cycles more.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    table : ``In(stream.Signature(TableWrite()))``
        Rows; others than those of QPs are taken at once.
    failures : ``In(stream.Signature(QpFailure(config)))``
        QPs that cannot go on. Status ``OK`` says that a packet has left for a QP that may be
        closed by now. Always ready, but for the walk after reset.
    passed, popped : ``In``
        News of the segmenter and of the completions.
    stopped : ``Out(stream.Signature(QpStop(config)))``
        QPs whose packets under way are to be forgotten. May come twice for one QP: for a packet
        that had been offered when the QP failed.
    life, opened : ``Out``
        News.
    events : ``Out``
        ``qp_failed``.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "table": In(stream.Signature(TableWrite())),
            "failures": In(stream.Signature(QpFailure(config))),
            "passed": In(Passed(config)),
            "popped": In(Popped(config)),
            "stopped": Out(stream.Signature(QpStop(config))),
            "life": Out(LifeNews(config)),
            "opened": Out(Opened(config)),
            "events": Out(data.StructLayout({"qp_failed": 1})),
        })

    def elaborate(self, platform):
        m = Module()

        config = self.config
        m.submodules.lives = lives = QpMemory(
            data.StructLayout({"life": Life, "epoch": 1}), count=config.qps
        )
        m.submodules.causes = causes = QpMemory(Status, count=config.qps)
        m.submodules.failing = failing = PendingSet(count=config.qps)
        m.d.comb += [
            lives.write.valid.eq(self.life.valid),
            lives.write.index.eq(self.life.qp),
            lives.write.value.life.eq(self.life.life),
            lives.write.value.epoch.eq(self.life.epoch),
        ]

        m.d.comb += [
            self.failures.ready.eq(~causes.clearing),
            failing.add[0].valid.eq(self.failures.valid & self.failures.ready),
            failing.add[0].index.eq(self.failures.payload.qp),
            causes.write.valid.eq(failing.add[0].valid),
            causes.write.index.eq(self.failures.payload.qp),
            causes.write.value.eq(self.failures.payload.status),
        ]

        self._serve(m, lives, causes, failing, self._watch(m))

        return m

    def _watch(self, m):
        """Find out when the QP that is being closed has come to its end."""
        watch = Signal(data.StructLayout({"closing": 1, "dropped": 1, "drained": 1}))
        target = Signal.like(self.passed.head)
        qp = self._row_qp()
        with m.If(watch.closing & self.passed.valid & self.passed.dropped & (self.passed.qp == qp)):
            m.d.sync += watch.dropped.eq(1)
            with m.If(~watch.dropped):
                m.d.sync += target.eq(self.passed.head)
        reached = ahead(self.popped.done, target) >= 0
        with m.If(watch.dropped & self.popped.valid & (self.popped.qp == qp) & reached):
            m.d.sync += watch.drained.eq(1)
        return watch

    def _row_qp(self):
        return self.table.payload.index[: index_bits(self.config.qps)]

    def _serve(self, m, lives, causes, failing, watch):
        row = data.View(
            HeaderLayout(rows.QP_ROW), self.table.payload.row[: HeaderLayout(rows.QP_ROW).size]
        )
        qp = Signal(index_bits(self.config.qps))
        known = Signal()  # the QP that is being closed had a life
        was = lives.value[0]
        m.d.comb += [
            lives.index[0].eq(qp),
            causes.index[0].eq(qp),
            self.life.qp.eq(qp),
            self.life.epoch.eq(was.epoch),
            self.opened.qp.eq(qp),
            self.opened.row.eq(row),
        ]
        with m.If(self.stopped.ready):
            m.d.sync += self.stopped.valid.eq(0)

        with m.FSM():
            with m.State("IDLE"):
                with m.If(lives.clearing):
                    pass
                with m.Elif(failing.o.valid):
                    m.d.comb += failing.o.ready.eq(1)
                    m.d.sync += qp.eq(failing.o.payload)
                    m.next = "FAIL_READ"
                with m.Elif(watch.drained):
                    m.d.sync += qp.eq(self._row_qp())
                    m.next = "OPEN_STOP"
                with m.Elif(self.table.valid & (self.table.payload.table != Table.QP)):
                    m.d.comb += self.table.ready.eq(1)
                with m.Elif(self.table.valid & ~watch.closing):
                    m.d.sync += qp.eq(self._row_qp())
                    m.next = "CLOSE_READ"

            with m.State("FAIL_READ"):
                m.next = "FAIL"
            with m.State("FAIL"):
                m.d.comb += [self.life.life.eq(Life.FAILED), self.life.status.eq(causes.value[0])]
                m.d.comb += self.life.epoch.eq(~was.epoch)
                m.next = "STOP"
                with m.If(was.life == Life.OPEN):
                    m.d.comb += self.life.valid.eq(causes.value[0] != Status.OK)
                    m.d.comb += self.events.qp_failed.eq(self.life.valid)
                    with m.If(~self.life.valid):
                        m.next = "IDLE"

            with m.State("CLOSE_READ"):
                m.next = "CLOSE"
            with m.State("CLOSE"):
                m.d.comb += [self.life.valid.eq(1), self.life.life.eq(Life.CLOSED)]
                m.d.sync += known.eq(was.life != Life.CLOSED)
                m.d.sync += watch.closing.eq(1)
                m.next = "IDLE"
                with m.If(was.life == Life.OPEN):
                    m.next = "STOP"

            for name, following in (("STOP", "IDLE"), ("OPEN_STOP", "OPEN")):
                with m.State(name):
                    # A packet that was offered before the QP closed has been taken by now.
                    needed = known if name == "OPEN_STOP" else 1
                    with m.If(~self.stopped.valid):
                        m.d.sync += self.stopped.valid.eq(needed)
                        m.d.sync += self.stopped.payload.qp.eq(qp)
                        m.next = following

            with m.State("OPEN"), m.If(~self.stopped.valid):
                m.d.comb += [
                    self.opened.valid.eq(row.active),
                    self.life.valid.eq(row.active),
                    self.life.life.eq(Life.OPEN),
                    self.table.ready.eq(1),
                ]
                m.d.sync += watch.eq(0)
                m.next = "IDLE"
