"""Remote NICs are found by their address, in bounded time."""

import pytest
from peer_rows import ADDRESSES, peer_fields

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.health.peer_finder import PeerFinder
from mrcnic.sim.bench.streams import simulate

CONFIG = NicConfig(lanes=2, peers=8)
OWN, OWN_IPV4 = 0xFD00 << 112 | 1, 0x0A000001


async def set_up(ctx, dut, rows):
    ctx.set(dut.settings, {"loopback": OWN, "loopback_ipv4": OWN_IPV4})
    for _ in range(CONFIG.peers + 1):
        await ctx.tick()
    for peer, fields in rows.items():
        ctx.set(dut.write, {"valid": 1, "peer": peer, "row": peer_fields(peer, **fields)})
        await ctx.tick()
    ctx.set(dut.write.valid, 0)


async def find(ctx, dut, source):
    ctx.set(dut.i.payload, {"source": source, "identifier": 7, "lane": 1})
    ctx.set(dut.i.valid, 1)
    await ctx.tick().until(dut.i.ready)
    ctx.set(dut.i.valid, 0)
    cycles = 1
    while not ctx.get(dut.o.valid):
        await ctx.tick()
        cycles += 1
    found = ctx.get(dut.o.payload)
    assert (found.endpoint.source, found.endpoint.identifier, found.endpoint.lane) == (source, 7, 1)
    ctx.set(dut.o.ready, 1)
    await ctx.tick()
    ctx.set(dut.o.ready, 0)
    return ("own" if found.own else found.peer if found.known else None), cycles


def run(rows, bench):
    dut = PeerFinder(CONFIG)

    async def whole(ctx):
        await set_up(ctx, dut, rows)
        await bench(ctx, dut)

    simulate(dut, whole)


def test_each_row_is_found_in_its_time():
    async def bench(ctx, dut):
        for peer in range(8):
            assert await find(ctx, dut, ADDRESSES[peer]) == (peer, peer + 4)

    run({peer: {} for peer in range(8)}, bench)


@pytest.mark.parametrize("source", [OWN, OWN_IPV4])
def test_the_nic_itself_is_known_at_once(source):
    async def bench(ctx, dut):
        assert await find(ctx, dut, source) == ("own", 4)

    run({0: {"address": source}}, bench)


def test_strangers_are_found_out_after_one_walk():
    async def bench(ctx, dut):
        for source in (ADDRESSES[3], ADDRESSES[2] ^ 1 << 127, ADDRESSES[2] ^ 1, 0):
            found, cycles = await find(ctx, dut, source)
            assert found is None
            assert cycles == CONFIG.peers + 3

    run({0: {}, 2: {}, 3: {"valid": 0}}, bench)


def test_of_two_rows_with_one_address_the_first_counts_and_rows_can_change():
    async def bench(ctx, dut):
        assert (await find(ctx, dut, ADDRESSES[5]))[0] == 1
        ctx.set(dut.write, {"valid": 1, "peer": 1, "row": peer_fields(1)})
        await ctx.tick()
        ctx.set(dut.write.valid, 0)
        assert (await find(ctx, dut, ADDRESSES[5]))[0] == 5
        assert (await find(ctx, dut, ADDRESSES[1]))[0] == 1

    run({1: {"address": ADDRESSES[5]}, 5: {}}, bench)
