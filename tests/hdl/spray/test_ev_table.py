"""EV table: values and masks."""

import random

import pytest
from spray_bench import ev_write

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.rows import EV_ROW
from mrcnic.hdl.spray.ev_table import EvTable, EvWrite
from mrcnic.hdl.wire.layout import HeaderLayout
from mrcnic.sim.bench.streams import drive, simulate


@pytest.mark.parametrize(("lanes", "evs"), [(1, 16), (2, 8), (3, 15), (1, 1), (8, 8)])
def test_every_row_is_read_from_its_own_index(lanes, evs):
    """Values and masks, of all profiles and planes, against a dictionary (B007)."""
    seed = 5
    print(f"seed {seed}")
    rng = random.Random(seed)
    config = NicConfig(lanes=lanes, evs=evs, qps=2, profiles=4, slots=16, window=128, beat_octets=8)
    per_plane = config.evs_per_plane
    layout = HeaderLayout(EV_ROW)
    expected = {}
    writes = []
    for _ in range(6 * evs):
        index = rng.randrange(4 * evs)
        valid, active, ev = rng.getrandbits(1), rng.getrandbits(1), rng.getrandbits(32)
        expected[index] = valid, active, ev
        row = layout.const({"valid": valid, "active": active, "ev": ev})
        writes.append(EvWrite().const({"index": index, "row": row}))
    beyond = layout.const({"valid": 1, "active": 1, "ev": 7})
    writes.append(EvWrite().const({"index": 4 * evs, "row": beyond}))
    writes.append(EvWrite().const({"index": 0xFFFF, "row": beyond}))
    dut = EvTable(config)

    async def bench(ctx):
        await drive(ctx, dut.write, writes)
        for _ in range(8):
            await ctx.tick()
        for index, (_, _, ev) in expected.items():
            for port in range(2):
                ctx.set(dut.profile[port], index // evs)
                ctx.set(dut.ev_index[port], index % evs)
            await ctx.tick()
            assert [ctx.get(dut.ev[port]) for port in range(2)] == [ev, ev]
        for place in range(4 * lanes):
            profile, plane = divmod(place, lanes)
            ctx.set(dut.row_profile, profile)
            await ctx.tick().repeat(2)
            row = ctx.get(dut.row[plane])
            rows = [expected.get(profile * evs + plane * per_plane + n) for n in range(per_plane)]
            valid = [bool(r and r[0]) for r in rows]
            active = [bool(r and r[0] and r[1]) for r in rows]
            assert row.valid == sum(1 << n for n in range(per_plane) if valid[n])
            assert row.active == sum(1 << n for n in range(per_plane) if active[n])
            assert (row.count, row.places) == (sum(valid), sum(active))

    simulate(dut, bench)


def test_a_write_takes_4_cycles():
    config = NicConfig(lanes=1, evs=16, qps=2, profiles=4, slots=16, window=128, beat_octets=8)
    dut = EvTable(config)
    row = ev_write(config, 0, 0).row & (1 << EV_ROW.octets * 8) - 1
    write = EvWrite().const({
        "index": 5,
        "row": HeaderLayout(EV_ROW).from_bits(row),
    })

    async def bench(ctx):
        await drive(ctx, dut.write, [write])  # once the masks have been cleared
        busy = 0
        while not ctx.get(dut.write.ready):
            busy += 1
            await ctx.tick()
        assert busy == 3

    simulate(dut, bench)
