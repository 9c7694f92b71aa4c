"""Messages that have arrived whole."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig

from .advance import Passed
from .slot import TICKET_BITS, Clear, Visit

__all__ = ["MessageCounter"]

_GROUP = 8


class MessageCounter(wiring.Component):
    """Count the messages whose last packets cack has passed: the MSN.

    A slot takes three cycles; its visit is there four cycles after phase 2, for one cycle.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    phase : ``In(2)``
    passed : ``In(Passed(config))``
        What a slot has passed, from phase 2 on.
    issued : ``In(TICKET_BITS).array(lanes)``
        Writes issued so far.
    visit_valid, visit : ``Out(1)``, ``Out(Visit(config))``
        Messages passed, if there are any, or a NAK that is due.
    clear : ``In(Clear(config))``
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "phase": In(2),
            "passed": In(Passed(config)),
            "issued": In(TICKET_BITS).array(config.lanes),
            "visit_valid": Out(1),
            "visit": Out(Visit(config)),
            "clear": In(Clear(config)),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.msns = msns = Memory(shape=24, depth=self.config.qps, init=[])
        write, read = msns.write_port(), msns.read_port()

        # Phase 2: ends of messages among what was passed.
        ends = Signal(64)
        asked = Signal(64)
        with m.If(self.phase == 2):
            below = ((1 << self.passed.stop) - 1)[:64] & ~((1 << self.passed.start) - 1)[:64]
            m.d.sync += ends.eq(self.passed.last & below)
            m.d.sync += asked.eq(self.passed.last & self.passed.ack_request & below)
            with m.If(~self.passed.valid):
                m.d.sync += [ends.eq(0), asked.eq(0)]

        # Phase 0: how many in each eighth.
        counts = Signal(data.ArrayLayout(4, 64 // _GROUP))
        visit = Signal(Visit(self.config))
        with m.If(self.phase == 0):
            m.d.sync += [
                visit.qp.eq(self.passed.qp),
                visit.expected.eq(self.passed.expected),
                visit.acknowledge.eq(asked.any()),
                visit.nak.eq(self.passed.nak),
            ]
            for n in range(64 // _GROUP):
                m.d.sync += counts[n].eq(sum(ends[n * _GROUP :][:_GROUP]))

        # Phases 1, 2: how many in all.
        m.d.comb += read.addr.eq(visit.qp)
        with m.If(self.phase == 1):
            m.d.sync += visit.count.eq(sum(counts))
        with m.If(self.phase == 2):
            m.d.sync += visit.msn.eq(read.data + visit.count)

        # Phase 0: done.
        m.d.comb += [
            self.visit_valid.eq((self.phase == 0) & ((visit.count != 0) | visit.nak)),
            self.visit.eq(visit),
            write.en.eq(self.visit_valid),
            write.addr.eq(visit.qp),
            write.data.eq(visit.msn),
        ]
        m.d.comb += Cat(self.visit.tickets).eq(Cat(self.issued))

        with m.If(self.clear.valid):
            m.d.comb += [
                write.en.eq(1),
                write.addr.eq(self.clear.qp),
                write.data.eq(0),
            ]

        return m
