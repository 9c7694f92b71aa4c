"""Bench: packets that scapy made, into the lane as the Verilog that gets built has it."""

import os
import random
from ipaddress import IPv6Address

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from received import ARRIVED, UNDERLAY, A, B, beats_of, config_of, settings
from scapy.contrib.roce import BTH
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrSegmentRouting
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from mrcnic.hdl.descriptor.inwards import RxDescriptor
from mrcnic.hdl.descriptor.settings import LaneSettings
from mrcnic.hdl.ingress.reasons import EVENTS
from mrcnic.hdl.packet.beat import Beat
from mrcnic.sim.bench.packets import from_beats

ETHER = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02", type=0x86DD)
TIMESTAMPED, RESENT = 0x10, 0x20  # in scapy's 7 bits behind the acknowledge request


def text(address):
    return str(IPv6Address(address))


def inner_of(rng, opcode, extension, payload=b"", flags=0):
    """Make an inner packet, and say what the engine is to learn of it."""
    fields = {
        "psn": rng.getrandbits(24),
        "dqp": rng.getrandbits(24),
        "ev": rng.getrandbits(32),
        "ack_request": rng.getrandbits(1),
        "opcode": opcode,
        "octets": len(payload),
        "retransmission": flags >> 5 & 1,
    }
    ecn = rng.choice([0, 2, 3])
    pad = -len(payload) % 4
    packet = (
        IPv6(src=text(A), dst=text(B), fl=fields["ev"] & 0xFFFF, tc=8 << 2 | ecn, hlim=61)
        / UDP(sport=fields["ev"] >> 16, dport=rng.choice([4791, 4971]), chksum=0)
        / BTH(
            opcode=opcode,
            padcount=pad,
            dqpn=fields["dqp"],
            ackreq=fields["ack_request"],
            resv7=flags,
            psn=fields["psn"],
        )
        / Raw(extension + payload + bytes(pad))
    )
    return bytes(packet), fields | {"ce": int(ecn == 3)}


def frame_of(rng, inner, fields):
    """Put an outer header before it, or none; congestion may be marked there."""
    kind = rng.choice(["plain", "tunnel", "routed"])
    if kind == "plain":
        return bytes(ETHER / Raw(inner)), fields
    ecn = rng.choice([2, 3]) if inner[1] >> 4 & 3 else 0  # unmarkable outside, if inside
    outer = IPv6(src=text(UNDERLAY), dst=text(ARRIVED), tc=8 << 2 | ecn, nh=41)
    if kind == "routed":
        segments = [text(ARRIVED)] * rng.randint(1, 3)
        outer.nh = 43
        outer = outer / IPv6ExtHdrSegmentRouting(addresses=segments, segleft=0, nh=41)
    return bytes(ETHER / outer / Raw(inner)), fields | {"ce": fields["ce"] | (ecn == 3)}


def traffic(rng, count):
    """Make frames, what the engine is to learn of each good one, and how many are bad."""
    frames, known, payloads, bad = [], [], [], 0
    for _ in range(count):
        flags = rng.choice([0, TIMESTAMPED, RESENT, TIMESTAMPED | RESENT])
        payload = b""
        opcode = rng.choice([0xC6, 0xC9, 0xCA, 0xCA, 0xCB, 0xDC, 0xDD, 0xDE, 0xD1])
        if opcode < 0xD0:
            payload = rng.randbytes(rng.choice([0, rng.randint(1, 140), rng.randint(1, 600)]))
            options = bool(flags & TIMESTAMPED) + (opcode in (0xC9, 0xCB))
            extension = rng.randbytes(20 + 4 * options)
        else:
            extension = rng.randbytes({0xDC: 36, 0xDD: 20, 0xDE: 16, 0xD1: 4}[opcode])
        frame, fields = frame_of(rng, *inner_of(rng, opcode, extension, payload, flags))
        if rng.random() < 0.2:  # an octet that the ICRC covers
            place = rng.randint(1, min(16, len(payload) + 4))
            frame = frame[:-place] + bytes([frame[-place] ^ 0x40]) + frame[len(frame) - place + 1 :]
            bad += 1
        else:
            known.append(fields)
            payloads += [payload] if payload else []
        frames.append(frame)
    return frames, known, payloads, bad


async def send(dut, beats, pause):
    for beat in beats:
        while pause():
            await RisingEdge(dut.clk)
        dut.i__payload.value = beat
        dut.i__valid.value = 1
        await RisingEdge(dut.clk)
        dut.i__valid.value = 0


async def take(dut, name, layout, taken, pause):
    valid, ready = getattr(dut, f"{name}__valid"), getattr(dut, f"{name}__ready")
    payload = getattr(dut, f"{name}__payload")
    while True:
        is_ready = not pause()
        ready.value = is_ready
        await RisingEdge(dut.clk)
        if is_ready and valid.value:
            taken.append(layout.from_bits(payload.value.to_unsigned()))


async def count_events(dut, counts):
    while True:
        await RisingEdge(dut.clk)
        if events := dut.events.value.to_unsigned():
            for number, name in enumerate(EVENTS):
                counts[name] = counts.get(name, 0) + (events >> number & 1)


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(busy=[0, 0.3])
async def what_scapy_sends_is_understood(dut, busy):
    """At full rate, and with pauses on all sides."""
    rng = random.Random(cocotb.RANDOM_SEED)
    beat_octets = int(os.environ["BEAT_OCTETS"])
    config = config_of(beat_octets)
    frames, known, payloads, bad = traffic(rng, int(os.environ["FRAMES"]))
    dut.i__valid.value = 0
    dut.i__payload.value = 0
    for name in ("requests", "responses", "payload"):
        getattr(dut, f"{name}__ready").value = 0
    dut.settings.value = LaneSettings(config).const(settings()).as_bits()
    dut.rst.value = 1
    Clock(dut.clk, 2, unit="ns").start()
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0

    descriptor, beat = RxDescriptor(config), Beat(beat_octets)
    requests, responses, beats, counts = [], [], [], {}

    def pause():
        return rng.random() < busy

    cocotb.start_soon(take(dut, "requests", descriptor, requests, pause))
    cocotb.start_soon(take(dut, "responses", descriptor, responses, pause))
    cocotb.start_soon(take(dut, "payload", beat, beats, pause))
    cocotb.start_soon(count_events(dut, counts))
    await send(dut, beats_of(frames, beat_octets), lambda: rng.random() < busy)
    await ClockCycles(dut.clk, 100)

    counts = {name: count for name, count in counts.items() if count}
    assert counts == {"rx_packets": len(known), **({"rx_icrc_error": bad} if bad else {})}
    assert from_beats(beats) == payloads
    for received, wanted in (
        (requests, [fields for fields in known if fields["opcode"] in (*range(0xC6, 0xCC), 0xDE)]),
        (responses, [fields for fields in known if fields["opcode"] in (0xD1, 0xDC, 0xDD)]),
    ):
        assert [{name: getattr(r, name) for name in known[0]} for r in received] == wanted
