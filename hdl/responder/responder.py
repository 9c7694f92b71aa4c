"""The responder: takes writes, and tells the peer what has arrived."""

from types import SimpleNamespace

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.inwards import ReceiveCompletion, RxDescriptor, Verdict
from mrcnic.hdl.descriptor.outwards import TxRequest
from mrcnic.hdl.descriptor.settings import Settings, TableWrite
from mrcnic.hdl.descriptor.sizes import NOW_BITS

from .advance import Advance
from .arrival import Arrival, ArrivalEvents
from .arrival_bitmap import ArrivalBitmap
from .background import Background
from .fence import Fence, FenceCounts
from .immediates import Immediates
from .intake import Intake
from .messages import MessageCounter
from .nack_queue import NackEvents
from .placement import Placement, PlacementEvents
from .protection import Protection
from .qp_table import QpTable
from .report import Report
from .slot import PHASES

__all__ = ["Responder"]


class Responder(wiring.Component):
    """Put the parts of the responder together (docs/protocol.md, "Responder pipeline"). No logic.

    A packet passes the pipeline in slots of three cycles: intake, protection, arrival, advance,
    triggers. One slot starts every three cycles, also back to back on one QP. The verdict is there
    9 cycles after a packet was taken, a SACK after 29, an ACK after 28 if no write is waited for.

    ``i`` waits for: verdicts that a lane does not take, writes under way (1,016 per lane), events
    behind the fence (128 and 8), and new rows of tables. It never waits for ``reports``.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(RxDescriptor(config)))``
        Writes and probes.
    verdict : ``Out(stream.Signature(Verdict(config))).array(lanes)``
        What becomes of the payloads, in order per lane.
    written, write_error : ``In(lanes)``
        The oldest placed payload of the lane is in memory; or memory refused it.
    reports : ``Out(stream.Signature(TxRequest(config)))``
        SACK, NACK, ACK.
    o : ``Out(stream.Signature(ReceiveCompletion(config)))``
        Immediates, in order per QP, when all that was sent before them is in memory.
    table : ``In(stream.Signature(TableWrite()))``
        Rows of QPs and memory regions.
    settings, now : ``In(Settings(config))``, ``In(NOW_BITS)``
    events : what was counted
    """

    def __init__(self, config: NicConfig):
        self.config = config
        layouts = (ArrivalEvents(), PlacementEvents(config), FenceCounts(), NackEvents())
        names = [name for layout in layouts for name in layout.members]
        super().__init__({
            "i": In(stream.Signature(RxDescriptor(config))),
            "verdict": Out(stream.Signature(Verdict(config))).array(config.lanes),
            "written": In(config.lanes),
            "write_error": In(config.lanes),
            "reports": Out(stream.Signature(TxRequest(config))),
            "o": Out(stream.Signature(ReceiveCompletion(config))),
            "table": In(stream.Signature(TableWrite())),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "events": Out(data.StructLayout(dict.fromkeys(names, 1))),
        })

    def elaborate(self, platform):
        m = Module()

        config = self.config
        bitmap = ArrivalBitmap(config)
        parts = SimpleNamespace(
            qp_table=QpTable(config),
            intake=Intake(config),
            background=Background(config),
            protection=Protection(config),
            bitmap=bitmap,
            arrival=Arrival(config, bitmap=bitmap),
            placement=Placement(config),
            advance=Advance(config, bitmap=bitmap, readers=3),
            messages=MessageCounter(config),
            immediates=Immediates(config),
            fence=Fence(config),
            report=Report(config, bitmap=bitmap),
        )
        for name, part in vars(parts).items():
            m.submodules[name] = part

        phase = Signal(range(PHASES))
        m.d.sync += phase.eq(phase + 1)
        with m.If(phase == PHASES - 1):
            m.d.sync += phase.eq(0)
        m.d.comb += [
            part.phase.eq(phase)
            for part in vars(parts).values()
            if "phase" in part.signature.members
        ]
        m.d.comb += [
            part.clear.eq(parts.qp_table.clear)
            for part in vars(parts).values()
            if part is not parts.qp_table and "clear" in part.signature.members
        ]
        m.d.comb += [part.now.eq(self.now) for part in (parts.arrival, parts.report)]
        m.d.comb += [
            parts.arrival.base_rtt.eq(self.settings.base_rtt),
            parts.report.sack_threshold.eq(self.settings.sack_threshold),
            parts.report.flush_delay.eq(self.settings.flush_delay),
        ]

        self._connect_pipeline(m, parts)
        self._connect_judged(m, parts)
        self._connect_work(m, parts)
        self._connect_report(m, parts)

        for part in (parts.arrival, parts.placement, parts.fence, parts.report):
            for name in part.events.shape().members:
                m.d.comb += self.events[name].eq(part.events[name])

        return m

    def _connect_pipeline(self, m, parts):
        """Connect stage to stage."""
        connect(m, flipped(self.i), parts.intake.i)
        m.d.comb += [
            parts.qp_table.i.eq(parts.intake.o),
            parts.protection.i.eq(parts.intake.o),
            parts.protection.domain.eq(parts.qp_table.i_row.domain),
            parts.protection.write_valid.eq(parts.qp_table.region_valid),
            parts.protection.write_index.eq(parts.qp_table.region_index),
            parts.protection.write_row.eq(parts.qp_table.region_row),
        ]
        m.d.comb += [
            parts.arrival.i.eq(parts.qp_table.o),
            parts.arrival.qp_row.eq(parts.qp_table.o_row),
            parts.arrival.allowed.eq(parts.protection.allowed),
            parts.arrival.overflow.eq(parts.immediates.overflow),
            parts.advance.ask[0].eq(parts.qp_table.o.qp),
            parts.arrival.expected.eq(parts.advance.expected[0]),
            parts.immediates.check.eq(parts.qp_table.o),
        ]
        m.d.comb += [
            parts.bitmap.address[1].eq(parts.arrival.read_address),
            parts.bitmap.address[2].eq(parts.advance.read_address),
            parts.arrival.row.eq(parts.bitmap.row),
            parts.advance.row.eq(parts.bitmap.row),
            parts.bitmap.write_valid.eq(parts.arrival.write_valid),
            parts.bitmap.write_address.eq(parts.arrival.write_address),
            parts.bitmap.write_row.eq(parts.arrival.write_row),
        ]

    def _connect_judged(self, m, parts):
        """Connect what follows a verdict."""
        for part in (parts.placement, parts.immediates):
            m.d.comb += [part.i.eq(parts.arrival.o), part.outcome.eq(parts.arrival.outcome)]
        m.d.comb += [
            parts.advance.i.eq(parts.arrival.o),
            parts.advance.i_outcome.eq(parts.arrival.outcome),
            parts.messages.passed.eq(parts.advance.passed),
            parts.immediates.visit_valid.eq(parts.messages.visit_valid),
            parts.immediates.visit.eq(parts.messages.visit),
            parts.placement.written.eq(self.written),
            parts.placement.write_error.eq(self.write_error),
        ]
        connect(m, parts.immediates.o, parts.fence.i)
        connect(m, parts.fence.o, flipped(self.o))
        for lane in range(self.config.lanes):
            connect(m, parts.placement.verdict[lane], flipped(self.verdict[lane]))
            m.d.comb += [
                parts.messages.issued[lane].eq(parts.placement.issued[lane]),
                parts.fence.retired[lane].eq(parts.placement.retired[lane]),
            ]

    def _connect_work(self, m, parts):
        """Connect what is done besides packets, and what waits for what."""
        connect(m, parts.background.o, parts.intake.work)
        connect(m, flipped(self.table), parts.qp_table.table)
        m.d.comb += [
            parts.background.advance.eq(parts.advance.again),
            parts.background.flush.eq(parts.report.flush),
            parts.background.remain.eq(parts.report.remain),
            parts.fence.hold.eq(parts.background.failing),
            parts.intake.room.eq(parts.placement.room & parts.immediates.room),
            parts.intake.hold_packets.eq(parts.qp_table.hold_packets),
            parts.intake.hold_work.eq(parts.qp_table.hold_work),
            parts.qp_table.quiet.eq(
                parts.placement.idle
                & parts.immediates.idle
                & parts.fence.idle
                & ~parts.background.failing
            ),
        ]
        for wanted, failed in zip(parts.background.fail, parts.placement.failed, strict=True):
            m.d.comb += wanted.eq(failed)

    def _connect_report(self, m, parts):
        """Connect what reports are made of."""
        m.d.comb += [
            parts.report.judged.eq(parts.arrival.o),
            parts.report.judged_outcome.eq(parts.arrival.outcome),
            parts.report.advanced.eq(parts.advance.o),
            parts.report.advanced_outcome.eq(parts.advance.o_outcome),
            parts.report.complete.eq(parts.fence.acknowledge),
            parts.report.msn.eq(parts.fence.msn),
            parts.report.nak.eq(parts.fence.nak),
        ]
        m.d.comb += [
            parts.qp_table.ask.eq(parts.report.sack_qp),
            parts.report.sack_qp_row.eq(parts.qp_table.ask_row),
            parts.advance.ask[1].eq(parts.report.sack_qp),
            parts.report.sack_expected.eq(parts.advance.expected[1]),
            parts.advance.ask[2].eq(parts.report.ack_qp),
            parts.report.ack_expected.eq(parts.advance.expected[2]),
            parts.bitmap.address[0].eq(parts.report.read_address),
            parts.report.bitmap_row.eq(parts.bitmap.row),
        ]
        m.d.comb += [
            parts.arrival.failure_qp[0].eq(parts.fence.failure_qp),
            parts.fence.failure.eq(parts.arrival.failure[0]),
            parts.arrival.failure_qp[1].eq(parts.report.ack_qp),
            parts.report.ack_failure.eq(parts.arrival.failure[1]),
        ]
        connect(m, parts.report.o, flipped(self.reports))
