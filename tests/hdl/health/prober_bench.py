"""Hands for tests of the prober, and what it should do, in plain Python."""

from dataclasses import dataclass, field

from amaranth.sim import Simulator

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import EvEventKind
from mrcnic.hdl.descriptor.settings import TableWrite
from mrcnic.hdl.health.prober import PathProber
from mrcnic.hdl.rows import QP_ROW, Table

__all__ = ["SMALL", "Probe", "ProberBench", "qp_row"]

SMALL = NicConfig(lanes=2, evs=8, qps=4, profiles=2, slots=16, window=128, beat_octets=8)

#: Ticks: a unit is 64. A tick is a cycle in this bench.
SETTINGS = {
    "retire_delay": 640,
    "retire_delay_max": 4000,
    "probe_timeout": 300,
    "probe_interval": 40,
}


def qp_row(qp, *, active=1, table=Table.QP):
    """A row of a QP, as the host writes it."""
    number = int.from_bytes(
        QP_ROW.pack(active=active, qpn=0x10000 + qp, remote_qpn=0x20000 + qp), "big"
    )
    return TableWrite().const({"table": table, "index": qp, "row": number})


@dataclass(frozen=True)
class Probe:
    """A probe that left."""

    cycle: int
    qp: int
    ev_index: int
    probe_id: int


@dataclass
class ProberBench:
    """A prober, what it is told, and what it says."""

    config: NicConfig = SMALL
    settings: dict = field(default_factory=dict)

    def __post_init__(self):
        self.dut = PathProber(self.config)
        self.cycle = 0
        self.probes: list[Probe] = []
        self.news: list[tuple[int, EvEventKind, int, int]] = []  # cycle, kind, QP, EV
        self.counts = dict.fromkeys((name for name, _ in self.dut.events.shape()), 0)
        self.answering = lambda probe: None  # cycles until the answer, and whether it is marked
        self._answers = []

    def run(self, bench, *, max_cycles=30_000):
        sim = Simulator(self.dut)
        sim.add_clock(1e-6)
        done = []

        async def surroundings(ctx):
            dut = self.dut
            for name, value in (SETTINGS | self.settings).items():
                ctx.set(dut.settings[name], value)
            ctx.set(dut.port_up, -1)
            ctx.set(dut.probes.ready, 1)
            ctx.set(dut.ev_events.ready, 1)
            while True:
                ctx.set(dut.now, self.cycle % (1 << 24))
                # What is offered in this cycle is taken with its end.
                if ctx.get(dut.probes.valid):
                    self._note(ctx.get(dut.probes.payload))
                if ctx.get(dut.ev_events.valid):
                    event = ctx.get(dut.ev_events.payload)
                    assert not event.echoed
                    self.news.append((self.cycle, event.kind, event.qp, event.ev_index))
                if ctx.get(dut.events.as_value()):
                    for name in self.counts:
                        self.counts[name] += ctx.get(dut.events[name])
                await ctx.tick()
                self.cycle += 1

        async def answers(ctx):
            while True:
                due = [answer for answer in self._answers if answer[0] <= self.cycle]
                if due:
                    self._answers.remove(due[0])
                    await self.answer(ctx, *due[0][1:])
                else:
                    await ctx.tick()

        async def run(ctx):
            for qp in range(self.config.qps):
                await self.write(ctx, qp_row(qp))
            await bench(ctx)
            done.append(1)

        sim.add_testbench(surroundings, background=True)
        sim.add_testbench(answers, background=True)
        sim.add_testbench(run)
        for _ in range(2 * max_cycles):
            sim.advance()
            if done:
                return
        raise TimeoutError

    def _note(self, payload):
        probe = Probe(self.cycle, payload.qp, payload.avoid_ev, payload.body.probe.probe_id)
        assert payload.fixed
        assert payload.body.probe.spdcid == probe.qp
        assert payload.body.probe.dpdcid == probe.qp
        assert probe.probe_id >> 8 == probe.ev_index
        assert probe.probe_id & 0xFF >= 2
        self.probes.append(probe)
        answer = self.answering(probe)
        if answer is not None:
            delay, marked = answer
            self._answers.append((self.cycle + delay, probe.qp, probe.probe_id, marked))

    async def _put(self, ctx, port, payload):
        ctx.set(port.payload, payload)
        ctx.set(port.valid, 1)
        await ctx.tick().until(port.ready)
        ctx.set(port.valid, 0)

    async def write(self, ctx, row):
        await self._put(ctx, self.dut.table, row)

    async def watch(self, ctx, qp, ev_index):
        await self._put(ctx, self.dut.watch, {"qp": qp, "ev_index": ev_index})

    async def answer(self, ctx, qp, probe_id, marked=0):
        await self._put(ctx, self.dut.answers, {"qp": qp, "probe_id": probe_id, "marked": marked})

    def kinds(self):
        return [kind for _, kind, _, _ in self.news]
