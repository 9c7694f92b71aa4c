# amaranth: UnusedElaboratable=no

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrcnic.hdl.packet.stream_relay import StreamRelay
from mrcnic.sim.bench.streams import collect, drive, simulate

pauses = st.lists(st.integers(0, 3), max_size=20)


@settings(max_examples=30)
@given(pauses, st.lists(pauses, min_size=3, max_size=3))
def test_everybody_gets_everything_once_and_in_turn(i_pauses, o_pauses):
    dut = StreamRelay(8, outputs=3)
    numbers = list(range(10))
    order = []

    def consumer(n):
        async def bench(ctx):
            for number in numbers:
                assert await collect(ctx, dut.o[n], 1, pauses=o_pauses[n][number:]) == [number]
                order.append((number, n))

        return bench

    async def producer(ctx):
        await drive(ctx, dut.i, numbers, pauses=i_pauses)

    simulate(dut, producer, *map(consumer, range(3)), max_cycles=300)
    assert order == sorted(order)
    assert len(order) == 3 * len(numbers)


def test_a_cycle_for_each_output():
    dut = StreamRelay(8, outputs=2)

    async def producer(ctx):
        await drive(ctx, dut.i, range(100))

    async def consumer(ctx):
        assert await collect(ctx, dut.o[0], 100) == list(range(100))

    async def other(ctx):
        assert await collect(ctx, dut.o[1], 100) == list(range(100))

    simulate(dut, producer, consumer, other, max_cycles=201)


def test_no_output():
    with pytest.raises(ValueError, match=r"^outputs must be at least 1, not 0$"):
        StreamRelay(8, outputs=0)
