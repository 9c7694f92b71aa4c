"""A host, a retransmit buffer and a peer for the requester, as queues of what they say."""

from collections import Counter, deque

from amaranth.hdl import Cat, Module, Signal
from amaranth.sim import Simulator

from mrcnic.hdl import rows
from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.requester.requester import Requester
from mrcnic.hdl.wire.opcodes import Opcode

#: The retransmit buffer of the bench is never short of slots, unless ``occupied`` says so.
TINY = PRESETS["tiny"].override(slots=64)

INPUTS = ("i", "retired", "failed", "responses", "table")
OUTPUTS = (
    "o",
    "allocate",
    "stopped",
    "acknowledgement",
    "nack",
    "ev_events",
    "probe",
    "probe_answers",
)

REQUEST = {
    "identifier": 0,
    "local_address": 0x1000_0000,
    "remote_address": 0x7F00_1234_5000,
    "rkey": 0xDEADBEEF,
    "octets": 16,
    "with_immediate": 0,
    "immediate": 0,
}

ROW = {
    "active": 1,
    "trim_nack": 1,
    "remote_qpn": 0x0ABCDE,
    "mtu_code": 0,
    "tx_psn": 0x100,
    "mpr": 8,
    "max_immediates": 32,
    "cwnd": (1 << 25) - 1,
    "timeout": 0,
    "linear_count": 7,
    "exponential_count": 7,
}


def qpn(config, qp):
    """All of a QP's number: its index, and something above it."""
    return 0x120000 // config.qps * config.qps + qp


class Bench:
    """Feeds what is put into the queues of ``feed``; logs (cycle, payload) of each transfer."""

    def __init__(self, config=TINY):
        self.config = config
        self.dut = Requester(config)
        self.feed = {name: deque() for name in INPUTS}
        self.taken = {name: [] for name in INPUTS}
        self.log = {name: [] for name in OUTPUTS}
        self.events = Counter()
        self.cycle = 0
        self.ticks_per_cycle = 0
        self.hooks = []

    def run(self, scenario, max_cycles=5000):
        # Evaluated with the design, where it costs less than in the bench.
        ports = [getattr(self.dut, name) for name in OUTPUTS]
        inputs = [getattr(self.dut, name) for name in INPUTS]
        self.on_offer, self.given = Signal(len(ports)), Signal(len(ports))
        self.accepted, self.pulses = Signal(len(inputs)), Signal(len(self.dut.events.as_value()))
        m = Module()
        m.submodules.dut = self.dut
        m.d.comb += [
            self.on_offer.eq(Cat(port.valid for port in ports)),
            self.given.eq(Cat(port.valid & port.ready for port in ports)),
            self.accepted.eq(Cat(port.valid & port.ready for port in inputs)),
            self.pulses.eq(self.dut.events.as_value()),
        ]

        sim = Simulator(m)
        sim.add_clock(1e-6)
        sim.add_testbench(scenario)
        sim.add_testbench(self._world, background=True)
        for _ in range(2 * max_cycles):
            if not sim.advance():
                return
        raise TimeoutError(f"still waiting after {max_cycles} cycles")

    async def _world(self, ctx):
        ports = [getattr(self.dut, name) for name in OUTPUTS]
        for port in ports:
            ctx.set(port.ready, 1)
        inputs = [getattr(self.dut, name) for name in INPUTS]
        names = [name for name, _ in self.dut.events.shape()]
        offered = dict.fromkeys(INPUTS, False)
        while True:
            for name, port in zip(INPUTS, inputs, strict=True):
                if not offered[name] and self.feed[name]:
                    ctx.set(port.payload, self.feed[name].popleft())
                    ctx.set(port.valid, 1)
                    offered[name] = True
            # Payloads come out of registers: they are there, and cost less to read, now.
            on_offer = ctx.get(self.on_offer)
            payloads = [
                ctx.get(port.payload) if on_offer >> n & 1 else None for n, port in enumerate(ports)
            ]
            _, _, events, which, given = await ctx.tick().sample(
                self.pulses, self.accepted, self.given
            )
            for n, name in enumerate(INPUTS):
                if which >> n & 1:
                    self.taken[name].append(self.cycle)
                    ctx.set(inputs[n].valid, 0)
                    offered[name] = False
            for n, name in enumerate(OUTPUTS):
                if given >> n & 1:
                    self.log[name].append((self.cycle, payloads[n]))
            if events:
                self.events.update(name for n, name in enumerate(names) if events >> n & 1)
            self.cycle += 1
            if self.ticks_per_cycle:
                ctx.set(self.dut.now, self.cycle * self.ticks_per_cycle % (1 << 24))
            for hook in self.hooks:
                hook()

    def payloads(self, name):
        return [payload for _, payload in self.log[name]]

    def cycles(self, name):
        return [cycle for cycle, _ in self.log[name]]

    # What the host, the retransmit buffer and the peer say.

    def row(self, qp, **values):
        row = ROW | {"qpn": qpn(self.config, qp)} | values
        number = int.from_bytes(rows.QP_ROW.pack(**row), "big")
        self.feed["table"].append({"table": rows.Table.QP, "index": qp, "row": number})

    async def open(self, ctx, *qps, **values):
        for qp in qps:
            self.row(qp, **values)
        want = len(self.taken["table"]) + len(self.feed["table"])
        while len(self.taken["table"]) < want:
            await ctx.tick()

    def request(self, qp, **values):
        self.feed["i"].append(REQUEST | {"qp": qp} | values)

    def retire(self, qp, octets):
        self.feed["retired"].append({"qp": qp, "octets": octets})

    def fail(self, qp, status):
        self.feed["failed"].append({"qp": qp, "status": status})

    def respond(self, qp, opcode, body, **values):
        packet = {"opcode": opcode, "dqp": qpn(self.config, qp), "body": body}
        self.feed["responses"].append(packet | values)

    def sack(self, qp, cack, *, offset=1, bitmap=0, resent=0, dqp=None, **seth):
        values = {"cack_psn": cack, "sack_offset": offset % (1 << 16), "sack_bitmap": bitmap}
        extra = {"retransmission": resent} | ({} if dqp is None else {"dqp": dqp})
        self.respond(qp, Opcode.SACK, {"sack": {"seth": values | seth}}, **extra)

    def nack(self, qp, psn, reason, entropy=0):
        body = {"nack_psn": psn, "reason": reason, "entropy": entropy}
        self.respond(qp, Opcode.NACK, {"nack": body})

    def ack(self, qp, messages, syndrome=0x1F):
        self.respond(qp, Opcode.ACK, {"ack": {"syndrome": syndrome, "msn": messages}})


async def ticks(ctx, count):
    for _ in range(count):
        await ctx.tick()
