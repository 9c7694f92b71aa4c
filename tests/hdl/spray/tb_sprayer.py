"""Bench: a sprayer with two lanes, as the Verilog that gets built has it."""

import random
from collections import Counter

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from spray_bench import SMALL, ev_value, full_profile, qp_write, request

from mrcnic.hdl.descriptor.outcome import EvEvent, EvEventKind
from mrcnic.hdl.descriptor.outwards import TxDescriptor, TxRequest
from mrcnic.hdl.descriptor.settings import TableWrite
from mrcnic.sim.bench.cocotb_streams import StreamSink, StreamSource


async def start(dut):
    for port in ("i", "ev_events", "table"):
        getattr(dut, f"{port}__valid").value = 0
        getattr(dut, f"{port}__payload").value = 0
    for lane in range(2):
        getattr(dut, f"o__{lane}__ready").value = 0
    dut.port_up.value = 3
    for name in ("settings", "now", "link_cleared__valid", "link_cleared__payload"):
        getattr(dut, name).value = 0
    for port in ("watch", "news", "link_watch", "rests"):
        getattr(dut, f"{port}__ready").value = 1
    dut.rst.value = 1
    Clock(dut.clk, 2, unit="ns").start()
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    table = StreamSource(dut, "table", TableWrite(), clk=dut.clk)
    rows = [*full_profile(SMALL), qp_write(0, remote_qpn=7), qp_write(3, remote_qpn=0xABCDEF)]
    await table.send(rows)


async def hold(dut, lane):
    """Watch that what a lane is offered stays until it is taken."""
    valid, ready, payload = (
        getattr(dut, f"o__{lane}__{name}") for name in ("valid", "ready", "payload")
    )
    offered = None
    while True:
        await RisingEdge(dut.clk)
        if offered is not None:
            assert valid.value
            assert payload.value == offered
        offered = payload.value if valid.value and not ready.value else None


@cocotb.test(timeout_time=60, timeout_unit="us")
@cocotb.parametrize(i_pause=[0, 0.6], o_pause=[0, 0.9])
async def packets_are_dealt_to_lanes(dut, i_pause, o_pause):
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut)
    count = 64
    received = []

    async def drain(lane):
        sink = StreamSink(dut, f"o__{lane}", TxDescriptor(SMALL), clk=dut.clk)
        while True:
            (descriptor,) = await sink.receive(1, pause=lambda: rng.random() < o_pause)
            received.append((lane, descriptor))

    for lane in range(2):
        cocotb.start_soon(drain(lane))
        cocotb.start_soon(hold(dut, lane))
    source = StreamSource(dut, "i", TxRequest(SMALL), clk=dut.clk)
    requests = [request(SMALL, 3, psn=n) for n in range(count)]
    cocotb.start_soon(source.send(requests, pause=lambda: rng.random() < i_pause))
    while len(received) < count:
        await RisingEdge(dut.clk)
    assert sorted(d.psn for _, d in received) == list(range(count))
    assert {d.dqp for _, d in received} == {0xABCDEF}
    evs = [ev_value(SMALL, n) for n in range(SMALL.evs)]
    uses = Counter(d.ev for _, d in received)
    assert set(uses) == set(evs)
    assert all(d.ev >> 12 & 0xF == lane for lane, d in received)
    lanes = Counter(lane for lane, _ in received)
    if not o_pause:  # a lane that waits for its MAC is given what it has room for, no more
        assert abs(lanes[0] - lanes[1]) <= 12  # a lead of 7, and what waits at a lane


@cocotb.test(timeout_time=60, timeout_unit="us")
async def a_bad_ev_is_left_alone(dut):
    await start(dut)
    news = StreamSource(dut, "ev_events", EvEvent(SMALL), clk=dut.clk)
    event = {"qp": 0, "kind": EvEventKind.BAD, "ev_index": 4}
    stale = event | {"ev_index": 5, "echoed": 1, "ev": ev_value(SMALL, 6)}
    await news.send([EvEvent(SMALL).const(event), EvEvent(SMALL).const(stale)])
    await ClockCycles(dut.clk, 30)
    for lane in range(2):
        getattr(dut, f"o__{lane}__ready").value = 1
    source = StreamSource(dut, "i", TxRequest(SMALL), clk=dut.clk)
    cocotb.start_soon(source.send([request(SMALL, 0)] * 32))
    used = set()
    for _ in range(140):
        await RisingEdge(dut.clk)
        for lane in range(2):
            if getattr(dut, f"o__{lane}__valid").value:
                payload = getattr(dut, f"o__{lane}__payload").value.to_unsigned()
                used.add(TxDescriptor(SMALL).from_bits(payload).ev)
    assert used == {ev_value(SMALL, n) for n in range(SMALL.evs) if n != 4}
