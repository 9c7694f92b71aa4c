# amaranth: UnusedElaboratable=no
"""Blocks of the on-chip test."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from mrcnic.boards.selftest.fabric import FabricPath
from mrcnic.boards.selftest.pattern import OCTETS, PatternSink, PatternSource, pattern
from mrcnic.boards.selftest.reporter import Reporter
from mrcnic.boards.selftest.sequencer import Sequencer
from mrcnic.boards.selftest.setup import Step, setup_of
from mrcnic.boards.selftest.uart import UartReceiver, UartSender
from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.host.registers import register_map

TAKEN_MAC, SWITCH_MAC = 0x0200_0000_0010, 0x0200_0000_0020


def simulate(component, *testbenches, cycles=100_000):
    sim = Simulator(component)
    sim.add_clock(1e-8)
    for testbench in testbenches:
        sim.add_testbench(testbench)
    sim.run_until(cycles * 1e-8)


def frame(spine, *, payload=b"x" * 40, ethertype=0x86DD):
    """Frame whose carrier names T0 1, a T1, T0 2, NIC 5."""
    usids = b"".join(usid.to_bytes(2) for usid in (0x0401, 0x0800 | spine, 0x0402, 0x0C05, 0, 0))
    header = b"\x60" + bytes(3) + len(payload).to_bytes(2) + b"\x11\x40" + bytes(range(16))
    return (
        bytes(range(12)) + ethertype.to_bytes(2) + header + bytes.fromhex("fcbbbbbb") + usids
        + payload
    )  # fmt: skip


def forwarded(sent):
    """The same frame as three switches leave it."""
    macs = TAKEN_MAC.to_bytes(6) + SWITCH_MAC.to_bytes(6)
    hop_limit = bytes([sent[21] - 3])
    rest = sent[48:54] + bytes(6)
    return macs + sent[12:21] + hop_limit + sent[22:42] + rest + sent[54:]


def run_fabric(frames, *, dead=0, loss=0, seed=1):
    dut = FabricPath(destination=TAKEN_MAC, source=SWITCH_MAC, seed=1)
    rng = random.Random(seed)
    got, events = [], dict.fromkeys(("forwarded", "lost", "killed", "strays"), 0)

    async def drive(ctx):
        ctx.set(dut.dead, dead)
        ctx.set(dut.loss, loss)
        for octets in frames:
            for start in range(0, len(octets), OCTETS):
                part = octets[start : start + OCTETS]
                beat = {
                    "data": [*part, *bytes(OCTETS - len(part))],
                    "keep": (1 << len(part)) - 1,
                    "first": start == 0,
                    "last": start + OCTETS >= len(octets),
                }
                while rng.random() < 0.2:
                    await ctx.tick()
                ctx.set(dut.i.payload, beat)
                ctx.set(dut.i.valid, 1)
                await ctx.tick().until(dut.i.ready)
                ctx.set(dut.i.valid, 0)

    async def collect(ctx):
        octets = bytearray()
        while True:
            ctx.set(dut.o.ready, rng.random() < 0.8)
            if ctx.get(dut.o.valid) and ctx.get(dut.o.ready):
                beat = ctx.get(dut.o.payload)
                octets += bytes(beat.data)[: beat.keep.bit_count()]
                if beat.last:
                    got.append(bytes(octets))
                    octets.clear()
            for name in events:
                events[name] += ctx.get(dut.events[name])
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(drive)
    sim.add_testbench(collect, background=True)
    sim.run_until((60 * len(frames) + 3000) * 1e-8)
    return got, events


def test_fabric_forwards_as_three_switches():
    frames = [frame(1 + n % 4, payload=bytes(range(8 + n))) for n in range(20)]
    got, events = run_fabric(frames)
    assert got == [forwarded(each) for each in frames]
    assert events == {"forwarded": 20, "lost": 0, "killed": 0, "strays": 0}


def test_dead_spine_loses_its_frames_and_no_others():
    frames = [frame(1 + n % 4) for n in range(16)]
    got, events = run_fabric(frames, dead=0b0101)
    assert got == [forwarded(each) for n, each in enumerate(frames) if n % 4 in (1, 3)]
    assert events == {"forwarded": 8, "lost": 0, "killed": 8, "strays": 0}


def test_what_no_switch_knows_is_lost():
    frames = [frame(0), frame(5), frame(1, ethertype=0x0800), frame(1)[:40], frame(2)]
    got, events = run_fabric(frames)
    assert got == [forwarded(frames[-1])]
    assert events == {"forwarded": 1, "lost": 0, "killed": 0, "strays": 4}


def test_loss_is_about_as_asked_for():
    frames = [frame(1, payload=b"12345678")] * 400
    got, events = run_fabric(frames, loss=6554)
    assert 15 < events["lost"] < 80
    assert len(got) == events["forwarded"] == 400 - events["lost"]


def test_fabric_refuses_seed_zero():
    with pytest.raises(ValueError, match=r"^seed must be from 1 to 65535, not 0$"):
        FabricPath(destination=1, source=2, seed=0)


def test_source_reads_the_pattern():
    dut = PatternSource()
    got = []

    async def read(ctx):
        ctx.set(dut.axi.araddr, 0x1000)
        ctx.set(dut.axi.arlen, 3)
        ctx.set(dut.axi.arvalid, 1)
        await ctx.tick().until(dut.axi.arready)
        ctx.set(dut.axi.arvalid, 0)
        ctx.set(dut.axi.rready, 1)
        for _ in range(4):
            assert ctx.get(dut.axi.rvalid)
            got.append((ctx.get(dut.axi.rdata), ctx.get(dut.axi.rlast)))
            await ctx.tick()
        assert not ctx.get(dut.axi.rvalid)

    simulate(dut, read, cycles=20)
    assert got == [(pattern(0x1000 + 8 * n), int(n == 3)) for n in range(4)]


@pytest.mark.parametrize("flip", [None, 0, 37, 63])
def test_sink_counts_right_octets_and_sees_each_wrong_one(flip):
    dut = PatternSink()
    octets, wrong = 0, 0

    async def write(ctx):
        nonlocal octets, wrong
        ctx.set(dut.axi.awaddr, 0x2000)
        ctx.set(dut.axi.awvalid, 1)
        await ctx.tick().until(dut.axi.awready)
        ctx.set(dut.axi.awvalid, 0)
        ctx.set(dut.axi.wvalid, 1)
        for n, strobe in enumerate((0xFF, 0x0F)):
            data = pattern(0x2000 + 8 * n)
            if n == 0 and flip is not None:
                data ^= 1 << flip
            ctx.set(dut.axi.wdata, data)
            ctx.set(dut.axi.wstrb, strobe)
            ctx.set(dut.axi.wlast, n)
            assert ctx.get(dut.axi.wready)
            await ctx.tick()
        ctx.set(dut.axi.wvalid, 0)
        assert ctx.get(dut.axi.bvalid)
        ctx.set(dut.axi.bready, 1)
        for _ in range(4):
            octets += ctx.get(dut.octets)
            wrong += ctx.get(dut.wrong)
            await ctx.tick()
        assert not ctx.get(dut.axi.bvalid)

    simulate(dut, write, cycles=20)
    assert (octets, wrong) == ((12, 0) if flip is None else (11, 1))


def test_sequencer_writes_and_waits():
    steps = [Step(True, 0x10, 5), Step(False, 0x20, 7), Step(True, 0x30, 9)]
    dut = Sequencer(steps)
    answers = iter((0, 1, 7))
    seen = []

    async def serve(ctx):
        axil = dut.axil
        for name in ("awready", "wready", "arready"):
            ctx.set(getattr(axil, name), 1)
        while not ctx.get(dut.done):
            await ctx.tick()
            ctx.set(axil.bvalid, 0)
            ctx.set(axil.rvalid, 0)
            if ctx.get(axil.awvalid):
                seen.append(("write", ctx.get(axil.awaddr), ctx.get(axil.wdata)))
                ctx.set(axil.bvalid, 1)
            if ctx.get(axil.arvalid):
                seen.append(("read", ctx.get(axil.araddr)))
                ctx.set(axil.rdata, next(answers))
                ctx.set(axil.rvalid, 1)

    simulate(dut, serve, cycles=100)
    assert seen == [("write", 0x10, 5), *[("read", 0x20)] * 3, ("write", 0x30, 9)]


def test_set_up_is_the_drivers():
    config = PRESETS["tiny"]
    setup = setup_of(config, number=0, peer=1)
    names = {r.address: r.name for r in register_map(config)}
    written = [names.get(step.address) for step in setup.steps if step.write]
    assert written[-1] == "port0_enable"
    assert written.count("table_control") == config.evs + 3  # and profile, region, QP
    assert setup.steps[0] == Step(False, 0, 0x4D52434E)
    assert setup_of(config, number=0, peer=1) == setup
    assert setup_of(config, number=1, peer=0) != setup


@pytest.mark.parametrize("divisor", [4, 7])
def test_serial_line(divisor):
    sender, receiver = UartSender(divisor=divisor), UartReceiver(divisor=divisor)
    m = Module()
    m.submodules.sender, m.submodules.receiver = sender, receiver
    m.d.comb += receiver.line.eq(sender.line)
    text = b"\x00U\xff\x80k1"
    got = bytearray()

    async def send(ctx):
        for octet in text:
            ctx.set(sender.i.payload, octet)
            ctx.set(sender.i.valid, 1)
            await ctx.tick().until(sender.i.ready)
        ctx.set(sender.i.valid, 0)

    async def receive(ctx):
        while len(got) < len(text):
            await ctx.tick()
            if ctx.get(receiver.valid):
                got.append(ctx.get(receiver.octet))

    simulate(m, send, receive, cycles=200 * divisor)
    assert got == text


def test_reporter():
    dut = Reporter(["a", "bc"], period=200)
    text = bytearray()

    async def read(ctx):
        ctx.set(dut.values[0], 0x0123_4567)
        ctx.set(dut.values[1], 0x89AB_CDEF)
        ctx.set(dut.o.ready, 1)
        while not text.endswith(b"\n"):
            await ctx.tick()
            if ctx.get(dut.o.valid):
                text.append(ctx.get(dut.o.payload))

    simulate(dut, read, cycles=400)
    assert text == b"a=01234567 bc=89ABCDEF\r\n"
