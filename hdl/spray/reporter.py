"""What became of EVs, for those who watch them."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.paths import EvAnswer, EvNews, EvQuery, EvStateCode

from .links import Failure, Operation, OperationKind, Outcome, join_ev, split_ev

__all__ = ["Reporter"]

#: News that wait for the host.
_NEWS = 16


class Reporter(wiring.Component):
    """Tell the host, and those who probe, what became of EVs; ask for the host.

    News that the host does not read in time are dropped, and counted: they never keep a packet
    waiting. An answer takes 8 cycles or more; the next question is taken when it was read.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    outcome : ``In(Outcome(config))``
        What became of operations.
    failed, failure : ``Out(1)``, ``Out(Failure(config))``
        An EV has become ASSUMED_BAD, or was, and has lost another packet.
    news : ``Out(stream.Signature(EvNews(config)))``
        EVs that have changed their states.
    query : ``In(stream.Signature(EvQuery(config)))``
        Questions of the host.
    asks : ``Out(stream.Signature(Operation(config)))``
        The same, as operations.
    answer : ``Out(stream.Signature(EvAnswer()))``
        Answers.
    events : ``Out``
        ``ev_marked``, ``ev_retired``, ``ev_returned``, ``ev_denied``, ``ev_allowed``: an EV has
        become SKIP, ASSUMED_BAD, usable again, DENIED, usable again. ``ev_news_dropped``: news
        was dropped.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        names = ("marked", "retired", "returned", "denied", "allowed", "news_dropped")
        super().__init__({
            "outcome": In(Outcome(config)),
            "failed": Out(1),
            "failure": Out(Failure(config)),
            "news": Out(stream.Signature(EvNews(config))),
            "query": In(stream.Signature(EvQuery(config))),
            "asks": Out(stream.Signature(Operation(config))),
            "answer": Out(stream.Signature(EvAnswer())),
            "events": Out(data.StructLayout({f"ev_{name}": 1 for name in names})),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        operation, hits = self.outcome.operation, self.outcome.hits

        old = Signal(EvStateCode)
        with m.If(hits.skip):
            m.d.comb += old.eq(EvStateCode.SKIP)
        with m.Elif(hits.bad):
            m.d.comb += old.eq(EvStateCode.ASSUMED_BAD)
        with m.Elif(hits.denied):
            m.d.comb += old.eq(EvStateCode.DENIED)
        new, changed = self._new(m)
        ev_index = join_ev(m, config, operation.plane, operation.local)
        m.d.comb += [
            # One that was bad is told again, since its answers are counted from the start.
            self.failed.eq(
                self.outcome.valid
                & (operation.kind == OperationKind.BAD)
                & (hits.good | hits.skip | hits.bad)
            ),
            self.failure.qp.eq(operation.qp),
            self.failure.ev_index.eq(ev_index),
        ]

        m.submodules.queue = queue = SyncFIFOBuffered(width=EvNews(config).size, depth=_NEWS)
        entry = Signal(EvNews(config))
        m.d.comb += [
            entry.qp.eq(operation.qp),
            entry.ev_index.eq(ev_index),
            entry.old.eq(old),
            entry.new.eq(new),
            queue.w_data.eq(entry),
            queue.w_en.eq(changed),
            self.news.valid.eq(queue.r_rdy),
            self.news.payload.eq(queue.r_data),
            queue.r_en.eq(self.news.ready),
        ]
        marks = (operation.kind == OperationKind.SKIP) & hits.good & hits.active
        m.d.sync += [
            self.events.ev_marked.eq(self.outcome.valid & marks),
            self.events.ev_retired.eq(changed & (new == EvStateCode.ASSUMED_BAD)),
            self.events.ev_returned.eq(
                changed & (new != EvStateCode.DENIED) & (old == EvStateCode.ASSUMED_BAD)
            ),
            self.events.ev_denied.eq(changed & (new == EvStateCode.DENIED)),
            self.events.ev_allowed.eq(
                changed & (new != EvStateCode.DENIED) & (old == EvStateCode.DENIED)
            ),
            self.events.ev_news_dropped.eq(changed & ~queue.w_rdy),
        ]
        self._answer(m, old)
        return m

    def _new(self, m):
        """Return the new state of the target, and whether it is another one to the host."""
        operation, hits = self.outcome.operation, self.outcome.hits
        new, other = Signal(EvStateCode), Signal()
        with m.Switch(operation.kind):
            with m.Case(OperationKind.BAD):
                m.d.comb += new.eq(EvStateCode.ASSUMED_BAD)
                m.d.comb += other.eq(hits.good | hits.skip)
            with m.Case(OperationKind.ANSWERED, OperationKind.ANSWERED_MARKED):
                m.d.comb += other.eq(hits.bad & self.outcome.enough)
                with m.If(operation.kind == OperationKind.ANSWERED_MARKED):
                    m.d.comb += new.eq(EvStateCode.SKIP)
            with m.Case(OperationKind.DENY):
                m.d.comb += new.eq(EvStateCode.DENIED)
                m.d.comb += other.eq(hits.good | hits.skip | hits.bad)
            with m.Case(OperationKind.ALLOW):
                m.d.comb += other.eq(hits.denied)
            with m.Case(OperationKind.PLACE):
                m.d.comb += other.eq(operation.there & (hits.bad | hits.denied))
        return new, self.outcome.valid & other

    def _answer(self, m, state):
        """Ask, wait for the outcome, and keep it until the host has read it."""
        plane, local = split_ev(m, self.config, self.query.payload.ev_index)
        beyond = self.query.payload.ev_index >= self.config.evs
        hits = self.outcome.hits
        m.d.comb += [
            self.asks.payload.kind.eq(OperationKind.QUERY),
            self.asks.payload.qp.eq(self.query.payload.qp),
            self.asks.payload.plane.eq(plane),
            self.asks.payload.local.eq(local),
            self.asks.payload.targeted.eq(~beyond),
        ]
        comes = self.outcome.valid & (self.outcome.operation.kind == OperationKind.QUERY)
        with m.FSM() as fsm:
            with m.State("ASK"), m.If(self.query.valid & self.asks.ready):
                m.next = "WAIT"
            with m.State("WAIT"), m.If(comes):
                m.d.sync += [
                    self.answer.payload.there.eq(hits.as_value().any()),
                    self.answer.payload.state.eq(state),
                    self.answer.payload.active.eq(hits.active),
                    self.answer.payload.good_answers.eq(self.outcome.good_answers),
                ]
                m.next = "TELL"
            with m.State("TELL"), m.If(self.answer.ready):
                m.next = "ASK"
        asks = fsm.ongoing("ASK")
        m.d.comb += self.asks.valid.eq(asks & self.query.valid)
        m.d.comb += self.query.ready.eq(asks & self.asks.ready)
        m.d.comb += self.answer.valid.eq(fsm.ongoing("TELL"))
