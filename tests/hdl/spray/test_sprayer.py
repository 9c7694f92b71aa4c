"""The sprayer as a whole: who gets which path, when, and how fast."""

import random
from collections import Counter
from itertools import pairwise

import pytest
from spray_bench import SMALL, SprayBench, ev_value, ev_write, full_profile, qp_write, request

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import EvEventKind
from mrcnic.sim.bench.streams import drive

PEER = {
    "remote_qpn": 0x00A5F1,
    "destination": 0x20010DB8000B << 80 | 1,
    "carrier": 0xFCBBBBBB_0401_0800_0402_0C05_0000_0000,
    "plane_slots": 0b001111,
    "uplink_slots": 0b000010,
    "srv6": 1,
}


def test_one_qp_gets_a_path_every_3_cycles():
    bench = SprayBench()

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(SMALL), qp_write(1, **PEER))
        offered = bench.cycle + 1  # counted from 1
        await bench.send(ctx, 1, 20)
        for _ in range(6):
            await ctx.tick()
        cycles = [cycle for cycle, _ in bench.picked]
        assert {b - a for a, b in pairwise(cycles)} == {3}
        assert cycles[0] - offered == 6
        assert min(sent[0][0] for sent in bench.sent) - offered == 8

    bench.run(run)


def test_several_qps_get_a_path_in_every_cycle():
    """Three of them, with a lane each; every packet has its own QP's EV."""
    bench = SprayBench(SMALL.override(lanes=4))

    async def run(ctx):
        await bench.set_up(
            ctx, *full_profile(bench.config), *(qp_write(n, remote_qpn=n) for n in range(4))
        )
        requests = [request(bench.config, n % 3, psn=n) for n in range(60)]
        await drive(ctx, bench.dut.i, requests)
        await bench.settle(ctx, 60)
        cycles = [cycle for cycle, _ in bench.picked]
        assert cycles[-1] - cycles[0] == 59
        assert [p.psn for _, p in bench.picked] == list(range(60))
        await ctx.tick().repeat(8)
        for lane in bench.sent:
            assert all(s.dqp == s.psn % 3 for _, s in lane)

    bench.run(run)


def test_every_good_ev_once_in_a_rotation_and_each_rotation_in_another_order():
    bench = SprayBench()

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(SMALL), qp_write(0, **PEER))
        orders = [[p.ev_index for p in await bench.send(ctx, 0, SMALL.evs)] for _ in range(4)]
        for order in orders:
            assert sorted(order) == list(range(SMALL.evs))
        assert len(set(map(tuple, orders))) == 4

    bench.run(run)


def test_each_packet_has_the_ev_the_peer_and_the_carrier_of_its_own_qp():
    """Several packets in flight never share a row (B004)."""
    bench = SprayBench()
    peers = [
        PEER | {"remote_qpn": 0x12 + qp, "destination": qp + 7, "carrier": qp << 96}
        for qp in range(4)
    ]

    async def run(ctx):
        writes = [ev_write(SMALL, 1, 5), ev_write(SMALL, 1, 13)]
        writes += [qp_write(qp, profile=1, **peer) for qp, peer in enumerate(peers)]
        await bench.set_up(ctx, *writes)
        await bench.send(ctx, 2, 4)
        for qp in range(4):
            await bench.send(ctx, qp, role=qp)
        for _ in range(8):
            await ctx.tick()
        sent = sorted((s for lane in bench.sent for s in lane), key=lambda entry: entry[0])
        assert [s.dqp for _, s in sent] == [0x14] * 4 + [0x12, 0x13, 0x14, 0x15]
        for lane, ev_index in ((0, 5), (1, 13)):
            for _, s in bench.sent[lane]:
                qp = s.dqp - 0x12
                ev = ev_value(SMALL, ev_index)
                assert s.ev == ev
                assert s.destination == qp + 7
                slots = sum(lane << 92 - 16 * n for n in range(4)) | (ev >> 4 & 0xFF) << 64
                assert s.carrier == qp << 96 | slots
        assert [s.role for _, s in sent[4:]] == [0, 1, 2, 3]

    bench.run(run)


def test_ev_zero_is_an_ordinary_ev():
    """No value stands for "none" (B014)."""
    bench = SprayBench()

    async def run(ctx):
        await bench.set_up(ctx, ev_write(SMALL, 0, 0, ev=0), qp_write(0, **PEER))
        picks = await bench.send(ctx, 0, 3)
        assert [(p.plane, p.ev_index) for p in picks] == [(0, 0)] * 3
        await bench.tell(ctx, 0, 0, EvEventKind.SKIP, echoed=1, ev=0)
        assert bench.events["ev_event_stale"] == 0
        assert [s.ev for _, s in bench.sent[0]] == [0] * 3
        assert bench.events["tx_no_ev"] == 0

    bench.run(run)


def test_planes_get_equal_shares():
    """To the packet, so within 1 % over 1,024; every EV once in a rotation (B076)."""
    config = NicConfig(lanes=8, evs=32, qps=4, profiles=2, slots=16, window=128, beat_octets=8)
    bench = SprayBench(config)

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(config), qp_write(3, **PEER))
        picks = await bench.send(ctx, 3, 260)
        first = Counter(p.ev_index for p in picks[:32])
        assert first == Counter(range(32))
        for start in range(5):  # in any 256 packets
            shares = Counter(p.plane for p in picks[start : start + 256])
            assert shares == dict.fromkeys(range(8), 32)

    bench.run(run)


def test_shares_stay_equal_when_lanes_pause():
    bench = SprayBench(SMALL.override(lanes=4))
    seed = 7
    print(f"seed {seed}")

    def lane(n):
        rng = random.Random(seed + n)

        async def run(ctx):
            o = bench.dut.o[n]
            while True:
                ctx.set(o.ready, 1)
                valid = 0
                while not valid:  # `until` would be left waiting when the bench is over
                    _, _, valid = await ctx.tick().sample(o.valid)
                ctx.set(o.ready, 0)
                for _ in range(rng.randint(0, 12)):
                    await ctx.tick()

        return run

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(bench.config), qp_write(0, **PEER))
        await bench.send(ctx, 0, 256)
        shares = Counter(p.plane for _, p in bench.picked)
        assert all(abs(shares[p] - 64) <= 2 for p in range(4)), shares

    bench.run(run, background=[lane(n) for n in range(4)])


def test_a_port_that_went_down_is_picked_no_more():
    """The last pick comes at most 5 cycles after; back up, it makes up for 7 packets at most."""
    bench = SprayBench()
    config = bench.config

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(config), qp_write(0, **PEER))
        await bench.send(ctx, 0, 8)
        for delay in range(6):
            ctx.set(bench.dut.port_up, 0b11)
            await bench.send(ctx, 0, 20)
            stream = bench.dut.i
            ctx.set(stream.payload, request(config, 0))
            ctx.set(stream.valid, 1)
            for _ in range(6 + delay):
                await ctx.tick()
            ctx.set(bench.dut.port_up, 0b01)
            down = bench.cycle
            for _ in range(100):
                await ctx.tick()
            ctx.set(stream.valid, 0)
            for _ in range(10):
                await ctx.tick()
            late = [cycle - down for cycle, p in bench.picked if p.plane == 1 and cycle > down]
            assert all(age <= 5 for age in late), late
        ctx.set(bench.dut.port_up, 0b11)
        shares = Counter(p.plane for p in await bench.send(ctx, 0, 27))
        assert shares == {0: 10, 1: 17}

    bench.run(run)


def test_no_pick_without_room():
    """A packet waits for a lane; one lane's waiting holds up nobody who can take another."""
    bench = SprayBench()

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(SMALL), qp_write(0, **PEER), ready=0)
        await drive(ctx, bench.dut.i, [request(SMALL, 0)])
        for _ in range(50):
            await ctx.tick()
        assert bench.picked == []
        assert [ctx.get(o.valid) for o in bench.dut.o] == [0, 0]
        ctx.set(bench.dut.o[1].ready, 1)
        picks = await bench.settle(ctx, 1)
        picks = [*picks, *await bench.send(ctx, 0, 7)]
        assert [p.plane for p in picks] == [1] * 8
        ctx.set(bench.dut.o[1].ready, 0)
        ctx.set(bench.dut.o[0].ready, 1)
        assert {p.plane for p in await bench.send(ctx, 0, 3)} == {0}

    bench.run(run)


def test_a_lane_that_stops_holds_its_descriptors_and_at_most_4():
    """What waits does not change, even if the table does (B137)."""
    bench = SprayBench(SMALL.override(lanes=1))
    config = bench.config

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(config), qp_write(0, **PEER))
        await drive(ctx, bench.dut.i, [request(config, 0, psn=n) for n in range(2)])
        await ctx.tick().until(bench.dut.o[0].valid)
        ctx.set(bench.dut.o[0].ready, 0)
        sent = bench.sent[0]
        offered = ctx.get(bench.dut.o[0].payload).as_bits()
        await drive(ctx, bench.dut.table, [ev_write(config, 0, n, ev=n) for n in range(4)])
        await drive(ctx, bench.dut.table, [qp_write(0, remote_qpn=9)])
        valid = []
        for _ in range(20):
            await ctx.tick()
            valid.append(ctx.get(bench.dut.o[0].valid))
        assert all(valid)
        assert len(sent) == 1
        assert ctx.get(bench.dut.o[0].payload).dqp == PEER["remote_qpn"]
        assert offered

    bench.run(run)


def test_qps_that_share_a_profile_do_not_touch_each_other():
    """One is stopped, started anew, or hears bad news: the other goes on (B022)."""
    bench = SprayBench()

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(SMALL), qp_write(2, **PEER), qp_write(3, **PEER))
        await bench.send(ctx, 3, 5)
        for ev_index in range(3):
            await bench.tell(ctx, 2, ev_index)
        await drive(ctx, bench.dut.table, [qp_write(2, active=0), qp_write(2, **PEER)])
        order = [p.ev_index for _, p in bench.picked[-5:]]
        order += [p.ev_index for p in await bench.send(ctx, 3, 11)]
        assert sorted(order) == list(range(16))
        assert sorted(p.ev_index for p in await bench.send(ctx, 2, 16)) == list(range(16))

    bench.run(run)


def test_news_with_another_value_or_of_nobody_is_stale():
    bench = SprayBench(
        NicConfig(lanes=3, evs=15, qps=4, profiles=2, slots=16, window=128, beat_octets=8)
    )
    config = bench.config

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(config), qp_write(0, **PEER))
        await bench.tell(ctx, 0, 3, echoed=1, ev=ev_value(config, 3) ^ 1)
        await bench.tell(ctx, 0, 15)
        assert bench.events["ev_event_stale"] == 2
        assert bench.events["ev_retired"] == 0
        await bench.tell(ctx, 0, 14, echoed=1, ev=ev_value(config, 14))
        await bench.tell(ctx, 0, 14, echoed=0)
        assert bench.events["ev_event_stale"] == 2
        assert bench.events["ev_retired"] == 1
        picks = await bench.send(ctx, 0, 45)
        assert 14 not in {p.ev_index for p in picks}
        assert Counter(p.plane for p in picks) == {0: 15, 1: 15, 2: 15}

    bench.run(run)


def test_a_bad_ev_is_replaced_in_its_plane():
    bench = SprayBench()

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(SMALL, active=4), qp_write(0, **PEER))
        active = {0, 1, 2, 3, 8, 9, 10, 11}
        assert {p.ev_index for p in await bench.send(ctx, 0, 8)} == active
        await bench.tell(ctx, 0, 9)
        picks = await bench.send(ctx, 0, 16)
        assert Counter(p.plane for p in picks) == {0: 8, 1: 8}
        used = {p.ev_index for p in picks}
        assert used - active <= {12, 13, 14, 15}
        assert len(used - active) == 1
        assert active - used == {9}

    bench.run(run)


def test_a_marked_ev_loses_one_turn():
    bench = SprayBench(SMALL.override(lanes=1))

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(bench.config), qp_write(0, **PEER))
        await bench.send(ctx, 0, 16)
        await bench.tell(ctx, 0, 5, EvEventKind.SKIP)
        rotation = [p.ev_index for p in await bench.send(ctx, 0, 15)]
        assert sorted(rotation) == [n for n in range(16) if n != 5]
        rotation = [p.ev_index for p in await bench.send(ctx, 0, 16)]
        assert sorted(rotation) == list(range(16))
        assert bench.events["ev_retired"] == 0

    bench.run(run)


def test_a_resend_takes_another_ev_and_a_probe_another_plane():
    bench = SprayBench()

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(SMALL), qp_write(0, **PEER))
        for ev_index in range(16):
            picks = await bench.send(ctx, 0, 3, avoid=1, avoid_ev=ev_index)
            assert ev_index not in {p.ev_index for p in picks}
            (probe,) = await bench.send(ctx, 0, avoid=1, avoid_ev=ev_index, avoid_plane=1)
            assert probe.plane == 1 - ev_index // 8
        # Only one EV is left in plane 0: then the other plane, even if it has been served more.
        for ev_index in range(1, 8):
            await bench.tell(ctx, 0, ev_index)
        picks = await bench.send(ctx, 0, 12, avoid=1, avoid_ev=0)
        assert {p.plane for p in picks} == {1}
        # Nothing else is left at all.
        for ev_index in range(8, 16):
            await bench.tell(ctx, 0, ev_index)
        picks = await bench.send(ctx, 0, 4, avoid=1, avoid_ev=0, avoid_plane=1)
        assert {p.ev_index for p in picks} == {0}

    bench.run(run)


def test_floor_something_bad_is_tried_when_all_is_bad():
    bench = SprayBench()

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(SMALL), qp_write(0, **PEER))
        for ev_index in range(15):
            await bench.tell(ctx, 0, ev_index)
        assert {p.ev_index for p in await bench.send(ctx, 0, 8)} == {15}
        await bench.tell(ctx, 0, 15)
        await bench.send(ctx, 0, 16)  # makes up for those that plane 1 alone has taken
        picks = await bench.send(ctx, 0, 64)
        assert len({p.ev_index for p in picks}) > 8
        assert Counter(p.plane for p in picks) == {0: 32, 1: 32}
        ctx.set(bench.dut.port_up, 0b10)
        assert {p.plane for p in await bench.send(ctx, 0, 8, avoid=1, avoid_ev=8)} == {1}
        assert bench.events["tx_no_ev"] == 0
        assert bench.events["ev_retired"] == 16

    bench.run(run)


def test_a_qp_without_evs_holds_nobody_up():
    bench = SprayBench()

    async def run(ctx):
        await bench.set_up(ctx, ev_write(SMALL, 0, 3), qp_write(0, **PEER))
        ctx.set(bench.dut.port_up, 0b10)  # where this profile has none
        (pick,) = await bench.send(ctx, 0)
        assert (pick.plane, pick.ev_index) == (1, 8)
        await ctx.tick()
        assert bench.events["tx_no_ev"] == 1
        ctx.set(bench.dut.port_up, 0b01)
        (pick,) = await bench.send(ctx, 0)
        assert (pick.plane, pick.ev_index) == (0, 3)

    bench.run(run)


def test_nobody_waits_for_a_port_while_all_are_down():
    """Lanes drop what they get then; so a stopped QP's packets are gone some time."""
    bench = SprayBench()

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(SMALL), qp_write(0, **PEER), port_up=0)
        picks = await bench.send(ctx, 0, 8)
        assert Counter(p.plane for p in picks) == {0: 4, 1: 4}
        ctx.set(bench.dut.port_up, 0b01)
        assert {p.plane for p in await bench.send(ctx, 0, 4)} == {0}

    bench.run(run)


@pytest.mark.parametrize("kind", list(EvEventKind))
def test_news_are_taken_beside_a_full_load(kind):
    """At least 1 in 4 cycles (bad news 1 in 6), and packets never wait longer than 5 slots."""
    bench = SprayBench()
    count = 64

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(SMALL), qp_write(0, **PEER), qp_write(1, **PEER))
        ctx.set(bench.dut.i.payload, request(SMALL, 0))
        ctx.set(bench.dut.i.valid, 1)
        await bench.settle(ctx, 4)
        began = bench.cycle
        shape = bench.dut.ev_events.payload.shape()
        news = [shape.const({"qp": n % 2, "kind": kind, "ev_index": n % 16}) for n in range(count)]
        await drive(ctx, bench.dut.ev_events, news)
        took = bench.cycle - began
        assert took <= (count - 16) * (4 if kind == EvEventKind.SKIP else 6) + 16, took
        picks = [cycle for cycle, _ in bench.picked if began < cycle]
        assert max(b - a for a, b in pairwise(picks)) <= 15

    bench.run(run)


@pytest.mark.parametrize("offset", range(4))
def test_the_last_good_ev_of_a_plane_is_never_picked_after_it_was_lost(offset):
    """Not even by the packet that is next in line: the other plane has one."""
    bench = SprayBench(SMALL.override(evs=2))

    async def run(ctx):
        await bench.set_up(ctx, *full_profile(bench.config), qp_write(0, **PEER))
        ctx.set(bench.dut.i.payload, request(bench.config, 0))
        ctx.set(bench.dut.i.valid, 1)
        await ctx.tick().repeat(20 + offset)
        await bench.tell(ctx, 0, 0, settle=1)
        await ctx.tick().until(bench.dut.events.ev_retired)
        retired = bench.cycle
        await ctx.tick().repeat(40)
        assert {p.ev_index for cycle, p in bench.picked if cycle >= retired} == {1}

    bench.run(run)
