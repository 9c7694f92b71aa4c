# amaranth: UnusedElaboratable=no
"""Ports go down at once and up after the hold-off."""

import random

import pytest
from amaranth.sim import Simulator

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.health.port_monitor import PortMonitor

CONFIG = NicConfig(lanes=2)
GOOD = {"aligned": 1, "fec_lock": 1}


class Bench:
    """A monitor; ``now`` ticks every 4 cycles, the heartbeat every 8 while the clock runs."""

    def __init__(self, *, hold_off=10, heartbeat=True, **parameters):
        self.dut = PortMonitor(CONFIG, port=1, **parameters)
        self.hold_off = hold_off
        self.clock_runs = heartbeat
        self.cycle = 0
        self.up = []  # by cycle
        self.counts = {"port_up": 0, "port_down": 0}

    def run(self, bench, max_cycles=20_000):
        sim = Simulator(self.dut)
        sim.add_clock(1e-6)
        done = []

        async def surroundings(ctx):
            dut = self.dut
            ctx.set(dut.settings.hold_off, self.hold_off)
            ctx.set(dut.settings.port[1].enable, 1)
            beat = 0
            while True:
                ctx.set(dut.now, self.cycle // 4 % (1 << 24))
                if self.clock_runs and self.cycle % 8 == 0:
                    beat ^= 1
                    ctx.set(dut.mac.heartbeat, beat)
                _, _, up, events = await ctx.tick().sample(dut.up, dut.events)
                self.up.append(up)
                for name in self.counts:
                    self.counts[name] += events[name]
                self.cycle += 1

        async def run(ctx):
            await bench(ctx)
            done.append(1)

        sim.add_testbench(surroundings, background=True)
        sim.add_testbench(run)
        for _ in range(2 * max_cycles):
            sim.advance()
            if done:
                return
        raise TimeoutError

    def set(self, ctx, **pins):
        for name, value in pins.items():
            ctx.set(self.dut.mac[name], value)

    async def come_up(self, ctx):
        self.set(ctx, **GOOD)
        cycles = 0
        while not ctx.get(self.dut.up):
            await ctx.tick()
            cycles += 1
            assert cycles < 1000
        return cycles


@pytest.mark.parametrize(
    ("pin", "bad"), [("aligned", 0), ("local_fault", 1), ("remote_fault", 1), ("hi_ber", 1)]
)
def test_down_3_cycles_after_the_first_bad_sign(pin, bad):
    bench = Bench()

    async def run(ctx):
        await bench.come_up(ctx)
        bench.set(ctx, **{pin: bad})
        for expected in (1, 1, 0):
            await ctx.tick()
            assert ctx.get(bench.dut.up) == expected
        # A sign of one cycle is enough.
        bench.set(ctx, **{pin: 1 - bad})
        await ctx.tick().repeat(60)
        assert ctx.get(bench.dut.up)
        bench.set(ctx, **{pin: bad})
        await ctx.tick()
        bench.set(ctx, **{pin: 1 - bad})
        await ctx.tick().repeat(2)
        assert not ctx.get(bench.dut.up)
        await ctx.tick()
        assert bench.counts == {"port_up": 2, "port_down": 2}

    bench.run(run)


def test_up_after_exactly_the_hold_off():
    for offset in range(4):
        bench = Bench(hold_off=10)

        async def run(ctx, bench=bench, offset=offset):
            await ctx.tick().repeat(8 + offset)
            cycles = await bench.come_up(ctx)
            assert 40 - 3 <= cycles - 4 <= 40 + 2, cycles

        bench.run(run)


def test_noise_on_an_open_input_never_comes_up():
    """B088: aligned for 3/4 of the time, but never for the hold-off."""
    bench = Bench(hold_off=20)

    async def run(ctx):
        seed = 1
        print(f"seed {seed}")
        rng = random.Random(seed)
        for _ in range(100):
            bench.set(ctx, aligned=1)
            await ctx.tick().repeat(rng.randint(20, 72))
            bench.set(ctx, aligned=0)
            await ctx.tick().repeat(rng.randint(1, 20))
        assert not any(bench.up)
        assert bench.counts == {"port_up": 0, "port_down": 0}
        assert 80 - 3 <= await bench.come_up(ctx) - 4 <= 80 + 2

    bench.run(run)


def test_every_outage_counts_once_and_the_level_is_live():
    """B086, B098: three outages of one cycle are three falls, and the port is up again."""
    bench = Bench(hold_off=2)

    async def run(ctx):
        await bench.come_up(ctx)
        for _ in range(3):
            bench.set(ctx, local_fault=1)
            await ctx.tick()
            bench.set(ctx, local_fault=0)
            await ctx.tick().repeat(30)
        assert ctx.get(bench.dut.up)
        assert ctx.get(bench.dut.link)
        assert bench.counts == {"port_up": 4, "port_down": 3}

    bench.run(run)


def test_enabling_again_is_an_event_even_if_the_link_never_changed():
    """B089."""
    bench = Bench()

    async def run(ctx):
        await bench.come_up(ctx)
        enable = bench.dut.settings.port[1].enable
        ctx.set(enable, 0)
        await ctx.tick()
        assert not ctx.get(bench.dut.up)
        assert ctx.get(bench.dut.link)
        await ctx.tick()
        ctx.set(enable, 1)
        await ctx.tick().repeat(60)
        assert ctx.get(bench.dut.up)
        assert bench.counts == {"port_up": 2, "port_down": 1}

    bench.run(run)


def test_a_receive_clock_that_stops_takes_the_port_down():
    """B091: all pins stay as they were."""
    bench = Bench()

    async def run(ctx):
        await bench.come_up(ctx)
        await ctx.tick().repeat(300)
        assert bench.counts["port_down"] == 0
        bench.clock_runs = False
        cycles = 0
        while ctx.get(bench.dut.up):
            await ctx.tick()
            cycles += 1
        assert cycles <= 64 - 8  # of which the sprayer takes 5
        assert not ctx.get(bench.dut.clock)
        assert ctx.get(bench.dut.link)
        bench.clock_runs = True
        await ctx.tick().repeat(80)
        assert ctx.get(bench.dut.up)

    bench.run(run)


@pytest.mark.parametrize("required", [False, True])
def test_a_board_without_heartbeat(required):
    bench = Bench(heartbeat=False, heartbeat_required=required)

    async def run(ctx):
        bench.set(ctx, **GOOD)
        await ctx.tick().repeat(300)
        assert ctx.get(bench.dut.up) == (not required)

    bench.run(run)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"port": 2}, r"^port must be from 0 to 1, not 2$"),
        ({"watchdog_cycles": 65}, r"^watchdog_cycles must be from 8 to 64, not 65$"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        PortMonitor(CONFIG, **parameters)
