"""Immediates, in the order in which they were sent."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory
from mrcnic.hdl.wire.serial import ahead

from .fence import FenceEvent
from .slot import Clear, Outcome, Slot, Visit

__all__ = ["Immediates", "StashRow"]

#: Visits that may wait, and with how many of them slots still start: up to seven slots are under
#: way whose visits are not yet counted.
_DEPTH, _ROOM = 16, 7


class StashRow(data.StructLayout):
    """An immediate that has arrived."""

    def __init__(self):
        super().__init__({"valid": 1, "rqmsn": 16, "immediate": 32, "dmalen": 32, "psn": 24})


class Immediates(wiring.Component):
    """Keep immediates until all that was sent before them has arrived.

    An immediate lies in the stash under its number. When cack passes ends of messages, the QP is
    visited: immediates that are next in order and behind cack leave for the fence, at most as
    many as messages were passed, and with the last of them the ACK or NAK. So the ACK, which lets
    the peer send another immediate, leaves only when there is a place for it. Each immediate of a
    visit takes three cycles.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    phase : ``In(2)``
    check : ``In(Slot(config))``
        Slot that is being judged, from phase 1 on.
    overflow : ``Out(1)``
        Its immediate has no place; right in phase 0.
    i, outcome : ``In(Slot(config))``, ``In(Outcome())``
        Slot that has been judged, from phase 1 on.
    visit_valid, visit : ``In(1)``, ``In(Visit(config))``
        Messages that cack has passed.
    o : ``Out(stream.Signature(FenceEvent(config)))``
        What is to be delivered or acknowledged.
    room : ``Out(1)``
        A slot may start.
    idle : ``Out(1)``
        Nothing waits.
    clear : ``In(Clear(config))``
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "phase": In(2),
            "check": In(Slot(config)),
            "overflow": Out(1),
            "i": In(Slot(config)),
            "outcome": In(Outcome()),
            "visit_valid": In(1),
            "visit": In(Visit(config)),
            "o": Out(stream.Signature(FenceEvent(config))),
            "room": Out(1),
            "idle": Out(1),
            "clear": In(Clear(config)),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.orders = orders = Memory(shape=16, depth=self.config.qps, init=[])
        next_write = orders.write_port()
        next_read = orders.read_port(transparent_for=[next_write])
        check_read = orders.read_port()
        m.submodules.stash = stash = DeepMemory(
            StashRow(), depth=self.config.qps * self.config.immediates
        )
        m.submodules.visits = visits = SyncFIFOBuffered(width=Visit(self.config).size, depth=_DEPTH)
        m.d.comb += [visits.w_en.eq(self.visit_valid), visits.w_data.eq(self.visit)]
        m.d.sync += self.room.eq(visits.level <= _ROOM)

        # Is there a place for the number? Yes, if it is less than a stash ahead of the next one.
        number_bits = index_bits(self.config.immediates)
        m.d.comb += check_read.addr.eq(self.check.qp)
        with m.If(self.phase == 2):
            distance = (self.check.packet.rqmsn - check_read.data)[:16]
            m.d.sync += self.overflow.eq(distance[number_bits:].any())

        self._fill(m, stash.write, number_bits)
        self._serve(m, visits, stash, number_bits, next_read, next_write)

        with m.If(self.clear.valid):
            m.d.comb += [
                next_write.en.eq(1),
                next_write.addr.eq(self.clear.qp),
                next_write.data.eq(0),
            ]

        return m

    def _fill(self, m, write, number_bits):
        """Put immediates into the stash; on ``clear``, make a row of it empty."""
        packet, taken = self.i.packet, self._fills()
        place = Cat(packet.rqmsn[:number_bits], self.i.qp)
        cleared = Cat(self.clear.row[:number_bits], self.clear.qp)
        m.d.comb += [
            write.valid.eq(taken | self.clear.valid),
            write.row.eq(Mux(self.clear.valid, cleared, place)),
            write.data.valid.eq(~self.clear.valid),
            write.data.rqmsn.eq(packet.rqmsn),
            write.data.immediate.eq(packet.immediate),
            write.data.dmalen.eq(packet.dmalen),
            write.data.psn.eq(packet.psn),
        ]

    def _fills(self):
        """Return whether the slot puts an immediate into the stash."""
        return (self.phase == 1) & self.outcome.new & self.i.packet.with_immediate

    def _serve(self, m, visits, stash, number_bits, next_read, next_write):
        """Visit QPs: look for the next immediate, once per message passed."""
        visit = Signal(Visit(self.config))
        head = data.View(Visit(self.config), visits.r_data)
        number = Signal(16)

        # What the step before has found.
        found = Signal()
        hit, ends = Signal(), Signal()
        row = Signal(StashRow())
        more = Signal()
        m.d.comb += [
            more.eq(found & ~ends),
            self.o.valid.eq(found & (hit | visit.acknowledge | visit.nak)),
            self.o.p.qp.eq(visit.qp),
            self.o.p.with_immediate.eq(hit),
            self.o.p.immediate.eq(row.immediate),
            self.o.p.octets.eq(row.dmalen),
            self.o.p.acknowledge.eq(visit.acknowledge & ends),
            self.o.p.nak.eq(visit.nak & ends),
            self.o.p.msn.eq(visit.msn),
            self.o.p.tickets.eq(visit.tickets),
            next_write.addr.eq(visit.qp),
            next_write.data.eq(number + 1),
            next_read.addr.eq(visit.qp),
            stash.row[0].eq(Cat(next_read.data[:number_bits], visit.qp)),
        ]
        entry = stash.data[0]

        with m.FSM() as fsm:
            with m.State("NEXT"):
                with m.If(~more):
                    m.d.comb += next_read.addr.eq(head.qp)
                with m.If(~self.o.valid | self.o.ready):
                    m.d.comb += next_write.en.eq(found & hit)
                    m.d.sync += found.eq(0)
                    with m.If(more):
                        m.d.sync += visit.count.eq(visit.count - 1)
                        m.next = "STASH"
                    with m.Elif(visits.r_rdy):
                        m.d.comb += visits.r_en.eq(1)
                        m.d.sync += visit.eq(head)
                        m.next = "STASH"
            with m.State("STASH"):
                m.d.sync += number.eq(next_read.data)
                # A row that is being written cannot be read; nobody looks while rows are cleared.
                with m.If(~self._fills() | (self.i.qp != visit.qp)):
                    m.next = "COMPARE"
            with m.State("COMPARE"):
                next_one = (
                    (visit.count != 0)
                    & entry.valid
                    & (entry.rqmsn == number)
                    & (ahead(visit.expected, entry.psn) > 0)
                )
                m.d.sync += [
                    found.eq(1),
                    row.eq(entry),
                    hit.eq(next_one),
                    ends.eq(~next_one | (visit.count == 1)),
                ]
                m.next = "NEXT"
        m.d.comb += self.idle.eq(fsm.ongoing("NEXT") & ~found & (visits.level == 0))
