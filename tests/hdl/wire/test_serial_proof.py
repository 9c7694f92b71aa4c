"""Proofs of serial arithmetic, for every pair of PSNs."""

import pytest
from amaranth.hdl import Assert, Assume, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from mrcnic.hdl.wire.psn import PSN_BITS
from mrcnic.hdl.wire.serial import ahead
from mrcnic.sim.bench.proof import have_prover, prove

needs_prover = pytest.mark.skipif(
    not have_prover(), reason="needs yowasp-sby and z3-solver: pip install yowasp-sby z3-solver"
)


class SerialSpec(wiring.Component):
    """Three PSNs, the second and third less than ``reach`` from the first."""

    base: In(PSN_BITS)
    near: In(PSN_BITS)
    far: In(PSN_BITS)

    def __init__(self, reach):
        self.reach = reach
        super().__init__()

    def elaborate(self, platform):
        m = Module()

        unused = Signal()
        m.d.sync += unused.eq(~unused)  # there has to be a clock
        to_near, to_far = ahead(self.near, self.base), ahead(self.far, self.base)
        m.d.comb += [
            Assert((self.base + to_near)[:PSN_BITS] == self.near),
            Assert((to_near == 0) == (self.near == self.base)),
            Assert((to_near == -(1 << 23)) | (ahead(self.base, self.near) == -to_near)),
        ]
        # Order within half of that is an order, across the wrap as well.
        with m.If((to_near >= 0) & (to_far >= to_near)):
            m.d.comb += Assume(to_far < self.reach)
            m.d.comb += Assert(ahead(self.far, self.near) == to_far - to_near)

        return m


@needs_prover
def test_serial_arithmetic(tmp_path):
    prove(SerialSpec(reach=1 << 23), build_dir=tmp_path, depth=2)
