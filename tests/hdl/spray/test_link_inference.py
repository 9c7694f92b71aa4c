"""EVs of dead links: how many are burnt, and how soon they are out of the way."""

import random

import pytest
from spray_bench import SprayBench, ev_value, ev_write, qp_write, request

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import LINKS, EvEvent, EvEventKind
from mrcnic.hdl.wire.srv6 import CARRIER
from mrcnic.sim.bench.streams import drive

UPLINKS = 4
CONFIG = NicConfig(
    lanes=2, evs=32, qps=4, profiles=2, slots=16, window=128, beat_octets=8, uplinks=8
)
#: Packets that are under way when the first loss is noticed.
UNDER_WAY = 24
BURST = 8


def path(*, site, uplink_slots=0b10):
    usids = {"usid_0": 0x0401, "usid_1": 0x0800, "usid_2": 0x0400 | site, "usid_3": 0x0C01}
    return {
        "srv6": 1,
        "carrier": int.from_bytes(CARRIER.pack(block=0xFCBBBBBB, **usids)),
        "plane_slots": 0b1111,
        "uplink_slots": uplink_slots,
    }


def uplink_of(ev_index):
    return ev_index % UPLINKS


def rows(*, sites):
    """A profile over four uplinks, and a QP towards each site."""
    evs = [
        ev_write(CONFIG, 0, n, ev=ev_value(CONFIG, n, uplink=uplink_of(n)))
        for n in range(CONFIG.evs)
    ]
    return evs + [qp_write(qp, peer=qp, **path(site=site)) for qp, site in enumerate(sites)]


class Fabric(SprayBench):
    """A sprayer whose packets are lost on some links, and that hears of it later."""

    def __init__(self, *, dead, sites, inference=1):
        super().__init__(CONFIG)
        self.dead, self.sites, self.inference = dead, sites, inference
        self.watched = []
        self.told = 0

    def works(self, picked):
        plane, uplink = picked.plane, uplink_of(picked.ev_index)
        site = self.sites[picked.qp]
        return not {(plane, uplink, None), (plane, uplink, site)} & self.dead

    async def begin(self, ctx):
        ctx.set(self.dut.settings.link_inference, self.inference)
        ctx.set(self.dut.settings.link_threshold, 3)
        ctx.set(self.dut.settings.link_window, 100_000)
        ctx.set(self.dut.link_watch.ready, 1)
        await self.set_up(ctx, *rows(sites=self.sites))

    async def traffic(self, ctx, count, *, seed=1):
        """Send packets of all QPs; tell of losses when some others have been sent since."""
        rng = random.Random(seed)
        for _ in range(count // BURST):
            before = len(self.picked)
            qps = [rng.randrange(len(self.sites)) for _ in range(BURST)]
            await drive(ctx, self.dut.i, [request(CONFIG, qp) for qp in qps])
            await self.settle(ctx, before + BURST)
            await self.tell_losses(ctx, len(self.picked) - UNDER_WAY)

    async def tell_losses(self, ctx, until):
        for _, picked in self.picked[self.told : max(self.told, until)]:
            if not self.works(picked):
                event = {"qp": picked.qp, "kind": EvEventKind.BAD, "ev_index": picked.ev_index}
                await drive(ctx, self.dut.ev_events, [EvEvent(CONFIG).const(event)])
        self.told = max(self.told, until)

    async def end(self, ctx):
        await self.tell_losses(ctx, len(self.picked))
        for _ in range(60):
            await ctx.tick()

    def lost(self, since=0):
        return sum(not self.works(picked) for _, picked in self.picked[since:])


def run(fabric, count=200, then=None):
    async def bench(ctx):
        await fabric.begin(ctx)
        await fabric.traffic(ctx, count)
        await fabric.end(ctx)
        if then:
            await then(ctx)

    fabric.run(bench)
    return fabric


def test_a_dead_down_link_burns_two_evs_and_no_more():
    fabric = run(Fabric(dead={(0, 2, 7)}, sites=[7, 9]))
    assert fabric.events["link_masked"] == 1
    assert fabric.events["ev_retired"] == 2
    assert not fabric.lost(since=150)
    assert fabric.events["link_loss_absorbed"] >= 1


def test_switched_off_every_ev_of_the_link_is_burnt():
    fabric = run(Fabric(dead={(0, 2, 7)}, sites=[7], inference=0), count=260)
    assert fabric.events["ev_retired"] == CONFIG.evs_per_plane // UPLINKS
    assert not any(n for name, n in fabric.events.items() if name.startswith("link"))


def test_an_up_link_that_all_share_burns_three_evs_of_the_nic_at_most():
    fabric = run(Fabric(dead={(1, 3, None)}, sites=[7, 8, 9, 10]))
    assert 1 <= fabric.events["link_masked"] <= 2  # a down-link may have come first
    assert fabric.events["ev_retired"] <= 3
    assert not fabric.lost(since=150)


def test_a_link_that_is_cleared_is_used_again():
    fabric = Fabric(dead={(0, 2, None)}, sites=[7, 8])

    async def then(ctx):
        dut = fabric.dut
        fabric.dead = set()
        await drive(ctx, dut.link_cleared, range(LINKS))
        for _ in range(80):
            await ctx.tick()
        before = len(fabric.picked)
        await fabric.traffic(ctx, 64)
        uplinks = {(p.plane, uplink_of(p.ev_index)) for _, p in fabric.picked[before:]}
        assert uplinks == {(plane, uplink) for plane in range(2) for uplink in range(UPLINKS)}

    run(fabric, then=then)
    assert fabric.events["link_cleared"] == fabric.events["link_masked"]


def test_a_plane_without_any_other_link_is_left_alone():
    dead = {(0, uplink, 7) for uplink in range(UPLINKS)}
    fabric = run(Fabric(dead=dead, sites=[7, 9]))
    assert fabric.events["link_masked"] == UPLINKS
    assert fabric.events["ev_retired"] <= 2 * UPLINKS
    assert not fabric.lost(since=150)
    others = [p for _, p in fabric.picked[100:] if p.qp == 1]
    planes = [sum(p.plane == plane for p in others) for plane in range(2)]
    assert abs(planes[0] - planes[1]) <= 2  # towards anyone else it is used as ever


def test_if_all_links_are_masked_packets_go_on():
    dead = {(plane, uplink, 7) for plane in range(2) for uplink in range(UPLINKS)}
    fabric = run(Fabric(dead=dead, sites=[7]))
    assert fabric.events["link_masked"] == 2 * UPLINKS
    assert fabric.events["ev_retired"] <= 4 * UPLINKS
    assert len(fabric.picked) == 200
    assert not fabric.events["tx_no_ev"]


def test_masks_are_in_force_within_two_microseconds():
    fabric = Fabric(dead={(0, 1, 7)}, sites=[7] * CONFIG.qps)

    async def bench(ctx):
        await fabric.begin(ctx)
        for ev_index in (1, 5, 9):
            event = {"qp": 0, "kind": EvEventKind.BAD, "ev_index": ev_index}
            await drive(ctx, fabric.dut.ev_events, [EvEvent(CONFIG).const(event)])
        told = fabric.cycle
        for _ in range(CONFIG.qps + 24):
            await ctx.tick()
        assert fabric.cycle - told < 60
        for qp in range(CONFIG.qps):
            await fabric.send(ctx, qp, 32)
        assert not fabric.lost()

    fabric.run(bench)


@pytest.mark.parametrize("uplink_slots", [0, 0b100000])
def test_paths_that_name_no_link_are_never_suspected(uplink_slots):
    fabric = Fabric(dead=set(), sites=[7])

    async def bench(ctx):
        await fabric.begin(ctx)
        await drive(ctx, fabric.dut.table, [qp_write(0, **path(site=7, uplink_slots=uplink_slots))])
        for ev_index in range(0, CONFIG.evs_per_plane, UPLINKS):
            await fabric.tell(ctx, 0, ev_index)
        assert fabric.events["ev_retired"] == CONFIG.evs_per_plane // UPLINKS
        assert not fabric.events["link_suspected"]

    fabric.run(bench)
