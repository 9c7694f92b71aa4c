# amaranth: UnusedElaboratable=no
"""A responder on the bench: one coroutine moves all its ports, cycle by cycle."""

from collections import Counter, deque
from typing import ClassVar

from amaranth.hdl import Value
from amaranth.sim import Simulator

from mrcnic.hdl import rows
from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.descriptor.inwards import ReceiveCompletion, RxDescriptor, Verdict
from mrcnic.hdl.descriptor.outwards import TxRequest
from mrcnic.hdl.descriptor.settings import Settings, TableWrite
from mrcnic.hdl.responder.responder import Responder
from mrcnic.hdl.rows import Table
from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.opcodes import Opcode

TINY = PRESETS["tiny"]
IMMEDIATE = (Opcode.WRITE_LAST_IMM, Opcode.WRITE_ONLY_IMM)


def row_bits(table, **fields):
    """Return a row as a number."""
    return int.from_bytes(rows.ROWS[table].pack(**fields), "big")


def qp_row(
    *, psn=0x100, qpn=0x012, remote_qpn=0x034, domain=5, active=1, trim_nack=1, **fields
):  # fmt: skip
    bits = row_bits(
        Table.QP, active=active, qpn=qpn, remote_qpn=remote_qpn, rx_psn=psn, domain=domain,
        trim_nack=trim_nack, **fields,
    )  # fmt: skip
    return {"table": Table.QP, "index": qpn % TINY.qps, "row": bits}


def region_row(*, rkey=0xDEADB000, base=0, octets=1 << 32, domain=5, remote_write=1, valid=1):
    bits = row_bits(
        Table.REGION, valid=valid, remote_write=remote_write, rkey=rkey, base=base, octets=octets,
        domain=domain,
    )  # fmt: skip
    return {"table": Table.REGION, "index": rkey % TINY.regions, "row": bits}


def write(
    psn, *, opcode=Opcode.WRITE_ONLY, dqp=0x012, va=0x1000, rkey=0xDEADB000, octets=16, dmalen=None,
    rqmsn=0, msn=0, immediate=0, payload=None, config=TINY, **fields,
):  # fmt: skip
    """Return the descriptor of a write packet."""
    value = {
        "meth": {"rqmsn": rqmsn, "msn": msn},
        "reth": {"va": va, "rkey": rkey, "dmalen": octets if dmalen is None else dmalen},
        "immediate": immediate,
    }
    return RxDescriptor(config).const({
        "opcode": opcode,
        "dqp": dqp,
        "psn": psn % 2**24,
        "octets": octets,
        "payload": octets > 0 if payload is None else payload,
        "body": {"write": value},
        **fields,
    })


def probe(probe_id, *, dqp=0x012, ev=0, config=TINY, **fields):
    """Return the descriptor of a probe."""
    return RxDescriptor(config).const({
        "opcode": Opcode.PROBE,
        "dqp": dqp,
        "ev": ev,
        "body": {"probe": {"probe_id": probe_id}},
        **fields,
    })


class Report:
    """A report as it came out: fields of the request and of its headers by name."""

    def __init__(self, cycle, value):
        self.cycle = cycle
        self.qp, self.psn, self.rtx = value.qp, value.psn, value.retransmission
        self.opcode = Opcode(value.opcode)
        self.role, self.octets = value.role, value.octets
        bits = value.body.as_bits()
        layouts = {
            Opcode.SACK: [headers.SETH, headers.CC_STATE],
            Opcode.NACK: [headers.NETH],
            Opcode.ACK: [headers.AETH],
        }
        #: As they will stand on the wire.
        self.wire = b""
        for header in layouts[self.opcode]:
            number = bits & ((1 << 8 * header.octets) - 1)
            bits >>= 8 * header.octets
            octets = number.to_bytes(header.octets, "big")
            self.wire += octets
            vars(self).update(header.unpack(octets))
        if self.opcode == Opcode.SACK:
            self.base = (self.cack_psn + self.sack_offset) % 2**24
            self.shown = {(self.base + n) % 2**24 for n in range(64) if self.sack_bitmap >> n & 1}
            offset = self.ack_psn_offset
            self.trigger = (self.cack_psn + offset - (offset >> 15 << 16)) % 2**24


class SimulatorPorts:
    """Ports of a responder in Amaranth's own simulator, by their names in Verilog."""

    _built: ClassVar = {}

    def __init__(self, config, main):
        if config not in self._built:  # takes longer than many a test
            dut = Responder(config)
            sim = Simulator(dut)
            sim.add_clock(1e-6)
            sim.add_testbench(self._run)
            ports = {
                "__".join(map(str, path)): Value.cast(value)
                for path, _, value in dut.signature.flatten(dut)
            }
            self._built[config] = sim, ports
        else:
            self._built[config][0].reset()
        self.sim, self.ports = self._built[config]
        self.last = {}
        type(self).current = self, main

    @classmethod
    async def _run(cls, ctx):
        ports, main = cls.current
        ports.ctx = ctx
        await main(ports)

    def run(self, max_cycles):
        for _ in range(2 * max_cycles):
            if not self.sim.advance():
                return
        raise TimeoutError(f"still waiting after {max_cycles} cycles")

    def get(self, name):
        return self.ctx.get(self.ports[name])

    def set(self, name, value):
        if self.last.get(name, 0) != value:  # it costs even if nothing changes
            self.last[name] = value
            self.ctx.set(self.ports[name], value)

    async def settle(self):
        """Wait until outputs follow from inputs."""

    async def tick(self):
        await self.ctx.tick()


class Bench:
    """Drive a responder.

    ``latency(lane)`` is how many cycles a placed payload takes until it is in memory; a negative
    number is how many it takes until memory refuses it.
    """

    MAX_CYCLES = 20_000

    def __init__(
        self, config=TINY, *, latency=lambda lane: 5, reports_ready=lambda: True,
        verdict_ready=lambda: True, o_ready=lambda: True, tick_cycles=32, **settings,
    ):  # fmt: skip
        self.config = config
        self.latency = latency
        self.reports_ready, self.verdict_ready, self.o_ready = reports_ready, verdict_ready, o_ready
        self.tick_cycles = tick_cycles
        self.settings = {
            "base_rtt": 8, "sack_threshold": 16384, "flush_delay": 16, **settings,
        }  # fmt: skip
        self.cycle = 0
        self.packets, self.table = deque(), deque()
        self.accepted = []  # (cycle, descriptor)
        self.verdicts = [[] for _ in range(config.lanes)]  # (cycle, verdict)
        self.written = []  # (cycle, address, octets)
        self.under_way = [deque() for _ in range(config.lanes)]
        self.reports, self.completions = [], []
        self.events = Counter()
        self.event_fields = [
            (name, field.offset) for name, field in Responder(config).events.shape()
        ]

    def run(self, script):
        """Run ``script(bench)``, a coroutine function that uses the bench."""

        async def main(ports):
            await self.use(ports)
            await script(self)

        SimulatorPorts(self.config, main).run(self.MAX_CYCLES)

    async def use(self, ports):
        """Start on ``ports``."""
        self.ports = ports
        ports.set("settings", Settings(self.config).const(self.settings).as_bits())

    async def step(self, count=1):
        for _ in range(count):
            await self._step()

    async def _step(self):
        ports, now = self.ports, self.cycle
        assert now < self.MAX_CYCLES, (
            f"{len(self.table)} rows, {len(self.packets)} packets and {self.under_way} still wait"
        )
        ports.set("now", now // self.tick_cycles % 2**24)
        self._offer("i", self.packets)
        self._offer("table", self.table)
        written = write_error = 0
        for lane, queue in enumerate(self.under_way):
            if queue and abs(queue[0][0]) <= now:
                due, address, octets = queue.popleft()
                if due < 0:
                    write_error |= 1 << lane
                else:
                    written |= 1 << lane
                    self.written.append((now, address, octets))
        ports.set("written", written)
        ports.set("write_error", write_error)
        take = {"reports": self.reports_ready(), "o": self.o_ready()}
        verdict_ready = self.verdict_ready()
        take |= {f"verdict__{lane}": verdict_ready for lane in range(self.config.lanes)}
        for name, ready in take.items():
            ports.set(f"{name}__ready", int(ready))

        await ports.settle()
        if self.packets and ports.get("i__ready"):
            self.accepted.append((now, self.packets.popleft()))
        if self.table and ports.get("table__ready"):
            self.table.popleft()
        for lane in range(self.config.lanes):
            if (verdict := self._take(f"verdict__{lane}", take, Verdict)) is not None:
                self.verdicts[lane].append((now, verdict))
                if verdict.place and verdict.octets:
                    delay = self.latency(lane)
                    due = now + abs(delay)
                    self.under_way[lane].append((
                        due if delay > 0 else -due,
                        verdict.address,
                        verdict.octets,
                    ))
        if (report := self._take("reports", take, TxRequest)) is not None:
            self.reports.append(Report(now, report))
        if (completion := self._take("o", take, ReceiveCompletion)) is not None:
            self.completions.append((now, completion))
        if events := ports.get("events"):
            for name, offset in self.event_fields:
                self.events[name] += events >> offset & 1
        await ports.tick()
        self.cycle += 1

    def _offer(self, name, queue):
        self.ports.set(f"{name}__valid", int(bool(queue)))
        if queue:
            self.ports.set(f"{name}__payload", queue[0].as_bits())

    def _take(self, name, take, layout):
        if take[name] and self.ports.get(f"{name}__valid"):
            return layout(self.config).from_bits(self.ports.get(f"{name}__payload"))
        return None

    async def set_up(self, *table):
        """Write rows into tables."""
        self.table.extend(TableWrite().const(row) for row in table)
        while self.table:
            await self._step()

    async def send(self, *packets):
        """Send packets, and wait until all are taken."""
        self.packets.extend(packets)
        while self.packets:
            await self._step()

    async def settle(self, cycles=60):
        """Send nothing for a while."""
        await self.step(cycles)

    def of(self, opcode):
        """Return the reports of a kind."""
        return [report for report in self.reports if report.opcode == opcode]
