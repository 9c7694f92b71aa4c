# amaranth: UnusedElaboratable=no
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrcnic.hdl.host.counters import CounterBank
from mrcnic.hdl.host.registers import COUNTERS
from mrcnic.sim.bench.streams import simulate


async def read_word(ctx, dut, word):
    ctx.set(dut.port.read_address, COUNTERS // 4 + word)
    ctx.set(dut.port.read, 1)
    await ctx.tick()
    ctx.set(dut.port.read, 0)
    await ctx.tick()
    return ctx.get(dut.port.read_data)


async def read_total(ctx, dut, n):
    low = await read_word(ctx, dut, 2 * n)
    return low | await read_word(ctx, dut, 2 * n + 1) << 32


async def pulse(ctx, dut, patterns):
    for pattern in patterns:
        ctx.set(dut.events, pattern)
        await ctx.tick()
    ctx.set(dut.events, 0)
    for _ in range(dut.delay):
        await ctx.tick()


@settings(max_examples=20)
@given(st.data())
def test_no_pulse_is_lost(data):
    count = data.draw(st.sampled_from([1, 2, 15, 16, 17, 40]))
    density = data.draw(st.sampled_from([0.02, 0.5, 1]))
    rng = random.Random(data.draw(st.integers(0, 2**32)))
    patterns = [
        sum((rng.random() < density) << n for n in range(count)) for _ in range(rng.randint(1, 200))
    ]
    dut = CounterBank(count=count)

    async def bench(ctx):
        await pulse(ctx, dut, patterns)
        for n in range(count):
            assert await read_total(ctx, dut, n) == sum(p >> n & 1 for p in patterns), n

    simulate(dut, bench)


def test_each_event_has_its_own_counter():
    """Event n happens n + 1 times, and nothing else does at the time (B116)."""
    count = 33
    dut = CounterBank(count=count)

    async def bench(ctx):
        expected = [0] * count
        for n in (0, 1, 15, 16, 31, 32):
            await pulse(ctx, dut, [1 << n] * (n + 1))
            expected[n] = n + 1
            assert [await read_total(ctx, dut, k) for k in range(count)] == expected

    simulate(dut, bench)


def test_words_of_a_total_fit_together():
    """A total passes 2**32 between the reads of its two words."""
    dut = CounterBank(count=3)

    async def bench(ctx):
        await pulse(ctx, dut, [0b010])
        total = dut._totals[1]
        while ctx.get(total) != 2**32 - 1:  # the walker may be writing just now
            ctx.set(total, 2**32 - 1)
            for _ in range(4):
                await ctx.tick()
        assert await read_word(ctx, dut, 2) == 0xFFFF_FFFF
        await pulse(ctx, dut, [0b010])
        assert await read_word(ctx, dut, 3) == 0
        assert await read_total(ctx, dut, 1) == 2**32

    simulate(dut, bench)


def test_totals_of_an_earlier_life_are_not_added_to():
    dut = CounterBank(count=5)

    async def bench(ctx):
        for n in range(5):
            ctx.set(dut._totals[n], 1000)
        assert await read_total(ctx, dut, 3) == 0
        await pulse(ctx, dut, [0b11111])
        assert [await read_total(ctx, dut, n) for n in range(5)] == [1] * 5

    simulate(dut, bench)


def test_other_addresses_read_zero():
    dut = CounterBank(count=5)

    async def bench(ctx):
        await pulse(ctx, dut, [0b11111] * 3)
        assert await read_word(ctx, dut, 8) == 3
        for word in (10, 11, 20, -1, -COUNTERS // 4, 2047):
            assert await read_word(ctx, dut, word) == 0

    simulate(dut, bench)


@pytest.mark.parametrize("count", [0, 1025])
def test_count_is_checked(count):
    with pytest.raises(ValueError, match=rf"^count must be from 1 to 1024, not {count}$"):
        CounterBank(count=count)
