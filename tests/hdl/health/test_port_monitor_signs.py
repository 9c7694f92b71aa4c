"""Ports follow what a real MAC shows, in its time: locks, faults, clocks, errors, and proofs."""

import pytest
from amaranth.sim import Simulator

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.health.port_monitor import PortMonitor
from mrcnic.sim.bench.mac_status import MacStatusModel, StatusDelays

CONFIG = NicConfig(lanes=2)
PERIOD_PS = 4_000

#: From the fall of ``up`` on, the sprayer picks for 5 cycles more.
LAST_PICK = 5

#: Markers come as often as in a simulation that shall end; the rest is as it is.
QUICK = StatusDelays(markers=400_000)


class Bench:
    """A monitor of port 1 behind a MAC. A tick of ``now`` is 32 cycles, which is 128 ns."""

    def __init__(self, *, rs_fec=True, loop_probes=0, **settings):
        self.dut = PortMonitor(CONFIG, port=1)
        self.mac = MacStatusModel(QUICK, rs_fec=rs_fec)
        self.settings = {"hold_off": 4, "error_leak": 1} | settings
        self.loop_probes = loop_probes
        self.cycle = 0
        self.counts = {"port_up": 0, "port_down": 0, "port_degraded": 0}
        self.pins = None

    @property
    def now_ps(self):
        return self.cycle * PERIOD_PS

    def run(self, bench, *, max_cycles=30_000):
        sim = Simulator(self.dut)
        sim.add_clock(1e-6)
        done = []

        async def run(ctx):
            port = self.dut.settings.port[1]
            for name, value in self.settings.items():
                ctx.set(self.dut.settings[name], value)
            ctx.set(port.enable, 1)
            ctx.set(port.lock_lanes, 0xFFFFF)
            ctx.set(port.loop_probes, self.loop_probes)
            await bench(ctx)
            done.append(1)

        sim.add_testbench(run)
        for _ in range(2 * max_cycles):
            sim.advance()
            if done:
                return
        raise TimeoutError

    async def step(self, ctx, cycles=1):
        dut = self.dut
        for _ in range(cycles):
            pins = self.mac.at(self.now_ps)
            if pins != self.pins:
                self.pins = pins
                for name, value in vars(pins).items():
                    ctx.set(dut.mac[name], value)
            ctx.set(dut.now, self.cycle // 32)
            await ctx.tick()
            self.cycle += 1
            if ctx.get(dut.events.as_value()):
                for name in self.counts:
                    self.counts[name] += ctx.get(dut.events[name])

    async def until(self, ctx, name, value, *, limit=20_000):
        """Return the cycles until an output has a value."""
        for cycles in range(limit):
            if ctx.get(getattr(self.dut, name)) == value:
                return cycles
            await self.step(ctx)
        raise AssertionError(f"{name} is still not {value} after {limit} cycles")


@pytest.mark.parametrize(
    ("fault", "rs_fec", "delay_ps"),
    [
        (lambda mac, now: mac.cut(now), True, QUICK.code_words),
        (lambda mac, now: mac.cut(now), False, QUICK.first_lane),
        (lambda mac, now: mac.cut_lanes(now, 1 << 19), False, QUICK.first_lane),
        (
            lambda mac, now: mac.cut_other_direction(now),
            True,
            QUICK.code_words + QUICK.local_fault + QUICK.remote_fault,
        ),
    ],
)
def test_a_port_is_picked_no_more_16_cycles_after_the_first_pin(fault, rs_fec, delay_ps):
    bench = Bench(rs_fec=rs_fec)

    async def run(ctx):
        await bench.until(ctx, "up", 1)
        fault(bench.mac, bench.now_ps)
        cycles = await bench.until(ctx, "up", 0)
        first_pin = -(-delay_ps // PERIOD_PS)
        assert first_pin < cycles <= first_pin + 4
        assert cycles - first_pin + LAST_PICK <= 16
        assert not ctx.get(bench.dut.open)
        await bench.step(ctx, 4000)
        assert bench.counts == {"port_up": 1, "port_down": 1, "port_degraded": 0}
        bench.mac.mend(bench.now_ps)
        cycles = await bench.until(ctx, "up", 1)
        assert cycles * PERIOD_PS >= 2 * QUICK.markers + 4 * 128_000 - 128_000

    bench.run(run)


def test_each_pin_alone_takes_the_port_down():
    """Also each of the PCS lanes that count, and none of the others."""
    bench = Bench()

    async def run(ctx):
        dut = bench.dut
        ctx.set(dut.settings.port[1].lock_lanes, 0xFFFFE)
        await bench.until(ctx, "up", 1)
        good = bench.pins
        bad = [("aligned", 0), ("local_fault", 1), ("remote_fault", 1), ("hi_ber", 1)]
        bad += [("fec_lock", 0)]
        bad += [("block_lock", 0xFFFFF & ~(1 << lane)) for lane in range(20)]
        for name, value in bad:
            bench.mac.show(**{name: value})
            await bench.step(ctx)
            bench.mac.show(**{name: getattr(good, name)})
            await bench.step(ctx, 2)
            assert ctx.get(dut.up) == (value == 0xFFFFE)
            await bench.until(ctx, "up", 1)
        assert bench.counts["port_down"] == len(bad) - 1

    bench.run(run)


def test_a_receive_clock_that_stops_is_found_in_64_cycles():
    """B091: the pins say that all is well."""
    bench = Bench()

    async def run(ctx):
        await bench.until(ctx, "up", 1)
        await bench.step(ctx, 500)
        assert bench.counts["port_down"] == 0
        bench.mac.stop_clock(bench.now_ps)
        assert await bench.until(ctx, "up", 0) + LAST_PICK <= 64
        assert ctx.get(bench.dut.link)
        bench.mac.cut(bench.now_ps)  # nobody sees that any more
        await bench.step(ctx, 200)
        assert ctx.get(bench.dut.link)
        bench.mac.start_clock(bench.now_ps)
        await bench.until(ctx, "link", 0)
        assert bench.counts["port_up"] == 1

    bench.run(run)


@pytest.mark.parametrize("down", [0, 1])
def test_a_port_with_many_errors_is_degraded(down):
    bench = Bench(error_limit=100, error_weight=16, degraded_down=down)

    async def run(ctx):
        dut = bench.dut
        await bench.until(ctx, "up", 1)
        # A rate below the leak of one error in 32 cycles never fills the bucket.
        for _ in range(20):
            bench.mac.corrupt(2)
            await bench.step(ctx, 80)
        assert bench.counts["port_degraded"] == 0
        # Uncorrected code words weigh more: with the seventh the bucket runs over.
        for n in range(7):
            assert bench.counts["port_degraded"] == 0, n
            bench.mac.corrupt(0, uncorrected=True)
            await bench.step(ctx, 13)
        await bench.step(ctx)
        assert ctx.get(dut.degraded)
        assert bench.counts["port_degraded"] == 1
        assert ctx.get(dut.up) == (not down)
        # It is so until the bucket is empty, and the hold-off comes on top of that.
        cycles = await bench.until(ctx, "degraded", 0)
        assert 90 * 32 <= cycles <= 112 * 32
        if down:
            assert 3 * 32 <= await bench.until(ctx, "up", 1) <= 5 * 32
        assert bench.counts == {"port_up": 1 + down, "port_down": down, "port_degraded": 1}

    bench.run(run)


def test_errors_are_counted_one_by_one_and_not_while_the_link_is_down():
    bench = Bench(error_limit=40, error_leak=0xFFFF)

    async def run(ctx):
        dut = bench.dut
        await bench.until(ctx, "up", 1)
        bench.mac.corrupt(39)
        await bench.step(ctx, 60)
        assert not ctx.get(dut.degraded)
        bench.mac.corrupt(1)
        await bench.step(ctx, 8)
        assert ctx.get(dut.degraded)
        bench.mac.cut(bench.now_ps)
        await bench.until(ctx, "link", 0)
        bench.mac.corrupt(60)
        await bench.step(ctx, 100)
        assert not ctx.get(dut.degraded)

    bench.run(run)


def test_without_a_limit_errors_do_not_matter():
    bench = Bench(error_limit=0, degraded_down=1)

    async def run(ctx):
        await bench.until(ctx, "up", 1)
        bench.mac.corrupt(400)
        await bench.step(ctx, 600)
        assert bench.counts == {"port_up": 1, "port_down": 0, "port_degraded": 0}

    bench.run(run)


def test_a_port_that_has_to_be_proven_waits_for_that():
    bench = Bench(loop_probes=1)

    async def run(ctx):
        dut = bench.dut
        await bench.until(ctx, "open", 1)
        await bench.step(ctx, 400)
        assert not ctx.get(dut.up)
        ctx.set(dut.proven, 1)
        assert await bench.until(ctx, "up", 1) == 1
        bench.mac.cut(bench.now_ps)
        await bench.until(ctx, "up", 0)
        ctx.set(dut.proven, 0)
        bench.mac.mend(bench.now_ps)
        await bench.until(ctx, "open", 1)
        ctx.set(dut.proven, 1)  # early: the hold-off counts as well
        assert await bench.until(ctx, "up", 1) >= 3 * 32

    bench.run(run)
