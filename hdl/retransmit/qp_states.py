"""Start and stop of QPs, and what the host set for them."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl import rows
from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import QpStop
from mrcnic.hdl.descriptor.settings import TableWrite
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory
from mrcnic.hdl.wire.layout import HeaderLayout

from .scoreboard import QpPsn

__all__ = ["QpStates", "RetrySettings", "Visit"]


class RetrySettings(data.StructLayout):
    """Time-outs of a QP, as in :data:`~mrcnic.hdl.rows.QP_ROW`."""

    def __init__(self):
        super().__init__({"timeout": 5, "linear_count": 3, "exponential_count": 5})


class Visit(data.StructLayout):
    """The walker saw a slot; with ``last``, the last one of a lap."""

    def __init__(self, config: NicConfig):
        super().__init__({"occupied": 1, "last": 1, "qp": index_bits(config.qps)})


class QpStates(wiring.Component):
    """Take the host's QP rows, and keep which QPs were stopped.

    A row for a QP first stops it, and waits for a whole lap of the walker in which the QP had no
    slot: nothing in the NIC refers to its memory any more. Then what the scoreboard and the walker
    know is cleared, and a row with ``active`` starts the QP. Only then is the row taken. Rows of
    other tables are taken at once.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    table : ``In(stream.Signature(TableWrite()))``
        Rows.
    stops : ``In(stream.Signature(QpStop(config))).array(2)``
        QPs that are to be stopped; each is taken within two cycles.
    visit : ``In(Visit(config))``
        The walker's way.
    clear_scoreboard, clear_walker : ``Out(stream.Signature(QpPsn(config)))``
        QPs to be cleared, with their first PSN.
    qp, stopped : ``In(index_bits(qps)).array(2)``, ``Out(1).array(2)``
        A QP, and one cycle later whether it was stopped.
    settings : ``Out(RetrySettings())``
        Of the QP ``qp[0]``, one cycle later.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        qp = index_bits(config.qps)
        super().__init__({
            "table": In(stream.Signature(TableWrite())),
            "stops": In(stream.Signature(QpStop(config))).array(2),
            "visit": In(Visit(config)),
            "clear_scoreboard": Out(stream.Signature(QpPsn(config))),
            "clear_walker": Out(stream.Signature(QpPsn(config))),
            "qp": In(qp).array(2),
            "stopped": Out(1).array(2),
            "settings": Out(RetrySettings()),
        })

    def elaborate(self, platform):
        m = Module()

        depth = self.config.qps
        m.submodules.flags = flags = DeepMemory(1, depth=depth, readers=2)
        m.submodules.kept = kept = DeepMemory(RetrySettings(), depth=depth)
        m.d.comb += [kept.row[0].eq(self.qp[0]), self.settings.eq(kept.data[0])]
        for n in range(2):
            m.d.comb += [flags.row[n].eq(self.qp[n]), self.stopped[n].eq(flags.data[n])]

        layout = HeaderLayout(rows.QP_ROW)
        row = data.View(layout, self.table.p.row[: layout.size])
        qp = Signal(index_bits(depth))
        m.d.comb += qp.eq(self.table.p.index)

        # The machine below goes first; it writes rarely.
        setting, started = Signal(), Signal()
        write = flags.write
        with m.If(setting):
            m.d.comb += [write.valid.eq(1), write.row.eq(qp), write.data.eq(~started)]
        with m.Else():
            first = self.stops[0].valid
            m.d.comb += [
                self.stops[0].ready.eq(1),
                self.stops[1].ready.eq(~first),
                write.valid.eq(first | self.stops[1].valid),
                write.row.eq(Mux(first, self.stops[0].p.qp, self.stops[1].p.qp)),
                write.data.eq(1),
            ]

        m.d.comb += kept.write.row.eq(qp)
        for clear in (self.clear_scoreboard, self.clear_walker):
            m.d.comb += [clear.p.qp.eq(qp), clear.p.psn.eq(row.tx_psn)]
        for name in ("timeout", "linear_count", "exponential_count"):
            m.d.comb += kept.write.data[name].eq(row[name])

        seen = Signal()
        met = self.visit.occupied & (self.visit.qp == qp)
        with m.FSM():
            with m.State("IDLE"):
                ours = self.table.p.table == rows.Table.QP
                m.d.comb += self.table.ready.eq(~ours)
                with m.If(self.table.valid & ours):
                    m.d.comb += setting.eq(1)
                    m.d.sync += seen.eq(1)  # part of a lap proves nothing
                    m.next = "DRAIN"
            with m.State("DRAIN"):
                with m.If(self.visit.last):
                    m.d.sync += seen.eq(0)
                    with m.If(~seen & ~met):
                        m.next = "CLEAR_SCOREBOARD"
                with m.Elif(met):
                    m.d.sync += seen.eq(1)
            with m.State("CLEAR_SCOREBOARD"):
                m.d.comb += self.clear_scoreboard.valid.eq(1)
                with m.If(self.clear_scoreboard.ready):
                    m.next = "CLEAR_WALKER"
            with m.State("CLEAR_WALKER"):
                m.d.comb += self.clear_walker.valid.eq(1)
                with m.If(self.clear_walker.ready):
                    m.next = "START"
            with m.State("START"):
                m.d.comb += [
                    started.eq(row.active),
                    setting.eq(1),
                    kept.write.valid.eq(row.active),
                    self.table.ready.eq(1),
                ]
                m.next = "IDLE"

        return m
