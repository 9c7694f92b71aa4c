import random

from hypothesis import given, settings
from hypothesis import strategies as st

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.retransmit.scoreboard import Scoreboard
from mrcnic.hdl.wire.psn import psn_add, psn_difference
from mrcnic.sim.bench.streams import drive, simulate

CONFIG = NicConfig(beat_octets=8, mtu=256, slots=16, window=128, qps=2)


class Model:
    """A set of PSNs per QP."""

    def __init__(self, first):
        self.first = first
        self.cack = psn_add(first, -1)
        self.acked = set()

    def acknowledge(self, cack, base, bitmap):
        self.acked |= {psn_add(base, n) for n in range(64) if bitmap >> n & 1}
        if psn_difference(cack, self.cack) > 0:
            self.cack = cack

    def knows(self, psn):
        return psn_difference(psn, self.cack) <= 0 or psn in self.acked


async def ask(ctx, dut, qp, psn):
    ctx.set(dut.query[0].at, {"qp": qp, "psn": psn})
    await ctx.tick()
    return ctx.get(dut.query[0].acked)


@settings(max_examples=10, deadline=None)
@given(
    first=st.sampled_from([0, 100, 0xFFFFF0, 0xFFFFC0]),
    seed=st.integers(0, 1 << 16),
    steps=st.integers(1, 12),
)
def test_agrees_with_a_set(first, seed, steps):
    """Two QPs whose windows move on, over several rounds of the ring."""
    dut = Scoreboard(CONFIG, readers=1)
    rng = random.Random(seed)
    models = [Model(first), Model(psn_add(first, 77))]

    async def bench(ctx):
        nexts = []
        for qp, model in enumerate(models):
            await drive(ctx, dut.create, [{"qp": qp, "psn": model.first}])
            nexts.append(model.first)
        for _ in range(steps):
            qp = rng.randrange(2)
            model = models[qp]
            limit = psn_add(model.cack, 128)
            while nexts[qp] != psn_add(limit, 1) and rng.random() < 0.99:
                if nexts[qp] % 64 == 0:
                    await drive(ctx, dut.open, [{"qp": qp, "psn": nexts[qp]}])
                nexts[qp] = psn_add(nexts[qp], 1)
            sent = psn_difference(nexts[qp], model.cack) - 1
            cack = psn_add(model.cack, rng.randint(-3, sent))
            low = psn_difference(model.cack, cack)
            base = psn_add(cack, rng.randint(1, max(1, sent - low)))
            bitmap = 0
            for n in range(64):
                psn = psn_add(base, n)
                inside = psn_difference(psn, model.cack) > 0 and psn_difference(nexts[qp], psn) > 0
                bitmap |= (inside and rng.randrange(2)) << n
            model.acknowledge(cack, base, bitmap)
            await drive(ctx, dut.i, [{"qp": qp, "cack": cack, "base": base, "bitmap": bitmap}])
            for _ in range(5):
                await ctx.tick()
            for qp, model in enumerate(models):
                for psn in range(-4, 128, rng.randint(1, 9)):
                    psn = psn_add(model.cack, psn)
                    if psn_difference(nexts[qp], psn) > 0:
                        assert await ask(ctx, dut, qp, psn) == model.knows(psn), hex(psn)

    simulate(dut, bench, max_cycles=20_000)


def test_one_acknowledgement_in_two_cycles_seen_after_six():
    dut = Scoreboard(CONFIG, readers=1)

    async def bench(ctx):
        await drive(ctx, dut.create, [{"qp": 0, "psn": 0}])
        ctx.set(dut.query[0].at, {"qp": 0, "psn": 20})
        ctx.set(dut.i.valid, 1)
        taken, seen = [], []
        for cycle in range(60):
            n = len(taken)
            ctx.set(dut.i.payload, {"qp": 0, "cack": n, "base": n + 1, "bitmap": 0})
            if ctx.get(dut.i.ready):
                taken.append(cycle)
            if ctx.get(dut.query[0].acked):
                seen.append(cycle)
            await ctx.tick()
        assert taken == list(range(0, 60, 2))
        assert seen[0] - taken[20] == 6

    simulate(dut, bench)


def test_back_to_back_bits_of_one_row_add_up():
    dut = Scoreboard(CONFIG, readers=1)

    async def bench(ctx):
        await drive(ctx, dut.create, [{"qp": 1, "psn": 10}])
        for n in range(64):  # B073
            ack = {"qp": 1, "cack": 9, "base": 11 + n, "bitmap": 1}
            ctx.set(dut.i.payload, ack)
            ctx.set(dut.i.valid, 1)
            await ctx.tick().until(dut.i.ready)
        ctx.set(dut.i.valid, 0)
        for _ in range(6):
            await ctx.tick()
        assert [await ask(ctx, dut, 1, psn) for psn in (9, 10)] == [1, 0]
        assert all([await ask(ctx, dut, 1, 11 + n) for n in range(64)])
        assert await ask(ctx, dut, 1, 75) == 0

    simulate(dut, bench)


def test_probe_answers_are_kept_until_the_qp_is_made_anew():
    dut = Scoreboard(CONFIG, readers=1)

    async def bench(ctx):
        await drive(ctx, dut.create, [{"qp": 1, "psn": 10}])
        await drive(ctx, dut.i, [{"qp": 1, "cack": 9, "base": 10, "probe": 1, "probe_id": 0x0700}])
        # Answers to probes of other kinds are not kept.
        await drive(ctx, dut.i, [{"qp": 1, "cack": 9, "base": 10, "probe": 1, "probe_id": 0x0802}])
        for _ in range(5):
            await ctx.tick()
        await ask(ctx, dut, 1, 10)
        assert ctx.get(dut.query[0].answer.probe_id) == 0x0700
        assert ctx.get(dut.query[0].answer.valid) == 1
        await drive(ctx, dut.create, [{"qp": 1, "psn": 10}])
        await ask(ctx, dut, 1, 10)
        assert ctx.get(dut.query[0].answer.valid) == 0

    simulate(dut, bench)
