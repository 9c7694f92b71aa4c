"""Rows of the host's tables, to whom they concern."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl import rows
from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import TableWrite
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory
from mrcnic.hdl.rows import Table
from mrcnic.hdl.wire.layout import HeaderLayout

from .ev_table import EvWrite
from .links import Operation, OperationKind, PeerWrite, ProfileRow
from .replacement import Replacement

__all__ = ["Loader"]

#: Cycles that the masks of a profile take to come.
_READ_CYCLES = 2


class Loader(wiring.Component):
    """Take table rows, and give each QP the EV states that its profile says.

    An active row of a QP sets its peer, clears the records of its EVs, and starts its EV states
    afresh; it takes some ``evs`` cycles. A row that is not active only takes the QP out of what
    :class:`~.replacement.Replacement` does: packets that the QP still has on their way leave as
    before. The row of an EV takes effect at once, also for QPs that use its profile. The row of a
    profile takes effect when a QP starts. After reset every QP starts without EVs, some 6 cycles
    each.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    table : ``In(stream.Signature(TableWrite()))``
        Rows; those of other tables, and those beyond the table, are taken and left alone.
    ev_write : ``Out(stream.Signature(EvWrite()))``, with ``was_active : In(1)``
        Rows of the EV table; what it says of the row before the last one.
    peer_write : ``Out(PeerWrite(config))``
        Peers of QPs.
    peer : ``Out``
        With it: row of the remote NIC.
    mark, drained : ``Out(1)``, ``In(1)``
        Wait for all news that are under way; see :class:`~.event_filter.EventFilter`.
    row_profile, row : ``Out``, ``In(ProfileRow(config)).array(lanes)``
        Read port of the profiles.
    start : ``Out(stream.Signature(Operation(config)))``
        START and PLACE operations.
    profile : ``Out(ProfileRow(config)).array(lanes)``
        What to start with, until ``started``.
    started : ``In(1)``
        The operation has been done.
    idle : ``Out(1)``
        All has been cleared after reset.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "table": In(stream.Signature(TableWrite())),
            "ev_write": Out(stream.Signature(EvWrite())),
            "was_active": In(1),
            "peer_write": Out(PeerWrite(config)),
            "peer": Out(index_bits(config.peers)),
            "mark": Out(1),
            "drained": In(1),
            "row_profile": Out(index_bits(config.profiles)),
            "row": In(ProfileRow(config)).array(config.lanes),
            "start": Out(stream.Signature(Operation(config))),
            "profile": Out(ProfileRow(config)).array(config.lanes),
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
        m.d.comb += self.peer_write.qp.eq(write.index)
        m.d.comb += self.peer.eq(row.peer)
        for name, _ in self.peer_write.row.shape():
            m.d.comb += self.peer_write.row[name].eq(row[name])

        # An EV's row goes to the QPs of its profile, too.
        m.submodules.replacement = replacement = Replacement(config)
        qp_write = (write.table == Table.QP) & (write.index < config.qps)
        m.d.comb += [
            replacement.user_qp.eq(write.index),
            replacement.user_profile.eq(row.profile),
            replacement.user_active.eq(row.active),
            replacement.write.eq(self.ev_write.payload),
            replacement.was_active.eq(self.was_active),
            replacement.drained.eq(self.drained),
            self.mark.eq(replacement.mark),
        ]

        qp = Signal(index_bits(config.qps))
        self._profile(m, write, row)
        waited = Signal(range(_READ_CYCLES + 1))
        with m.FSM() as fsm:
            with m.State("START"), m.If(self.start.ready):
                m.next = "STARTED"
            with m.State("STARTED"), m.If(self.started):
                m.next = "IDLE"
                with m.If(self.idle):
                    m.d.comb += self.table.ready.eq(1)
                with m.Else():
                    m.d.sync += [qp.eq(qp + 1), self.idle.eq(qp == config.qps - 1)]
                    with m.If(qp != config.qps - 1):
                        m.next = "START"
            with m.State("IDLE"), m.If(self.table.valid):
                m.d.sync += qp.eq(write.index)
                with m.If(write.table == Table.EV):
                    m.d.comb += self.ev_write.valid.eq(1)
                    with m.If(self.ev_write.ready):
                        m.next = "EV"
                with m.Elif(qp_write):
                    m.d.comb += self.table.ready.eq(~row.active)
                    with m.If(row.active):
                        m.next = "MASKS"
                with m.Else():
                    m.d.comb += self.table.ready.eq(1)
            with m.State("EV"), m.If(self.ev_write.ready):
                m.next = "PLACE"
            with m.State("PLACE"), m.If(replacement.done):
                m.d.comb += self.table.ready.eq(1)
                m.next = "IDLE"
            with m.State("MASKS"):
                m.d.sync += waited.eq(waited + 1)
                with m.If(waited == _READ_CYCLES):
                    m.d.sync += waited.eq(0)
                    m.next = "START"
        uses = fsm.ongoing("IDLE") & self.table.valid & qp_write
        m.d.comb += [
            self.peer_write.valid.eq(uses & row.active),
            replacement.user_valid.eq(uses),
            replacement.begin.eq(fsm.ongoing("EV") & self.ev_write.ready),
        ]
        starts = fsm.ongoing("START")
        start = Signal(Operation(config))
        m.d.comb += [
            start.kind.eq(OperationKind.START),
            start.qp.eq(qp),
            self.start.valid.eq(starts | replacement.o.valid),
            self.start.payload.eq(Mux(starts, start.as_value(), replacement.o.payload.as_value())),
            replacement.o.ready.eq(self.start.ready & ~starts),
        ]
        return m

    def _profile(self, m, write, row):
        """Read what a QP is to start with: nothing, as long as there is nothing in any profile."""
        config = self.config
        m.submodules.least = least = DeepMemory(8, depth=max(2, config.profiles))
        m.d.comb += [
            self.row_profile.eq(row.profile),
            least.row[0].eq(row.profile),
            least.write.valid.eq(
                self.table.valid
                & self.table.ready
                & (write.table == Table.PROFILE)
                & (write.index < config.profiles)
            ),
            least.write.row.eq(write.index),
            least.write.data.eq(write.row),
        ]
        for p in range(config.lanes):
            start = Signal(ProfileRow(config), name=f"start_{p}")
            for name in ("valid", "active", "count", "places"):
                m.d.comb += start[name].eq(self.row[p][name])
            m.d.comb += start.least.eq(least.data[0])
            m.d.comb += self.profile[p].eq(Mux(self.idle, start.as_value(), 0))
