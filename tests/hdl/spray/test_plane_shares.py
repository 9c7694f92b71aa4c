"""Shares of planes over many packets."""

import random
from itertools import accumulate

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.spray.plane_picker import PlanePicker
from mrcnic.sim.bench.streams import simulate

LANES = 8
CONFIG = NicConfig(lanes=LANES, evs=32, qps=4, profiles=2, slots=16, window=128, beat_octets=8)

#: Packets over which shares are compared, and by how much of one they may differ.
PACKETS, TOLERANCE = 1024, 0.01


def test_shares_are_equal_within_one_percent_over_any_1024_packets(seed):
    """Of three QPs in turn, each with a plane to be avoided now and then (a resend)."""
    rng = random.Random(seed)
    dut = PlanePicker(CONFIG)
    taken = [[] for _ in range(3)]
    cycles = 3 * (PACKETS + 200)

    async def bench(ctx):
        for flags in dut.flags:
            ctx.set(flags, {"some": 1, "several": 1, "bad": 0})
        ctx.set(dut.port_up, -1)
        ctx.set(dut.room, -1)
        for qp in range(CONFIG.qps):  # as when a QP starts
            ctx.set(dut.qp, qp)
            await ctx.tick().repeat(3)
            ctx.set(dut.clears, 1)
            await ctx.tick()
            ctx.set(dut.clears, 0)
        ctx.set(dut.remote_mask.valid, 1)
        ctx.set(dut.remote_mask.payload, {"peer": 0, "mask": -1})
        await ctx.tick()
        ctx.set(dut.remote_mask.valid, 0)
        for cycle in range(cycles):
            ctx.set(dut.qp, cycle % 3)
            ctx.set(dut.avoid, rng.random() < 0.05)
            ctx.set(dut.avoided, rng.randrange(LANES))
            ctx.set(dut.avoid_plane, 1)
            ctx.set(dut.takes, cycle >= 3)
            if cycle >= 3:
                assert ctx.get(dut.found)
                taken[cycle % 3].append(ctx.get(dut.plane).bit_length() - 1)
            await ctx.tick()

    simulate(dut, bench, max_cycles=cycles + 100)
    for planes in taken:
        for plane in range(LANES):
            sums = [0, *accumulate(p == plane for p in planes)]
            for first in range(len(planes) - PACKETS + 1):
                share = sums[first + PACKETS] - sums[first]
                assert abs(share - PACKETS / LANES) <= TOLERANCE * PACKETS
