"""How long bad EVs stay away."""

from amaranth.sim import Simulator
from spray_bench import SMALL

from mrcnic.hdl.descriptor.sizes import NOW_BITS
from mrcnic.hdl.spray.retirement import Retirement

#: A walk over a QP, in cycles, and some cycles to get there.
WALK = 4 * SMALL.evs
SLACK = 3 * WALK


class Bench:
    """A retirement with a clock of its own: a tick in each cycle."""

    def __init__(self, start=0):
        self.dut = Retirement(SMALL)
        self.start = start
        self.returned = []  # (cycle, qp, EV)
        self.cycle = 0

    def run(self, bench, *, delay, limit, max_cycles=30_000):
        sim = Simulator(self.dut)
        sim.add_clock(1e-6)
        done = []

        async def clock(ctx):
            ctx.set(self.dut.settings.retire_delay, delay)
            ctx.set(self.dut.settings.retire_delay_max, limit)
            ctx.set(self.dut.returns.ready, 1)
            while True:
                ctx.set(self.dut.now, (self.start + self.cycle) % (1 << NOW_BITS))
                _, _, valid, payload = await ctx.tick().sample(
                    self.dut.returns.valid, self.dut.returns.payload
                )
                if valid:
                    self.returned.append((self.cycle, payload.qp, payload.ev_index))
                self.cycle += 1

        async def run(ctx):
            for qp in range(SMALL.qps):
                ctx.set(self.dut.forget.payload, qp)
                ctx.set(self.dut.forget.valid, 1)
                await ctx.tick().until(self.dut.forget.ready)
            ctx.set(self.dut.forget.valid, 0)
            await ctx.tick().repeat(30)  # the table of delays
            await bench(ctx)
            done.append(1)

        sim.add_testbench(clock, background=True)
        sim.add_testbench(run)
        for _ in range(2 * max_cycles):
            sim.advance()
            if done:
                return
        raise TimeoutError

    async def fail(self, ctx, qp, ev_index):
        """Report a failure, and return when the EV is back: how long it was away."""
        ctx.set(self.dut.failures.payload, {"qp": qp, "ev_index": ev_index})
        ctx.set(self.dut.failures.valid, 1)
        assert ctx.get(self.dut.room)
        await ctx.tick()
        ctx.set(self.dut.failures.valid, 0)
        since = self.cycle
        count = len(self.returned)
        while len(self.returned) == count:
            await ctx.tick()
        cycle, *who = self.returned[-1]
        assert who == [qp, ev_index]
        return cycle - since


def within(value, expected):
    return expected <= value <= expected + SLACK


def test_delay_doubles_up_to_the_limit():
    bench = Bench()

    async def run(ctx):
        aways = [await bench.fail(ctx, 2, 13) for _ in range(5)]
        for away, expected in zip(aways, [300, 600, 1200, 2000, 2000], strict=True):
            assert within(away, expected), aways

    bench.run(run, delay=300, limit=2000)


def test_a_long_good_life_clears_the_record():
    bench = Bench()

    async def run(ctx):
        assert within(await bench.fail(ctx, 0, 1), 300)
        await ctx.tick().repeat(100)  # not long enough
        assert within(await bench.fail(ctx, 0, 1), 600)
        await ctx.tick().repeat(600 + SLACK)
        assert within(await bench.fail(ctx, 0, 1), 300)

    bench.run(run, delay=300, limit=5000)


def test_time_wraps():
    """Right through the wrap of ``now``, and with a life so long that ``now`` has come round."""
    bench = Bench(start=(1 << NOW_BITS) - 600)

    async def run(ctx):
        assert within(await bench.fail(ctx, 1, 0), 500)
        await ctx.tick().repeat(500 + SLACK)
        bench.start += (1 << NOW_BITS) - 700  # good for two seconds
        assert within(await bench.fail(ctx, 1, 0), 500)

    bench.run(run, delay=500, limit=5000)


def test_every_ev_of_a_qp_has_a_record_of_its_own():
    bench = Bench()

    async def run(ctx):
        for qp in range(SMALL.qps):
            for ev_index in range(SMALL.evs):
                while not ctx.get(bench.dut.room):
                    await ctx.tick()
                ctx.set(bench.dut.failures.payload, {"qp": qp, "ev_index": ev_index})
                ctx.set(bench.dut.failures.valid, 1)
                await ctx.tick()
                ctx.set(bench.dut.failures.valid, 0)
        reported = bench.cycle
        while len(bench.returned) < SMALL.qps * SMALL.evs:
            await ctx.tick()
        assert {(qp, ev) for _, qp, ev in bench.returned} == {
            (qp, ev) for qp in range(SMALL.qps) for ev in range(SMALL.evs)
        }
        assert len(bench.returned) == SMALL.qps * SMALL.evs
        assert bench.returned[-1][0] <= reported + 1000 + 3 * SMALL.qps * WALK

    bench.run(run, delay=1000, limit=5000)


def test_a_qp_that_is_forgotten_has_no_record():
    bench = Bench()

    async def run(ctx):
        await bench.fail(ctx, 3, 5)
        ctx.set(bench.dut.forget.payload, 3)
        ctx.set(bench.dut.forget.valid, 1)
        await ctx.tick().until(bench.dut.forget.ready)
        ctx.set(bench.dut.forget.valid, 0)
        assert within(await bench.fail(ctx, 3, 5), 300)

    bench.run(run, delay=300, limit=5000)
