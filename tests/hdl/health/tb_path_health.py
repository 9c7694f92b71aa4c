"""Bench: two lanes' worth of path health, as the Verilog that gets built has it."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from peer_rows import ADDRESSES, peer_write
from prober_bench import SMALL, qp_row

from mrcnic.hdl.descriptor.inwards import RxEndpoint
from mrcnic.hdl.descriptor.outcome import (
    EvEvent,
    EvEventKind,
    EvProbeResult,
    EvWatch,
    LinkWatch,
    ProbeAnswer,
    RemoteMask,
    RestRequest,
)
from mrcnic.hdl.descriptor.outwards import EvProbeRequest, TxDescriptor, TxRequest
from mrcnic.hdl.descriptor.settings import Settings, TableWrite
from mrcnic.hdl.wire.opcodes import Opcode
from mrcnic.sim.bench.cocotb_streams import StreamSink, StreamSource

OWN = 0xFD00_0000_0000_0001 << 64 | 1
INPUTS = {
    "watch": EvWatch(SMALL),
    "answers": ProbeAnswer(SMALL),
    "endpoints__0": RxEndpoint(SMALL),
    "endpoints__1": RxEndpoint(SMALL),
    "probe_request": EvProbeRequest(SMALL),
    "link_watch": LinkWatch(SMALL),
    "rests": RestRequest(SMALL),
    "table": TableWrite(),
}
OUTPUTS = {
    "probes": TxRequest(SMALL),
    "ev_events": EvEvent(SMALL),
    "o__0": TxDescriptor(SMALL),
    "o__1": TxDescriptor(SMALL),
    "remote_masks": RemoteMask(SMALL),
    "probe_result": EvProbeResult(SMALL),
}
SETTINGS = {
    "loopback": OWN,
    "hold_off": 60,
    "probe_timeout": 150,
    "probe_interval": 20,
    "retire_delay": 128,
    "retire_delay_max": 1024,
    "link_inference": 1,
    "port": [{"loop_probes": 1, "loop_carrier": 0xFCBBBBBB << 96}] * 2,
}


class World:
    """The design, and all that it says."""

    def __init__(self, dut, rng=None, pause=0):
        self.dut = dut
        self.sources = {
            name: StreamSource(dut, name, shape, clk=dut.clk) for name, shape in INPUTS.items()
        }
        self.said = {name: [] for name in OUTPUTS}
        self.rng = rng or random.Random(1)
        self.pause = pause

    async def start(self, *, port_up):
        dut = self.dut
        for source in self.sources.values():
            source.valid.value = 0
            source.payload.value = 0
        dut.settings.value = Settings(SMALL).const(SETTINGS).as_bits()
        dut.now.value = 0
        dut.port_up.value = port_up
        dut.port_open.value = 0
        dut.link_cleared__ready.value = 1
        for name in OUTPUTS:
            getattr(dut, f"{name}__ready").value = 0
        dut.rst.value = 1
        Clock(dut.clk, 2, unit="ns").start()
        await ClockCycles(dut.clk, 2)
        dut.rst.value = 0
        for name, shape in OUTPUTS.items():
            cocotb.start_soon(self._drain(name, shape))
        cocotb.start_soon(self._time())
        await self.put("table", *(qp_row(qp) for qp in range(SMALL.qps)))
        await self.put("table", *(peer_write(peer) for peer in (0, 2)))

    async def _time(self):
        now = 0
        while True:
            await RisingEdge(self.dut.clk)
            now += 1
            self.dut.now.value = now

    async def _drain(self, name, shape):
        sink = StreamSink(self.dut, name, shape, clk=self.dut.clk)
        while True:
            self.said[name] += await sink.receive(1, pause=lambda: self.rng.random() < self.pause)

    async def put(self, name, *payloads):
        shape = INPUTS[name]
        values = [shape.const(p) if isinstance(p, dict) else p for p in payloads]
        await self.sources[name].send(values)

    async def heard(self, name, count, *, cycles=3000):
        for _ in range(cycles):
            if len(self.said[name]) >= count:
                return self.said[name]
            await RisingEdge(self.dut.clk)
        raise AssertionError(f"{name} has said {len(self.said[name])} things, not {count}")


@cocotb.test(timeout_time=60, timeout_unit="us")
@cocotb.parametrize(pause=[0, 0.7])
async def a_bad_ev_comes_back(dut, pause):
    world = World(dut, random.Random(cocotb.RANDOM_SEED), pause)
    await world.start(port_up=3)
    await world.put("watch", {"qp": 2, "ev_index": 6})
    for n in range(3):
        probe = (await world.heard("probes", n + 1))[n]
        assert (probe.qp, probe.avoid_ev, probe.fixed) == (2, 6, 1)
        identifier = probe.body.probe.probe_id
        await world.put("answers", {"qp": 2, "probe_id": identifier, "marked": n == 2})
        # A late duplicate is nothing.
        await world.put("answers", {"qp": 2, "probe_id": identifier})
    events = await world.heard("ev_events", 3)
    assert [(e.qp, e.ev_index, e.kind) for e in events] == [
        (2, 6, EvEventKind.ANSWERED), (2, 6, EvEventKind.ANSWERED),
        (2, 6, EvEventKind.ANSWERED_MARKED),
    ]  # fmt: skip
    await ClockCycles(dut.clk, 1000)
    assert len(world.said["probes"]) == len(world.said["ev_events"]) == 3


@cocotb.test(timeout_time=60, timeout_unit="us")
@cocotb.parametrize(pause=[0, 0.7])
async def remote_nics_are_told_and_answered(dut, pause):
    world = World(dut, random.Random(cocotb.RANDOM_SEED), pause)
    await world.start(port_up=1)
    told = await world.heard("o__0", 2)
    assert {d.destination for d in told} == {ADDRESSES[0], ADDRESSES[2]}
    assert all(d.opcode == Opcode.ENDPOINT_REQUEST and d.dqp == 2 for d in told)
    assert all(d.body.request.port_status_mask == 1 for d in told)
    for descriptor in told:
        response = {"source": descriptor.destination, "response": 1}
        await world.put("endpoints__0", response | {"identifier": descriptor.psn})
    masks = world.said["remote_masks"]
    assert [(r.peer, r.mask) for r in masks] == [(0, 3), (2, 3)]

    # A request that comes in by the port that is down is answered by the other. Strangers are not.
    request = {"source": ADDRESSES[2], "identifier": 9, "tx_timestamp": 0x1400, "lane": 1}
    await world.put("endpoints__1", request | {"port_status_mask": 0xFD})
    await world.put("endpoints__1", request | {"source": ADDRESSES[1]})
    await world.put("endpoints__1", request | {"operation": 2})
    await world.put("endpoints__1", request | {"operation": 1, "identifier": 77})
    await world.heard("o__0", 4)
    await ClockCycles(dut.clk, 400)
    assert len(told) == 4
    assert not world.said["o__1"]
    for descriptor, identifier, operation in zip(told[2:], (9, 77), (0, 1), strict=True):
        assert (descriptor.opcode, descriptor.psn) == (Opcode.ENDPOINT_RESPONSE, identifier)
        assert descriptor.destination == ADDRESSES[2]
        assert descriptor.body.response.operation == operation
        assert descriptor.body.response.tx_timestamp == 0x1400
    assert [(r.peer, r.mask) for r in masks[2:]] == [(2, 1)]


@cocotb.test(timeout_time=60, timeout_unit="us")
async def ports_are_proven_and_paths_probed(dut):
    world = World(dut)
    await world.start(port_up=1)
    await world.put("endpoints__0", {"source": OWN, "operation": 1, "identifier": 0x1000})
    dut.port_open.value = 2
    for n in range(3):
        assert not dut.port_proven.value
        probe = (await world.heard("o__1", n + 1))[n]
        assert (probe.destination, probe.srv6, probe.carrier) == (OWN, 1, 0xFCBBBBBB << 96)
        back = {"source": OWN, "operation": 1, "identifier": probe.psn, "lane": 1}
        await world.put("endpoints__1", back | {"port_status_mask": 0})
    await ClockCycles(dut.clk, 20)
    assert dut.port_proven.value == 2

    before = len(world.said["o__0"])
    await world.put("probe_request", {"peer": 2, "plane": 0, "ev": 0xC0010020})
    await world.heard("o__0", before + 1)
    probe = next(d for d in world.said["o__0"] if d.body.request.operation == 1)
    assert (probe.ev, probe.destination) == (0xC0010020, ADDRESSES[2])
    answer = {"source": ADDRESSES[2], "response": 1, "operation": 1, "identifier": probe.psn}
    await world.put("endpoints__0", answer | {"tx_timestamp": int(dut.now.value) - 30, "ce": 1})
    (result,) = await world.heard("probe_result", 1)
    assert (result.peer, result.answered, result.marked, result.ev) == (2, 1, 1, 0xC0010020)
    assert 30 <= result.round_trip <= 30 + 20


@cocotb.test(timeout_time=60, timeout_unit="us")
async def planes_and_links_are_probed_until_three_answers_have_come(dut):
    world = World(dut)
    await world.start(port_up=3)
    await world.heard("remote_masks", 2)
    await world.put("rests", {"peer": 2, "plane": 1})
    masks = await world.heard("remote_masks", 3)
    assert (masks[2].peer, masks[2].mask) == (2, 1)
    await answer_probes(world, 1)
    masks = await world.heard("remote_masks", 4)
    assert (masks[3].peer, masks[3].mask) == (2, 3)

    await world.put("link_watch", {"link": 5, "peer": 2, "plane": 0, "ev": 0xC0010020})
    probes = await answer_probes(world, 0)
    assert {probe.ev for probe in probes} == {0xC0010020}
    while not dut.link_cleared__valid.value:
        await RisingEdge(dut.clk)
    assert dut.link_cleared__payload.value == 5


async def answer_probes(world, plane):
    """Answer three probes that leave by a port; return them."""
    probes = []
    while len(probes) < 3:
        await RisingEdge(world.dut.clk)
        sent = [
            d for d in world.said[f"o__{plane}"]
            if d.opcode == Opcode.ENDPOINT_REQUEST and d.body.request.operation == 1
        ]  # fmt: skip
        if fresh := [d for d in sent if d.psn not in [probe.psn for probe in probes]][-1:]:
            probes += fresh
            answer = {"source": ADDRESSES[2], "response": 1, "operation": 1}
            await world.put(f"endpoints__{plane}", answer | {"identifier": fresh[0].psn})
    return probes
