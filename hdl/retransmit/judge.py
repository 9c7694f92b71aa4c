"""What the walker remembers of each QP, brought to bear on a slot."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import NOW_BITS, index_bits
from mrcnic.hdl.wire.serial import ahead

from .finding import Facts, Finding, WalkState
from .retry_rule import RetryRule
from .scoreboard import QpPsn
from .stamp_rule import StampRule, StampState

__all__ = ["Judge", "StateUpdate"]


class StateUpdate(data.StructLayout):
    """State to be written for the QP of the facts of this cycle."""

    def __init__(self):
        super().__init__({"valid": 1, "state": WalkState()})


class Judge(wiring.Component):
    """Turn findings into facts, in two cycles, one per cycle.

    Stamps are read and written in one cycle, so that slots of one QP see each other's. The rest of
    a QP's state is written when its facts come out, and slots that read it before that are told
    that they are ``stale``: this is rare, and they come round again. A QP is cleared in three
    cycles, at the cost of one finding, which is passed on as if its slot were not settled.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    finding, next_qp, now : ``In``
        As for :class:`~.walker.Walker`.
    clear : ``In(stream.Signature(QpPsn(config)))``
        QPs to be forgotten.
    facts, stale : ``Out(Facts(config))``, ``Out(1)``
        What follows, two cycles after the finding; whether the state was written meanwhile.
    update : ``In(StateUpdate())``
        Next state of the QP of ``facts``.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "finding": In(Finding(config)),
            "next_qp": In(index_bits(config.qps)),
            "now": In(NOW_BITS),
            "clear": In(stream.Signature(QpPsn(config))),
            "facts": Out(Facts(config)),
            "stale": Out(1),
            "update": In(StateUpdate()),
        })

    def elaborate(self, platform):
        m = Module()

        first, clear = Signal(Facts(self.config)), self.clear
        depth = self.config.qps
        m.submodules.marks = marks = memory.Memory(shape=StampState(), depth=depth, init=[])
        m.submodules.states = states = memory.Memory(shape=WalkState(), depth=depth, init=[])
        mark_write, write = marks.write_port(), states.write_port()
        mark, read = marks.read_port(), states.read_port()
        m.d.comb += [mark.addr.eq(self.next_qp), read.addr.eq(self.next_qp)]

        # A QP that is to be cleared takes the place of a finding, which waits for the next lap.
        clearing = Signal(3)
        m.d.sync += clearing.eq(Cat(clear.valid & ~clearing.any(), clearing))
        m.d.comb += clear.ready.eq(clearing[2])
        finding = Signal.like(self.finding)
        m.d.comb += finding.eq(self.finding)
        with m.If(clearing[0]):
            m.d.comb += finding.settled.eq(0)

        # Stamps, and comparisons with the state. What was just written is not in the memory yet.
        m.submodules.stamps = stamps = StampRule()
        live, answered = Signal(), Signal()
        state = Signal(WalkState())
        self._read(m, stamps.state, mark, live, finding.qp, stamps.next)
        self._read(m, state, read, self.update.valid, self.facts.finding.qp, self.update.state)
        m.d.comb += [
            live.eq(finding.settled & ~finding.stopped),
            # Of the kind of these probes are all answers that the scoreboard keeps.
            answered.eq(
                live
                & state.probing
                & finding.answer.valid
                & (finding.answer.probe_id[8:] == state.probe_count)
            ),
            stamps.stamp.eq(finding.stamp),
            stamps.limit.eq(finding.stamp_limit),
            # Too early an answer to a resend is the answer to the send before it.
            stamps.acked.eq(live & finding.acked & (~finding.resent | finding.travelled)),
            stamps.probe_acked.eq(answered),
            stamps.probe_stamp.eq(finding.probe_stamp),
        ]
        m.d.sync += [
            first.finding.eq(finding),
            first.state.eq(state),
            first.later.eq(stamps.later),
            first.beyond.eq(stamps.beyond),
            first.answered.eq(answered),
            first.progress.eq(~state.known | (state.cack != finding.cack)),
            first.probe_held.eq(state.probing & (ahead(state.probe_until, self.now) >= 0)),
        ]

        # The retry counter.
        m.submodules.retry = retry = RetryRule()
        m.d.comb += [
            retry.state.eq(first.state.retry),
            retry.progress.eq(first.progress),
            retry.now.eq(self.now),
            retry.age.eq(first.finding.age),
            retry.base.eq(first.finding.base_rto),
            retry.linear_count.eq(first.finding.linear_count),
            retry.limit.eq(first.finding.retry_limit),
            retry.endless.eq(first.finding.endless),
        ]
        m.d.sync += [self.facts.eq(first), self.facts.outlook.eq(retry.outlook)]

        # Two cycles lie between the reading of a state and the facts.
        qp, before = self.facts.finding.qp, Signal(index_bits(depth))
        written, same = Signal(2), Signal(2)
        m.d.sync += [
            written.eq(Cat(self.update.valid, written)),
            before.eq(qp),
            same.eq(Cat(first.finding.qp == qp, first.finding.qp == before)),
        ]
        m.d.comb += self.stale.eq((written & same).any())

        # A QP that is cleared has no slots: nobody reads what is written for it.
        m.d.comb += [
            mark_write.en.eq(live | clearing[0]),
            mark_write.addr.eq(Mux(clearing[0], clear.p.qp, finding.qp)),
            mark_write.data.eq(Mux(clearing[0], 0, stamps.next.as_value())),
            write.en.eq(self.update.valid | clearing[2]),
            write.addr.eq(Mux(clearing[2], clear.p.qp, qp)),
            write.data.eq(Mux(clearing[2], 0, self.update.state.as_value())),
        ]

        return m

    def _read(self, m, value, read, written, qp, data):
        """Set ``value`` to what was read, or to ``data``, if that was written to it meanwhile."""
        again, newer = Signal(), Signal.like(data)
        m.d.sync += [again.eq(written & (qp == self.next_qp)), newer.eq(data)]
        m.d.comb += value.eq(read.data)
        with m.If(again):
            m.d.comb += value.eq(newer)
