"""Rows of the host's tables, to whom they concern."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl import rows
from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import TableWrite
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.rows import Table
from mrcnic.hdl.wire.layout import HeaderLayout

from .ev_table import EvWrite
from .links import Operation, OperationKind, PeerWrite, ProfileRow

__all__ = ["Loader"]

#: Cycles that the masks of a profile take to come.
_READ_CYCLES = 2


class Loader(wiring.Component):
    """Take table rows, and give each QP the EV states that its profile says.

    An active row of a QP sets its peer, clears the records of its EVs, and starts its EV states
    afresh; it takes some 5 * ``evs`` cycles. A row that is not active changes nothing: packets
    that the QP still has on their way leave as before. After reset every QP starts without EVs,
    6 to 10 cycles for each of its planes.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    table : ``In(stream.Signature(TableWrite()))``
        Rows; those of other tables, and those beyond the table, are taken and left alone.
    ev_write : ``Out(stream.Signature(EvWrite()))``
        Rows of the EV table.
    peer_write : ``Out(PeerWrite(config))``
        Peers of QPs.
    forget : ``Out(stream.Signature(qp))``
        QPs whose records are to be cleared.
    row_profile, row_plane, row : ``Out``, ``Out``, ``In(ProfileRow(config))``
        Read port of the profiles.
    start : ``Out(stream.Signature(Operation(config)))``
        START operations.
    profile : ``Out(ProfileRow(config))``
        What to start with, until ``started``.
    started : ``In(1)``
        The operation has been done.
    idle : ``Out(1)``
        All has been cleared after reset.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        qp = index_bits(config.qps)
        super().__init__({
            "table": In(stream.Signature(TableWrite())),
            "ev_write": Out(stream.Signature(EvWrite())),
            "peer_write": Out(PeerWrite(config)),
            "forget": Out(stream.Signature(qp)),
            "row_profile": Out(index_bits(config.profiles)),
            "row_plane": Out(index_bits(config.lanes)),
            "row": In(ProfileRow(config)),
            "start": Out(stream.Signature(Operation(config))),
            "profile": Out(ProfileRow(config)),
            "started": In(1),
            "idle": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        write = self.table.payload
        row = data.View(HeaderLayout(rows.QP_ROW), write.row[: HeaderLayout(rows.QP_ROW).size])
        m.d.comb += self.ev_write.payload.index.eq(write.index)
        m.d.comb += self.ev_write.payload.row.eq(write.row)
        m.d.comb += self.forget.payload.eq(write.index)
        m.d.comb += self.peer_write.qp.eq(write.index)
        for name, _ in self.peer_write.row.shape():
            m.d.comb += self.peer_write.row[name].eq(row[name])

        qp = Signal(index_bits(config.qps))
        plane = Signal(index_bits(config.lanes))
        waited = Signal(range(_READ_CYCLES + 1))
        last = Signal()
        m.d.comb += last.eq(plane == config.lanes - 1)
        m.d.comb += [
            self.row_profile.eq(row.profile),
            self.row_plane.eq(plane),
            self.start.payload.kind.eq(OperationKind.START),
            self.start.payload.qp.eq(qp),
            self.start.payload.plane.eq(plane),
        ]
        with m.If(self.idle):  # else all zero: there is nothing in any profile yet
            m.d.comb += self.profile.eq(self.row)

        with m.FSM() as fsm:
            with m.State("START"), m.If(self.start.ready):
                m.next = "STARTED"
            with m.State("STARTED"), m.If(self.started):
                m.d.sync += plane.eq(plane + 1)
                with m.If(~last):
                    m.next = "MASKS"
                with m.Else():
                    m.d.sync += plane.eq(0)
                    with m.If(self.idle):
                        m.d.comb += self.table.ready.eq(1)
                        m.next = "IDLE"
                    with m.Else():
                        m.d.sync += qp.eq(qp + 1)
                        m.d.sync += self.idle.eq(qp == config.qps - 1)
                        m.next = "START"
                        with m.If(qp == config.qps - 1):
                            m.next = "IDLE"
            with m.State("IDLE"), m.If(self.table.valid):
                m.d.sync += qp.eq(write.index)
                with m.If(write.table == Table.EV):
                    m.d.comb += self.ev_write.valid.eq(1)
                    m.d.comb += self.table.ready.eq(self.ev_write.ready)
                with m.Elif((write.table == Table.QP) & row.active & (write.index < config.qps)):
                    m.d.comb += self.peer_write.valid.eq(1)
                    m.next = "FORGET"
                with m.Else():
                    m.d.comb += self.table.ready.eq(1)
            with m.State("FORGET"), m.If(self.forget.ready):
                m.next = "MASKS"
            with m.State("MASKS"):
                m.d.sync += waited.eq(waited + 1)
                with m.If(waited == _READ_CYCLES):
                    m.d.sync += waited.eq(0)
                    m.next = "START"
        m.d.comb += self.start.valid.eq(fsm.ongoing("START"))
        m.d.comb += self.forget.valid.eq(fsm.ongoing("FORGET"))

        return m
