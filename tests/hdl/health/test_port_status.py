"""Remote NICs are told which ports work, until they confirm it; what they tell counts if newer."""

import random
from itertools import pairwise

from peer_rows import peer_write

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import TableWrite
from mrcnic.hdl.health.links import Operation
from mrcnic.hdl.health.port_status import TRIES, PortStatus
from mrcnic.hdl.rows import Table
from mrcnic.sim.bench.streams import simulate

CONFIG = NicConfig(lanes=4, evs=64, peers=8)
TIMEOUT = 200
WALK = 2 * CONFIG.peers


class Bench:
    """A tick is a cycle. Lanes take a packet in 5 cycles."""

    def __init__(self, *, mask=0b1111):
        self.dut = PortStatus(CONFIG)
        self.mask = mask
        self.cycle = 0
        self.sent = []  # cycle, peer, identifier, mask, plane
        self.masks = []  # peer, mask
        self.counts = dict.fromkeys((name for name, _ in self.dut.events.shape()), 0)
        self.confirming = lambda send: None  # cycles until the confirmation
        self._confirmations = []
        self._busy_until = 0

    def run(self, bench, *, max_cycles=20_000):
        async def whole(ctx):
            ctx.set(self.dut.settings.probe_timeout, TIMEOUT)
            ctx.set(self.dut.remote_masks.ready, 1)
            await bench(ctx)

        simulate(self.dut, whole, max_cycles=max_cycles)

    async def step(self, ctx, cycles=1):
        dut = self.dut
        for _ in range(cycles):
            ctx.set(dut.now, self.cycle)
            ctx.set(dut.port_up, self.mask)
            ready = self.cycle >= self._busy_until
            ctx.set(dut.sends.ready, ready)
            if ctx.get(dut.sends.valid) and ready:
                self._note(ctx.get(dut.sends.payload))
            if ctx.get(dut.remote_masks.valid):
                remote = ctx.get(dut.remote_masks.payload)
                self.masks.append((remote.peer, remote.mask))
            due = [entry for entry in self._confirmations if entry[0] <= self.cycle]
            ctx.set(dut.confirmations.valid, bool(due))
            if due:
                ctx.set(dut.confirmations.payload, {"peer": due[0][1], "identifier": due[0][2]})
                if ctx.get(dut.confirmations.ready):
                    self._confirmations.remove(due[0])
            if ctx.get(dut.events.as_value()):
                for name in self.counts:
                    self.counts[name] += ctx.get(dut.events[name])
            await ctx.tick()
            self.cycle += 1

    def _note(self, send):
        assert (send.response, send.operation, send.fixed) == (0, Operation.PORT_STATUS, 0)
        assert send.mask >> send.plane & 1, "told by a port that is down"
        entry = (self.cycle, send.peer, send.identifier, send.mask, send.plane)
        self.sent.append(entry)
        self._busy_until = self.cycle + 5
        delay = self.confirming(entry)
        if delay is not None:
            self._confirmations.append((self.cycle + delay, send.peer, send.identifier))

    async def put(self, ctx, port, payload):
        ctx.set(port.payload, payload)
        ctx.set(port.valid, 1)
        while not ctx.get(port.ready):
            await self.step(ctx)
        await self.step(ctx)
        ctx.set(port.valid, 0)

    async def write(self, ctx, peer, **fields):
        await self.put(ctx, self.dut.table, peer_write(peer, **fields))

    async def notice(self, ctx, peer, identifier, mask):
        await self.put(
            ctx, self.dut.notices, {"peer": peer, "identifier": identifier, "mask": mask}
        )


def test_a_change_is_told_to_all_in_one_walk():
    bench = Bench()
    bench.confirming = lambda send: 20

    async def run(ctx):
        await bench.step(ctx, WALK + 4)
        for peer in (0, 3, 7):
            await bench.write(ctx, peer)
        await bench.step(ctx, 600)
        assert sorted(peer for _, peer, *_ in bench.sent) == [0, 3, 7]
        assert bench.counts["status_confirmed"] == 3
        assert bench.masks == [(peer, 0b1111) for peer in (0, 3, 7)]
        before = bench.sent[-1][2]
        bench.sent.clear()
        bench.mask = 0b1011
        began = bench.cycle
        await bench.step(ctx, 600)
        assert sorted(peer for _, peer, *_ in bench.sent) == [0, 3, 7]
        for cycle, _, identifier, mask, _ in bench.sent:
            assert cycle - began <= 2 * CONFIG.peers + 6 * 3
            assert (identifier, mask) == (before + 1, 0b1011)
        assert bench.counts["status_confirmed"] == 6

    bench.run(run)


def test_it_is_repeated_eight_times_on_one_plane_after_the_other():
    bench = Bench(mask=0b1101)

    async def run(ctx):
        await bench.step(ctx, WALK + 4)
        await bench.write(ctx, 2)
        await bench.step(ctx, 10 * (TIMEOUT + WALK))
        cycles = [cycle for cycle, *_ in bench.sent]
        assert len(cycles) == TRIES == 8
        for before, after in pairwise(cycles):
            assert TIMEOUT < after - before <= TIMEOUT + WALK + 4
        planes = [plane for *_, plane in bench.sent]
        assert set(planes) == {0, 2, 3}
        assert all(a != b for a, b in pairwise(planes))
        assert len({identifier for _, _, identifier, _, _ in bench.sent}) == 1
        assert bench.counts["status_unconfirmed"] == 1

    bench.run(run, max_cycles=40_000)


def test_only_the_answer_to_the_newest_counts():
    bench = Bench()

    async def run(ctx):
        await bench.step(ctx, WALK + 4)
        await bench.write(ctx, 2)
        while not bench.sent:
            await bench.step(ctx)
        old = bench.sent[0][2]
        bench.mask = 0b0111
        while len(bench.sent) < 2:
            await bench.step(ctx)
        await bench.put(ctx, bench.dut.confirmations, {"peer": 2, "identifier": old})
        await bench.step(ctx, TIMEOUT + WALK + 4)
        assert len(bench.sent) == 3
        assert bench.counts["status_confirmed"] == 0
        bench._confirmations.append((bench.cycle, 2, old + 1))
        bench._confirmations.append((bench.cycle, 2, old + 1))  # a duplicate
        await bench.step(ctx, 3 * (TIMEOUT + WALK))
        assert len(bench.sent) == 3
        assert bench.counts["status_confirmed"] == 1

    bench.run(run)


def test_without_a_port_nothing_is_sent():
    bench = Bench(mask=0)

    async def run(ctx):
        await bench.step(ctx, WALK + 4)
        await bench.write(ctx, 2)
        await bench.step(ctx, 3 * TIMEOUT)
        assert not bench.sent
        bench.mask = 0b0100
        began = bench.cycle
        while not bench.sent:
            await bench.step(ctx)
        assert bench.cycle - began <= WALK + 6
        assert bench.sent[0][3:] == (0b0100, 2)

    bench.run(run)


def test_news_that_is_not_newer_changes_nothing():
    """B097: E8, identifier 8 with all ports, after E9, identifier 9 without plane 2."""
    bench = Bench()

    async def run(ctx):
        await bench.step(ctx, WALK + 4)
        await bench.write(ctx, 1)
        await bench.step(ctx, 3)
        bench.masks.clear()
        await bench.notice(ctx, 1, 9, 0xFB)
        began = bench.cycle
        while not bench.masks:
            await bench.step(ctx)
        assert bench.cycle - began <= 3
        await bench.notice(ctx, 1, 8, 0xFF)
        await bench.notice(ctx, 1, 9, 0xFF)
        await bench.step(ctx, 5)
        assert bench.masks == [(1, 0xB)]
        assert (bench.counts["status_taken"], bench.counts["status_stale"]) == (1, 2)
        # Identifiers wrap around: half of them are newer.
        await bench.notice(ctx, 1, 9 + 0x7FFF, 0x1)
        await bench.notice(ctx, 1, 5, 0x2)
        await bench.notice(ctx, 1, 0x8008, 0x4)
        await bench.step(ctx, 5)
        assert bench.masks == [(1, 0xB), (1, 0x1), (1, 0x2)]

    bench.run(run)


def test_a_row_that_is_written_forgets_what_was_told():
    bench = Bench()

    async def run(ctx):
        await bench.step(ctx, WALK + 4)
        await bench.write(ctx, 1)
        await bench.notice(ctx, 1, 500, 0x3)
        await bench.write(ctx, 1)
        await bench.notice(ctx, 1, 0, 0x5)
        await bench.step(ctx, 5)
        assert bench.masks == [(1, 0xF), (1, 0x3), (1, 0xF), (1, 0x5)]
        await bench.write(ctx, 1, valid=0)
        await bench.step(ctx, TIMEOUT)
        sent = len(bench.sent)
        await bench.step(ctx, 3 * (TIMEOUT + WALK))
        assert len(bench.sent) == sent
        # Rows of other tables are not for it.
        row = TableWrite().const({"table": Table.QP, "index": 1, "row": (1 << 512) - 1})
        began = bench.cycle
        await bench.put(ctx, bench.dut.table, row)
        assert bench.cycle - began == 1
        await bench.step(ctx, 3 * TIMEOUT)
        assert len(bench.sent) == sent

    bench.run(run)


def test_in_the_end_everybody_knows(seed):
    """Changes, losses and news in any order: each peer hears the last state, and is heard."""
    rng = random.Random(seed)
    bench = Bench()
    heard = {}  # by peer: what it believes

    def confirm(send):
        _, peer, identifier, mask, _ = send
        if rng.random() < 0.3:
            return None  # the request is lost
        if peer not in heard or identifier > heard[peer][0]:
            heard[peer] = (identifier, mask)
        return None if rng.random() < 0.3 else rng.randrange(1, 2 * TIMEOUT)

    bench.confirming = confirm
    newest = {}

    async def run(ctx):
        await bench.step(ctx, WALK + 4)
        peers = rng.sample(range(8), 4)
        for peer in peers:
            await bench.write(ctx, peer)
        for _ in range(40):
            await bench.step(ctx, rng.choice((1, 3, 30, 200)))
            if rng.random() < 0.5:
                bench.mask = rng.randrange(1, 16)
                await bench.step(ctx)  # a pulse shorter than a cycle is nothing to us
            else:
                peer = rng.choice(peers)
                known = newest.get(peer)
                identifier = (known[0] if known else 0x7FF0) + rng.randrange(-3, 6)
                mask = rng.randrange(16)
                await bench.notice(ctx, peer, identifier & 0xFFFF, mask)
                if known is None or identifier > known[0]:
                    newest[peer] = (identifier, mask)
        await bench.step(ctx, 9 * (TIMEOUT + WALK))
        for peer in peers:
            if peer in heard:  # 8 losses in a row are possible, if rare
                assert heard[peer][1] == bench.mask or bench.counts["status_unconfirmed"]
        assert dict(bench.masks) == {
            peer: newest[peer][1] if peer in newest else 15 for peer in peers
        }

    bench.run(run, max_cycles=60_000)
