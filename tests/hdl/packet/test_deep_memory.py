# amaranth: UnusedElaboratable=no

import pytest
from amaranth.back import verilog

from mrcnic.hdl.packet.deep_memory import DEEP_ROWS, DeepMemory, with_deep_memory
from mrcnic.sim.bench.streams import simulate


@pytest.mark.parametrize("depth", [2, 5000])
def test_every_reader_sees_what_was_written(depth):
    dut = DeepMemory(8, depth=depth, readers=2)

    async def bench(ctx):
        for row in (0, depth - 1):
            ctx.set(dut.write, {"valid": 1, "row": row, "data": row % 251})
            await ctx.tick()
        ctx.set(dut.write, {"valid": 0, "row": 0, "data": 99})
        ctx.set(dut.row[1], depth - 1)
        await ctx.tick()
        assert [ctx.get(data) for data in dut.data] == [0, (depth - 1) % 251]
        ctx.set(dut.enable[1], 0)
        ctx.set(dut.row[1], 0)
        await ctx.tick()
        assert ctx.get(dut.data[1]) == (depth - 1) % 251, "held without enable"

    simulate(dut, bench)


def test_generated_verilog_has_no_contents():
    deep = verilog.convert(
        DeepMemory(8, depth=DEEP_ROWS + 1, readers=3), platform="generate", emit_src=False
    )
    assert deep.count("mrcnic_deep_memory #(") == 3
    assert "module mrcnic_deep_memory" in with_deep_memory(deep)
    shallow = verilog.convert(DeepMemory(8, depth=DEEP_ROWS), platform="generate", emit_src=False)
    assert with_deep_memory(shallow) == shallow


@pytest.mark.parametrize(
    ("sizes", "message"),
    [({"depth": 1}, "depth must be at least 2"), ({"depth": 9, "readers": 0}, "readers must be")],
)
def test_bad_sizes(sizes, message):
    with pytest.raises(ValueError, match=message):
        DeepMemory(8, **sizes)
