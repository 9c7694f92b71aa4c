"""Bench: mutated frames into a receiving lane, back to back; everything that comes out is known.

The MAC never waits and the engine always takes, so nothing may be lost: each frame has the fate
that the reference says, in its order, and what comes out of the lane is what that leaves of the
frames, bit for bit. So a good frame is not changed by a bad one before or behind it.
"""

import json
import os
import random
from collections import Counter, deque
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import LaneSettings
from mrcnic.hdl.ingress.reasons import EVENTS
from mrcnic.hdl.packet.beat import Beat
from mrcnic.hdl.wire.opcodes import Dscp, Role
from mrcnic.sim.bench.descriptor_maker import DescriptorMaker
from mrcnic.sim.bench.frame_fuzzer import FuzzFrame, fuzz_frames, fuzz_rules, writes_of_every_length
from mrcnic.sim.bench.judge import TO_HOST, judge

#: VLANs of the port, in turn.
_TAGS = ((), (5,), (7, 5))

#: Frames whose fates are known ahead of the lane.
_CHUNK = 200

#: Cycles after which nothing may be under way any more.
_DRAIN = 2000

_REQUESTS = (*range(0xC6, 0xCC), 0xDE)
_ENDPOINTS = (0xD8, 0xD9)
_SINGLE = {name for name in EVENTS if name not in ("rx_to_host", "rx_host_no_room", "rx_no_room")}


def lane_settings(rules):
    """Return settings for ``rules``."""
    port = {"usid": rules.own & 0xFFFF, "enable": 1, "tags": len(rules.tags)}
    port |= dict(zip(("inner_tag", "outer_tag"), reversed(rules.tags), strict=False))
    return {
        "loopback": rules.loopback,
        "loopback_ipv4": rules.loopback_ipv4,
        "block": rules.own >> 16,
        "udp_port": rules.udp_ports[0],
        "udp_port_alternative": rules.udp_ports[1],
        "dscp": [Dscp[role.name].value for role in Role],
        "port": port,
    }


class Wanted:
    """What has to come out, and a check of what does."""

    def __init__(self, config, rules):
        self.rules = rules
        self.maker = DescriptorMaker(config)
        self.fates = deque()
        self.queues = {name: deque() for name in ("requests", "responses", "endpoints")}
        self.packets = {name: deque() for name in ("payload", "host")}
        self.partial = {"payload": b"", "host": b""}
        self.counts = Counter()

    def add(self, frame):
        """Note what has to become of ``frame``."""
        fate = judge(frame.octets, self.rules, bad=frame.bad)
        assert (
            not frame.good or fate.event in ("rx_packets", "rx_trimmed") or self._is_foreign(fate)
        )
        self.fates.append((fate.event, frame.octets))
        if self._is_foreign(fate):
            self.packets["host"].append(frame.octets)
        if fate.payload:
            self.packets["payload"].append(fate.payload)
        if fate.inner:
            opcode = fate.inner[48 if fate.inner[0] >> 4 == 6 else 28]
            if opcode in _ENDPOINTS:
                self.queues["endpoints"].append(fate.inner)
            elif opcode in _REQUESTS:
                self.queues["requests"].append(self.maker.make(fate))
            else:
                self.queues["responses"].append(self.maker.make(fate))

    @staticmethod
    def _is_foreign(fate):
        return fate.event in TO_HOST

    def see_events(self, events):
        """Check the events of a cycle."""
        names = [name for number, name in enumerate(EVENTS) if events >> number & 1]
        self.counts.update(names)
        for name in _SINGLE.intersection(names):
            event, octets = self.fates.popleft()
            assert name == event, f"{name} instead of {event}: {octets.hex()}"

    def see_descriptor(self, name, number):
        """Check a descriptor or an endpoint packet."""
        wanted = self.queues[name].popleft()
        if name != "endpoints":
            assert number == wanted, f"{name}: {number:#x} instead of {wanted:#x}"

    def see_beat(self, name, octets, last):
        """Check a beat of payload, or of a frame for the host."""
        self.partial[name] += octets
        if last:
            wanted = self.packets[name].popleft()
            assert self.partial[name] == wanted, f"{name}: {wanted.hex()} came out otherwise"
            self.partial[name] = b""

    def is_done(self):
        """Return whether all of it has come out."""
        rest = (self.fates, *self.queues.values(), *self.packets.values(), *self.partial.values())
        return not any(rest)


class Lane:
    """The design: one beat in, and everything out, in each cycle."""

    def __init__(self, dut, config):
        self.dut = dut
        self.beat_octets = config.beat_octets
        place = {name: entry.offset for name, entry in Beat(config.beat_octets, user_shape=1)}
        self._keep, self._last = place["keep"], place["last"]
        self._first, self._user = place["first"], place["user"]
        self._descriptors = [
            (name, getattr(dut, f"{name}__valid"), getattr(dut, f"{name}__payload"))
            for name in ("requests", "responses", "endpoints")
        ]
        self._beats = [
            (name, getattr(dut, f"{name}__valid"), getattr(dut, f"{name}__payload"))
            for name in ("payload", "host")
        ]

    def cut(self, frame):
        """Return a frame's beats."""
        octets, size = frame.octets, self.beat_octets
        for start in range(0, len(octets), size):
            part = octets[start : start + size]
            is_last = start + size >= len(octets)
            yield (
                int.from_bytes(part, "little")
                | (1 << len(part)) - 1 << self._keep
                | (start == 0) << self._first
                | is_last << self._last
                | (is_last and frame.bad) << self._user
            )

    async def step(self, wanted):
        """Let a cycle pass, and check what it brings."""
        dut = self.dut
        await RisingEdge(dut.clk)
        if events := int(dut.events.value):
            wanted.see_events(events)
        for name, valid, payload in self._descriptors:
            if valid.value:
                wanted.see_descriptor(name, int(payload.value))
        for name, valid, payload in self._beats:
            if valid.value:
                beat = int(payload.value)
                count = (beat >> self._keep & (1 << self.beat_octets) - 1).bit_count()
                octets = (beat & (1 << 8 * count) - 1).to_bytes(count, "little")
                wanted.see_beat(name, octets, beat >> self._last & 1)


async def start(dut, config, rules):
    """Reset a lane that goes by ``rules``, with everybody behind it ready."""
    dut.i__valid.value = 0
    dut.i__payload.value = 0
    for name in ("requests", "responses", "endpoints", "payload", "host"):
        getattr(dut, f"{name}__ready").value = 1
    dut.settings.value = LaneSettings(config).const(lane_settings(rules)).as_bits()
    dut.rst.value = 1
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0


async def drain(dut, lane, wanted, limit):
    """Wait until everything has come out."""
    dut.i__valid.value = 0
    for _ in range(limit):
        if wanted.is_done():
            return
        await lane.step(wanted)
    assert wanted.is_done(), "something has not come out"


@cocotb.test()
async def frames_of_every_length_pass(dut):
    """Back to back, a beat in each cycle: the host's, from shortest to longest, and writes."""
    config = NicConfig(**json.loads(os.environ["CONFIG"]))
    lane = Lane(dut, config)
    Clock(dut.clk, 2, unit="ns").start()
    rules = fuzz_rules(mtu=config.mtu, tags=())
    await start(dut, config, rules)
    wanted = Wanted(config, rules)
    lengths = [*range(60, 400), *range(400, 9216, 97), 9216, *[64] * 300]
    foreign = [FuzzFrame(bytes(n % 251 for n in range(length)), good=True) for length in lengths]
    for frame in (*foreign, *writes_of_every_length(rules)):
        wanted.add(frame)
        for beat in lane.cut(frame):
            dut.i__payload.value = beat
            dut.i__valid.value = 1
            await lane.step(wanted)
    # The longest frame has left long ago; the last one takes the lane's own time and its payload's.
    await drain(dut, lane, wanted, limit=32 + config.mtu // config.beat_octets)
    assert not wanted.counts["rx_host_no_room"]


@cocotb.test()
async def mutated_frames_do_no_harm(dut):
    """In each VLAN setting, a third of the frames."""
    config = NicConfig(**json.loads(os.environ["CONFIG"]))
    mutated = int(os.environ["MUTATED"])
    seed = int(os.environ["SEED"])
    lane = Lane(dut, config)
    Clock(dut.clk, 2, unit="ns").start()
    counts, frames_sent, cycles = Counter(), 0, 0
    for turn, tags in enumerate(_TAGS):
        rng = random.Random(f"{seed} {turn}")
        rules = fuzz_rules(mtu=config.mtu, tags=tags)
        await start(dut, config, rules)
        wanted = Wanted(config, rules)
        share = mutated * (turn + 1) // len(_TAGS) - mutated * turn // len(_TAGS)
        for frame in fuzz_frames(rng, share, rules):
            wanted.add(frame)
            frames_sent += 1
            for beat in lane.cut(frame):
                dut.i__payload.value = beat
                dut.i__valid.value = 1
                await lane.step(wanted)
                cycles += 1
            if not rng.randrange(8):
                dut.i__valid.value = 0
                await lane.step(wanted)
            assert len(wanted.fates) < _CHUNK, "the lane hangs"
        await drain(dut, lane, wanted, _DRAIN)
        counts += wanted.counts
    report = {"frames": frames_sent, "beats": cycles, "events": dict(counts)}
    Path(os.environ["REPORT"]).write_text(json.dumps(report))
