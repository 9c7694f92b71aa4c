"""Beginning, failure and end of QPs."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl import rows
from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import QpFailure, QpStop, Status
from mrcnic.hdl.descriptor.settings import TableWrite
from mrcnic.hdl.descriptor.sizes import index_bits
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
    is active, the QP opens. Failures are served meanwhile, because the end may have to wait for
    slots that only a failure sets free; nor does this component ever hold up a failure's reporter.
    A failure is told 4 cycles after it was offered, if nothing else is to do; a row takes as long
    as its old work requests take to end, and about 20 cycles.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    table : ``In(stream.Signature(TableWrite()))``
        Rows; others than those of QPs are taken at once.
    failures : ``In(stream.Signature(QpFailure(config)))``
        QPs that cannot go on. Always ready, but for the walk after reset.
    passed, popped : ``In``
        News of the segmenter and of the completions.
    stopped : ``Out(stream.Signature(QpStop(config)))``
        QPs whose packets are to be forgotten until there is a row for them, also those that are
        still on offer now. Comes within 10 cycles of a row.
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
        was = lives.value[0]
        changed, failed, opens = Signal(), Signal(), Signal()
        m.d.comb += [
            lives.index[0].eq(qp),
            causes.index[0].eq(qp),
            self.life.valid.eq(changed),
            self.life.qp.eq(qp),
            self.life.life.eq(Mux(opens, Life.OPEN, Mux(failed, Life.FAILED, Life.CLOSED))),
            self.life.status.eq(causes.value[0]),
            self.life.epoch.eq(was.epoch ^ failed),
            self.events.qp_failed.eq(failed),
            self.opened.valid.eq(opens),
            self.opened.qp.eq(qp),
            self.opened.row.eq(row),
        ]
        with m.If(self.stopped.ready):
            m.d.sync += self.stopped.valid.eq(0)

        with m.FSM():
            with m.State("IDLE"):
                row_waits = self.table.valid & (self.table.payload.table == Table.QP)
                m.d.comb += self.table.ready.eq(self.table.payload.table != Table.QP)
                with m.If(lives.clearing):
                    m.d.comb += self.table.ready.eq(0)
                with m.Elif(row_waits & ~watch.closing):
                    m.d.sync += qp.eq(self._row_qp())
                    m.next = "CLOSE_READ"
                with m.Elif(failing.o.valid):
                    m.d.comb += failing.o.ready.eq(1)
                    m.d.sync += qp.eq(failing.o.payload)
                    m.next = "FAIL_READ"
                with m.Elif(watch.drained):
                    m.d.sync += qp.eq(self._row_qp())
                    m.next = "OPEN"

            with m.State("FAIL_READ"):
                m.next = "FAIL"
            with m.State("FAIL"):
                m.next = "IDLE"
                with m.If(was.life == Life.OPEN):
                    m.d.comb += [changed.eq(1), failed.eq(1)]
                    m.next = "STOP"

            with m.State("CLOSE_READ"):
                m.next = "CLOSE"
            with m.State("CLOSE"):
                m.d.comb += changed.eq(1)
                m.d.sync += watch.closing.eq(1)
                m.next = "IDLE"
                with m.If(was.life == Life.OPEN):
                    m.next = "STOP"

            with m.State("STOP"), m.If(~self.stopped.valid | self.stopped.ready):
                m.d.sync += [self.stopped.valid.eq(1), self.stopped.payload.qp.eq(qp)]
                m.next = "IDLE"

            with m.State("OPEN"):
                m.d.comb += [
                    changed.eq(row.active),
                    opens.eq(row.active),
                    self.table.ready.eq(1),
                ]
                m.d.sync += watch.eq(0)
                m.next = "IDLE"
