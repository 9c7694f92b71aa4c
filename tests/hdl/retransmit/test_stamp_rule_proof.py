"""Proofs about the stamps of a QP, whatever is acknowledged in whatever order."""

import pytest
from amaranth.hdl import Assert, Assume, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from mrcnic.hdl.retransmit.stamp_rule import StampRule, StampState
from mrcnic.hdl.wire.serial import ahead
from mrcnic.sim.bench.proof import have_prover, prove

needs_prover = pytest.mark.skipif(
    not have_prover(), reason="needs yowasp-sby and z3-solver: pip install yowasp-sby z3-solver"
)


class StampSpec(wiring.Component):
    """A QP of which a packet, or a probe and a packet, is looked at in each cycle."""

    stamp: In(16)
    acked: In(1)
    probe_acked: In(1)
    probe_stamp: In(16)
    reorder_packets: In(8)

    def __init__(self, *, least=0):
        self.least = least
        super().__init__()

    def elaborate(self, platform):
        m = Module()

        m.submodules.rule = rule = StampRule()
        state = Signal(StampState())
        m.d.sync += state.eq(rule.next)
        m.d.comb += [
            rule.state.eq(state),
            rule.stamp.eq(self.stamp),
            rule.limit.eq(self.stamp + self.reorder_packets),
            rule.acked.eq(self.acked),
            rule.probe_acked.eq(self.probe_acked),
            rule.probe_stamp.eq(self.probe_stamp),
        ]
        # Packets under way are less than a quarter of all stamps apart from the highest.
        heard = self.probe_stamp, self.stamp
        m.d.comb += [Assume(abs(ahead(stamp, state.highest)) < 1 << 14) for stamp in heard]

        # What was acknowledged is never forgotten, and nothing else is made up.
        moved = ahead(rule.next.highest, state.highest)
        m.d.comb += [
            Assert(~state.valid | rule.next.valid),
            Assert(~state.valid | (moved >= self.least)),
            Assert(~(rule.next.valid & ~state.valid) | self.acked | self.probe_acked),
            Assert(
                ~rule.next.valid
                | (state.valid & (moved == 0))
                | (self.probe_acked & (rule.next.highest == self.probe_stamp))
                | (self.acked & (rule.next.highest == self.stamp))
            ),
            # A hole is a packet after which something sent later has come: of packets more than
            # those that may overtake it, of probes any.
            Assert(~(rule.later | rule.beyond) | state.valid | state.waived),
            Assert(~(rule.beyond & ~state.waived) | rule.later),
        ]

        return m


@needs_prover
def test_stamps_never_move_back(tmp_path):
    prove(StampSpec(), build_dir=tmp_path, depth=2)


@needs_prover
def test_a_false_claim_is_refused(tmp_path):
    with pytest.raises(AssertionError, match=r"DONE \(FAIL"):
        prove(StampSpec(least=1), build_dir=tmp_path, depth=4)
