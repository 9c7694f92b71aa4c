"""Hands for tests of the sprayer: tables, packets, events, and a look at the EV states."""

from amaranth.sim import Simulator

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import EvEvent, EvEventKind
from mrcnic.hdl.descriptor.outwards import TxRequest
from mrcnic.hdl.descriptor.settings import TableWrite
from mrcnic.hdl.rows import EV_ROW, QP_ROW, Table
from mrcnic.hdl.spray.sprayer import Sprayer
from mrcnic.sim.bench.streams import drive

__all__ = ["SMALL", "SprayBench", "ev_value", "ev_write", "full_profile", "qp_write", "request"]

SMALL = NicConfig(lanes=2, evs=16, qps=4, profiles=2, slots=16, window=128, beat_octets=8)


def ev_value(config, ev_index, *, uplink=None):
    """Entropy value of an EV, as a driver makes it."""
    plane, local = divmod(ev_index, config.evs_per_plane)
    uplink = local if uplink is None else uplink
    return 0xC0 << 24 | ev_index << 16 | plane << 12 | uplink << 4


def _row(header, **values):
    return int.from_bytes(header.pack(**values), "big")


def ev_write(config, profile, ev_index, *, valid=1, active=1, ev=None):
    ev = ev_value(config, ev_index) if ev is None else ev
    return TableWrite().const({
        "table": Table.EV,
        "index": profile * config.evs + ev_index,
        "row": _row(EV_ROW, valid=valid, active=active, ev=ev),
    })


def qp_write(qp, *, active=1, **values):
    return TableWrite().const({
        "table": Table.QP,
        "index": qp,
        "row": _row(QP_ROW, active=active, **values),
    })


def request(config, qp, **values):
    return TxRequest(config).const({"qp": qp, **values})


class SprayBench:
    """A sprayer in Amaranth's simulator, with benches that run until the first one is over."""

    def __init__(self, config=SMALL):
        self.config = config
        self.dut = Sprayer(config)
        self.picked = []  # (cycle, Picked)
        self.sent = [[] for _ in range(config.lanes)]  # (cycle, TxDescriptor)
        self.events = dict.fromkeys(dict(iter(self.dut.events.shape())), 0)
        self.cycle = 0

    def run(self, *benches, background=(), max_cycles=20_000):
        sim = Simulator(self.dut)
        sim.add_clock(1e-6)
        sim.add_process(self._watch)
        finished = []

        def until_done(bench):
            async def run(ctx):
                await bench(ctx)
                finished.append(bench)

            return run

        for bench in benches:
            sim.add_testbench(until_done(bench))
        for bench in background:
            sim.add_testbench(bench, background=True)
        for _ in range(2 * max_cycles):
            sim.advance()
            if len(finished) == len(benches):
                return
        raise TimeoutError(f"some bench is still waiting after {max_cycles} cycles")

    async def _watch(self, ctx):
        dut = self.dut
        ports = [(o.valid, o.ready, o.payload) for o in dut.o]
        flat = [signal for port in ports for signal in port]
        async for _, _, picked_valid, picked, events, *values in ctx.tick().sample(
            dut.picked_valid, dut.picked, dut.events, *flat
        ):
            self.cycle += 1
            if picked_valid:
                self.picked.append((self.cycle, picked))
            for name in self.events:
                self.events[name] += events[name]
            for lane in range(len(ports)):
                valid, ready, payload = values[3 * lane : 3 * lane + 3]
                if valid and ready:
                    self.sent[lane].append((self.cycle, payload))

    async def set_up(self, ctx, *writes, ready=-1, port_up=-1):
        """Let everything flow, then write rows."""
        for lane, o in enumerate(self.dut.o):
            ctx.set(o.ready, ready >> lane & 1)
        ctx.set(self.dut.watch.ready, 1)
        ctx.set(self.dut.port_up, port_up & (1 << self.config.lanes) - 1)
        await drive(ctx, self.dut.table, writes)

    async def send(self, ctx, qp, count=1, *, pause=0, **values):
        """Offer packets, and return their picks."""
        before = len(self.picked)
        requests = [request(self.config, qp, psn=n, **values) for n in range(count)]
        await drive(ctx, self.dut.i, requests, pauses=[pause] * count)
        return await self.settle(ctx, before + count, before)

    async def settle(self, ctx, count, start=0, *, patience=200):
        for _ in range(patience):
            if len(self.picked) >= count:
                break
            await ctx.tick()
        else:
            raise TimeoutError(f"{len(self.picked)} picks of {count}")
        return [picked for _, picked in self.picked[start:]]

    async def tell(self, ctx, qp, ev_index, kind=EvEventKind.BAD, *, echoed=0, ev=0, settle=24):
        """Give news of an EV, and wait until it has been taken to heart."""
        layout = EvEvent(self.config)
        event = {"qp": qp, "kind": kind, "ev_index": ev_index, "echoed": echoed, "ev": ev}
        await drive(ctx, self.dut.ev_events, [layout.const(event)])
        for _ in range(settle):
            await ctx.tick()


def full_profile(config, profile=0, *, active=None):
    """Rows of a profile in which the first ``active`` EVs of each plane are active."""
    active = config.evs_per_plane if active is None else active
    return [
        ev_write(config, profile, n, active=n % config.evs_per_plane < active)
        for n in range(config.evs)
    ]
