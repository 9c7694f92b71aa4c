"""Verdicts for the lanes, and which of them have been carried out."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.inwards import Verdict
from mrcnic.hdl.descriptor.sizes import index_bits

from .slot import TICKET_BITS, Outcome, Slot, SlotOp

__all__ = ["Placement", "PlacementEvents"]

#: Verdicts that may wait per lane, and with how many of them slots still start: up to four slots
#: are under way whose verdicts are not yet counted.
_DEPTH, _ROOM = 8, 3

#: Writes that may be under way per lane.
_WRITES = 1 << (TICKET_BITS - 2)


class PlacementEvents(data.StructLayout):
    """Writes that memory refused, by lane."""

    def __init__(self, config: NicConfig):
        super().__init__({f"rx_write_error_{lane}": 1 for lane in range(config.lanes)})


class Placement(wiring.Component):
    """Tell each lane what to do with its payloads, and count what it has done.

    Each packet with payload gets one verdict, in order per lane, two cycles after its outcome is
    known. A write that is issued takes a ticket of its lane, and ``retired`` says how many tickets
    of the lane are in memory. A write that memory refused names its QP.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    phase : ``In(2)``
    i, outcome : ``In(Slot(config))``, ``In(Outcome())``
        Slot and outcome, from phase 1 on.
    verdict : ``Out(stream.Signature(Verdict(config))).array(lanes)``
        Verdicts.
    written, write_error : ``In(lanes)``
        The oldest write of the lane is in memory; memory refused it. Both at once is one write.
    issued, retired : ``Out(TICKET_BITS).array(lanes)``
        Tickets given and done, per lane.
    failed : ``Out(StructLayout({"valid": 1, "index": ...})).array(lanes)``
        QP of a refused write.
    room : ``Out(1)``
        A slot may start.
    idle : ``Out(1)``
        All tickets are done.
    events : ``rx_write_error_<lane>``
    """

    def __init__(self, config: NicConfig):
        self.config = config
        qp_bits = index_bits(config.qps)
        super().__init__({
            "phase": In(2),
            "i": In(Slot(config)),
            "outcome": In(Outcome()),
            "verdict": Out(stream.Signature(Verdict(config))).array(config.lanes),
            "written": In(config.lanes),
            "write_error": In(config.lanes),
            "issued": Out(TICKET_BITS).array(config.lanes),
            "retired": Out(TICKET_BITS).array(config.lanes),
            "failed": Out(data.StructLayout({"valid": 1, "index": qp_bits})).array(config.lanes),
            "room": Out(1),
            "idle": Out(1),
            "events": Out(PlacementEvents(config)),
        })

    def elaborate(self, platform):
        m = Module()

        packet = self.i.packet
        judged = (self.phase == 1) & self.i.valid & (self.i.op == SlotOp.PACKET) & packet.payload
        verdict = Signal(Verdict(self.config))
        place = Signal()
        m.d.comb += [
            place.eq(self.outcome.new & (packet.octets != 0)),
            verdict.place.eq(place),
            verdict.address.eq(packet.va),
            verdict.octets.eq(packet.octets),
        ]

        room = Signal(self.config.lanes)
        idle = Signal(self.config.lanes)
        m.d.sync += [self.room.eq(room.all()), self.idle.eq(idle.all())]
        for lane in range(self.config.lanes):
            queue = SyncFIFOBuffered(width=verdict.shape().size, depth=_DEPTH)
            m.submodules[f"queue_{lane}"] = queue
            mine = judged & (packet.lane == lane)
            m.d.comb += [
                queue.w_data.eq(verdict),
                queue.w_en.eq(mine),
                self.verdict[lane].payload.eq(queue.r_data),
                self.verdict[lane].valid.eq(queue.r_rdy),
                queue.r_en.eq(self.verdict[lane].ready),
            ]

            issued, retired = self.issued[lane], self.retired[lane]
            done = self.written[lane] | self.write_error[lane]
            m.d.sync += [issued.eq(issued + (mine & place)), retired.eq(retired + done)]

            under_way = Signal(TICKET_BITS, name=f"under_way_{lane}")
            m.d.comb += [
                under_way.eq(issued - retired),
                idle[lane].eq(under_way == 0),
                room[lane].eq((queue.level <= _ROOM) & (under_way < _WRITES - _DEPTH)),
            ]

            # Whose write the oldest one is: read again in each cycle, so that it is right as soon
            # as a write can be the oldest.
            owners = Memory(shape=self.i.qp.shape(), depth=_WRITES, init=[])
            m.submodules[f"owners_{lane}"] = owners
            write, read = owners.write_port(), owners.read_port()
            m.d.comb += [
                write.en.eq(mine & place),
                write.addr.eq(issued),
                write.data.eq(self.i.qp),
                read.addr.eq(retired + done),
                self.failed[lane].valid.eq(self.write_error[lane]),
                self.failed[lane].index.eq(read.data),
                self.events[f"rx_write_error_{lane}"].eq(self.write_error[lane]),
            ]

        return m
