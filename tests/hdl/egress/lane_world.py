"""What is around an outward lane: a payload store, a MAC, and a clock of cycles."""

from collections import Counter, deque
from dataclasses import dataclass, field

from lane_frames import TIMESTAMP, descriptor, route_rows, settings

from mrcnic.hdl.egress.lane import EgressLane
from mrcnic.hdl.packet.beat import Beat
from mrcnic.sim.bench.packets import from_beats, to_beats
from mrcnic.sim.bench.streams import drive, simulate

__all__ = ["LaneRun", "run_lane"]


@dataclass
class LaneRun:
    """Record of a run, with cycles."""

    latency: int = 0
    beats: list = field(default_factory=list)
    taken: list = field(default_factory=list)  # cycles at which descriptors were taken
    offered: list = field(default_factory=list)  # cycles at which beats were offered first
    moved: list = field(default_factory=list)  # cycles at which beats moved
    reads: list = field(default_factory=list)
    events: Counter = field(default_factory=Counter)

    @property
    def sent(self):
        return self.events["tx_packet_sent"]

    @property
    def dropped(self):
        return self.events["tx_dropped_port_down"]

    @property
    def frames(self):
        return from_beats(self.beats)

    @property
    def first_offered(self):
        return [cycle for cycle, beat in zip(self.offered, self.beats, strict=True) if beat.first]


def always(_):
    return True


def run_lane(
    config,
    packets,
    *,
    up=always,
    mac_ready=always,
    store_stalls=lambda _: False,
    fetch_ready=always,
    store_delay=0,
    host=(),
    host_idle=lambda _: False,
    pause=lambda _: 0,
    routes=(),
    now=TIMESTAMP,
    cycles=3_000,
    **changes,
):
    """Send packets of (fields, payload) and frames of the host, and run until all are gone.

    Functions tell from the cycle what the surroundings do.
    """
    dut = EgressLane(config)
    run = LaneRun(latency=dut.latency)
    layout = Beat(config.beat_octets)
    waiting_host = deque(beat for octets in host for beat in to_beats(octets, layout))
    waiting = deque(
        descriptor(config, fields, octets=len(payload), slot=n % config.slots)
        for n, (fields, payload) in enumerate(packets)
    )
    payloads = deque((n % config.slots, payload) for n, (_, payload) in enumerate(packets))
    store = deque()  # of (cycle from which it is there, beat)

    names = [name for name, _ in dut.events.shape()]
    ends = [name for name in names if name != "tx_paused"]

    def serve(cycle, read):
        slot, payload = payloads.popleft()
        while not payload:
            slot, payload = payloads.popleft()
        assert (read.slot, read.octets) == (slot, len(payload))
        run.reads.append(cycle)
        store.extend((cycle + store_delay, beat) for beat in to_beats(payload, layout))

    async def bench(ctx):
        ctx.set(dut.settings, settings(config, **changes))
        ctx.set(dut.now, now)
        await drive(ctx, dut.table, route_rows(config, routes))
        for _ in range(3):  # what settings add up to is known then
            await ctx.tick()
        offering = False
        inside = stalled = was_ready = False
        offered = None
        for cycle in range(cycles):
            mac, fetch = mac_ready(cycle), fetch_ready(cycle)
            ctx.set(dut.up, up(cycle))
            ctx.set(dut.pause, pause(cycle))
            ctx.set(dut.o.ready, mac)
            ctx.set(dut.fetch.ready, fetch)
            ctx.set(dut.i.valid, bool(waiting))
            if waiting:
                ctx.set(dut.i.payload, waiting[0])
            there = bool(store) and store[0][0] < cycle and (stalled or not store_stalls(cycle))
            ctx.set(dut.payload.valid, there)
            if there:
                ctx.set(dut.payload.payload, store[0][1])

            offering = bool(waiting_host) and (offering or not host_idle(cycle))
            ctx.set(dut.host.valid, offering)
            if waiting_host:
                ctx.set(dut.host.payload, waiting_host[0])
            if offering and ctx.get(dut.host.ready):
                waiting_host.popleft()
                offering = False

            ready = ctx.get(dut.i.ready)
            assert ready or not was_ready, "room was taken back"
            was_ready = ready and not waiting
            if ready and waiting:
                waiting.popleft()
                run.taken.append(cycle)
            stalled = there and not ctx.get(dut.payload.ready)
            if there and not stalled:
                store.popleft()
            if ctx.get(dut.fetch.valid) and fetch:
                serve(cycle, ctx.get(dut.fetch.payload))

            valid = ctx.get(dut.o.valid)
            assert valid or not inside, "an idle beat inside a frame"
            if valid and offered is None:
                offered = cycle
            if valid and mac:
                beat = ctx.get(dut.o.payload)
                run.beats.append(beat)
                run.offered.append(offered)
                run.moved.append(cycle)
                offered = None
                inside = not beat.last
            for name, happened in zip(
                names, f"{ctx.get(dut.events.as_value()):b}"[::-1], strict=False
            ):
                run.events[name] += int(happened)
            gone = sum(run.events[name] for name in ends)
            if gone == len(packets) + len(host) and not (inside or valid or store):
                return
            await ctx.tick()
        raise AssertionError(f"after {cycles} cycles: {dict(run.events)}")

    simulate(dut, bench, max_cycles=cycles + 100)
    return run
