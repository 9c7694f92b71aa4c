"""Queue pairs as the responder knows them, and their making and unmaking."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from mrcnic.hdl import rows
from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import TableWrite
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.wire.layout import HeaderLayout

from .slot import Clear, Slot

__all__ = ["QpRow", "QpTable"]

#: Cycles after which no slot can be under way any more.
_SETTLE = 32


class QpRow(data.StructLayout):
    """What packets are checked against."""

    def __init__(self):
        super().__init__({
            "active": 1,
            "trim_nack": 1,
            "dynamic_mpr": 1,
            "qpn": 24,
            "remote_qpn": 24,
            "domain": 16,
        })


class QpTable(wiring.Component):
    """Keep the rows of QPs; take new rows for QPs and regions when nothing is under way.

    After reset, all QPs and regions are made inactive and their state is cleared, one per cycle.
    A new row waits until all placed payload is in memory and all that depends on it has left;
    meanwhile no packet is taken. So nothing of a QP's former life meets its state. Then the state
    is cleared, a row of bitmap and stash per cycle, and packets are taken again.

    The row of a slot is there a cycle after phase 1, and moves on with the slot.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    phase : ``In(2)``
    table : ``In(stream.Signature(TableWrite()))``
        Rows. Those of other tables are taken at once.
    i, i_row : ``In(Slot(config))``, ``Out(QpRow())``
        Slot from phase 1 on; its row, a cycle later.
    o, o_row : ``Out(Slot(config))``, ``Out(QpRow())``
        The same, three cycles later.
    ask, ask_row : ``In``, ``Out(QpRow())``
        Row of some QP, a cycle after it was asked for.
    quiet : ``In(1)``
        All placed payload is in memory, and all that waited for it has left.
    hold_packets, hold_work : ``Out(1)``
        No packet, or no work at all, may start.
    clear : ``Out(Clear(config))``
        Clear state.
    region_valid, region_index, region_row : ``Out``
        A row for the table of regions.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "phase": In(2),
            "table": In(stream.Signature(TableWrite())),
            "i": In(Slot(config)),
            "i_row": Out(QpRow()),
            "o": Out(Slot(config)),
            "o_row": Out(QpRow()),
            "ask": In(index_bits(config.qps)),
            "ask_row": Out(QpRow()),
            "quiet": In(1),
            "hold_packets": Out(1),
            "hold_work": Out(1),
            "clear": Out(Clear(config)),
            "region_valid": Out(1),
            "region_index": Out(index_bits(config.regions)),
            "region_row": Out(HeaderLayout(rows.REGION_ROW)),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.qps = qps = Memory(shape=QpRow(), depth=self.config.qps, init=[])
        write, read, ask = qps.write_port(), qps.read_port(), qps.read_port()
        m.d.comb += [
            read.addr.eq(self.i.qp),
            self.i_row.eq(read.data),
            ask.addr.eq(self.ask),
            self.ask_row.eq(ask.data),
        ]
        with m.If(self.phase == 0):
            m.d.sync += [self.o.eq(self.i), self.o_row.eq(read.data)]

        layouts = {table: HeaderLayout(header) for table, header in rows.ROWS.items()}
        qp_row = data.View(layouts[rows.Table.QP], self.table.p.row[: layouts[rows.Table.QP].size])
        region_layout = layouts[rows.Table.REGION]
        region = data.View(region_layout, self.table.p.row[: region_layout.size])
        is_qp = self.table.p.table == rows.Table.QP
        is_region = self.table.p.table == rows.Table.REGION

        every = max(self.config.qps, self.config.regions)
        steps = max(self.config.window // 64, self.config.immediates)
        count = Signal(range(max(every, steps, _SETTLE)))
        resetting = Signal()
        m.d.comb += [
            write.addr.eq(self.clear.qp),
            self.clear.row.eq(count),
            self.clear.qp.eq(Mux(resetting, count, self.table.p.index)),
            self.clear.psn.eq(Mux(resetting, 0, qp_row.rx_psn)),
            self.region_index.eq(self.table.p.index),
            self.hold_packets.eq(1),
        ]
        with m.If(resetting):
            m.d.comb += self.region_index.eq(count)
        with m.Else():
            m.d.comb += self.region_row.eq(region)
            for name in QpRow().members:
                m.d.comb += write.data[name].eq(qp_row[name])

        m.d.sync += count.eq(0)
        with m.FSM() as fsm:
            with m.State("RESET"):
                m.d.comb += [write.en.eq(1), self.region_valid.eq(1)]
                m.d.sync += count.eq(count + 1)
                with m.If(count == every - 1):
                    m.d.sync += count.eq(0)
                    m.next = "SERVE"
            with m.State("SERVE"):
                with m.If(~self.table.valid):
                    m.d.comb += self.hold_packets.eq(0)
                with m.Elif(is_qp | is_region):
                    m.next = "DRAIN"
                with m.Else():
                    m.d.comb += [self.hold_packets.eq(0), self.table.ready.eq(1)]
            with m.State("DRAIN"), m.If(self.quiet):
                m.next = "SETTLE"
            with m.State("SETTLE"):
                m.d.sync += count.eq(count + 1)
                with m.If(count == _SETTLE - 1):
                    m.d.sync += count.eq(0)
                    m.next = "DRAIN"
                    with m.If(self.quiet):
                        m.next = "WRITE"
            with m.State("WRITE"):
                m.d.sync += count.eq(count + 1)
                with m.If(is_region | (count == steps - 1)):
                    m.d.sync += count.eq(0)
                    m.d.comb += [
                        self.table.ready.eq(1),
                        write.en.eq(is_qp),
                        self.region_valid.eq(is_region),
                    ]
                    m.next = "SERVE"

        # What follows from the state alone is assigned, not decided: some simulators would not
        # work it out before the state first changes.
        m.d.comb += [
            resetting.eq(fsm.ongoing("RESET")),
            self.hold_work.eq(resetting | fsm.ongoing("SETTLE") | fsm.ongoing("WRITE")),
            self.clear.valid.eq(resetting | (fsm.ongoing("WRITE") & is_qp)),
        ]

        return m
