"""What the walker remembers of each QP, brought to bear on a slot."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import NOW_BITS, index_bits
from mrcnic.hdl.wire.opcodes import ProbeKind
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
    that they are ``stale``: this is rare, and they come round again.

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

        finding, first = self.finding, Signal(Facts(self.config))
        depth = self.config.qps
        m.submodules.marks = marks = memory.Memory(shape=StampState(), depth=depth, init=[])
        m.submodules.states = states = memory.Memory(shape=WalkState(), depth=depth, init=[])
        mark_write, write = marks.write_port(), states.write_port()
        mark = marks.read_port(transparent_for=[mark_write])
        read = states.read_port(transparent_for=[write])
        m.d.comb += [mark.addr.eq(self.next_qp), read.addr.eq(self.next_qp)]

        # Stamps, and comparisons with the state.
        m.submodules.stamps = stamps = StampRule()
        live, answered = Signal(), Signal()
        state = read.data
        m.d.comb += [
            live.eq(finding.settled & ~finding.stopped),
            answered.eq(
                live
                & state.probing
                & finding.answer.valid
                & (finding.answer.probe_id == Cat(Const(ProbeKind.TAIL, 8), state.probe_count))
            ),
            stamps.state.eq(mark.data),
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
        m.d.comb += self.clear.ready.eq(~self.update.valid & ~live)
        clearing = self.clear.valid & self.clear.ready
        m.d.comb += [
            mark_write.en.eq(live | clearing),
            mark_write.addr.eq(Mux(live, finding.qp, self.clear.p.qp)),
            write.en.eq(self.update.valid | clearing),
            write.addr.eq(Mux(self.update.valid, qp, self.clear.p.qp)),
        ]
        with m.If(live):
            m.d.comb += mark_write.data.eq(stamps.next)
        with m.If(self.update.valid):
            m.d.comb += write.data.eq(self.update.state)

        return m
