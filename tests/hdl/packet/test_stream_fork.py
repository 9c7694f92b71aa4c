# amaranth: UnusedElaboratable=no

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrcnic.hdl.packet.stream_fork import StreamFork
from mrcnic.sim.bench.streams import collect, drive, simulate

pauses = st.lists(st.integers(0, 3), max_size=20)


@settings(max_examples=30)
@given(pauses, st.lists(pauses, min_size=3, max_size=3))
def test_everybody_gets_everything_once(i_pauses, o_pauses):
    dut = StreamFork(8, outputs=3)
    numbers = list(range(20))

    def consumer(output, wait):
        async def bench(ctx):
            assert await collect(ctx, output, len(numbers), pauses=wait) == numbers
            await ctx.tick().repeat(3)
            assert not ctx.get(output.valid)

        return bench

    async def producer(ctx):
        await drive(ctx, dut.i, numbers, pauses=i_pauses)

    benches = [consumer(output, wait) for output, wait in zip(dut.o, o_pauses, strict=True)]
    simulate(dut, producer, *benches, max_cycles=300)


def test_full_rate():
    dut = StreamFork(8, outputs=2)

    async def producer(ctx):
        await drive(ctx, dut.i, range(100))

    async def consumer(ctx):
        assert await collect(ctx, dut.o[0], 100) == list(range(100))

    async def other(ctx):
        assert await collect(ctx, dut.o[1], 100) == list(range(100))

    simulate(dut, producer, consumer, other, max_cycles=101)


def test_no_output():
    with pytest.raises(ValueError, match=r"^outputs must be at least 1, not 0$"):
        StreamFork(8, outputs=0)
