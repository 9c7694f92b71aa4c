"""Bench: frames out of an outward lane, as the Verilog that gets built has it, read by scapy."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from lane_frames import CARRIER, TIMESTAMP, V2, V3, V4, V7, descriptor, frame, settings, write
from scapy.contrib.roce import BTH
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import SlotRead, TxDescriptor
from mrcnic.hdl.packet.beat import Beat
from mrcnic.sim.bench.cocotb_streams import StreamSink, StreamSource
from mrcnic.sim.bench.packets import from_beats, to_beats

CONFIG = NicConfig(lanes=1, mtu=256)


def random_packets(rng, count):
    packets = []
    for _ in range(count):
        if rng.random() < 0.7:
            length = rng.choice([rng.randint(1, 256), 256, 6, 7, 10])
            packets.append((write(rng, srv6=rng.getrandbits(1)), rng.randbytes(length)))
        else:
            kind = rng.choice([V2, V3, V4, V7])[0]
            packets.append(({**kind, "srv6": rng.getrandbits(1), "carrier": CARRIER}, b""))
    return packets


def check_with_scapy(octets, fields):
    """Have scapy take the frame apart, and make the ICRC anew."""
    packet = Ether(octets)[IPv6]
    if fields["srv6"]:
        assert (packet.nh, packet.plen) == (41, len(octets) - 54)
        assert int.from_bytes(octets[38:54], "big") == fields["carrier"]
        packet = packet.payload
    udp = packet[UDP]
    assert (packet.nh, udp.dport, udp.chksum) == (17, 4791, 0)
    assert udp.sport << 16 | packet.fl == fields["ev"]
    assert udp.len == packet.plen
    bth = BTH(bytes(udp.payload)[:-4])
    assert (bth.opcode, bth.dqpn, bth.psn) == (fields["opcode"], fields["dqp"], fields["psn"])
    udp.remove_payload()
    again = bytes(packet / BTH(bytes(octets[(54 if fields["srv6"] else 14) + 48 :])))
    assert again[-4:] == octets[-4:], "scapy makes another ICRC"


async def serve(source, sink, payloads, *, pause):
    for slot, payload in payloads:
        (read,) = await sink.receive(1)
        assert (read.slot, read.octets) == (slot, len(payload))
        await source.send(to_beats(payload, source.layout), pause=pause)


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(pause=[0, 0.4])
async def frames_are_right(dut, pause):
    rng = random.Random(cocotb.RANDOM_SEED)
    packets = random_packets(rng, int(os.environ["PACKETS"]))
    layout = Beat(CONFIG.beat_octets)

    def pauses():
        return rng.random() < pause

    dut.settings.value = settings(CONFIG).as_bits()
    dut.now.value = TIMESTAMP
    dut.up.value = 1
    for name in ("i__valid", "payload__valid", "fetch__ready", "o__ready"):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    Clock(dut.clk, 2, unit="ns").start()
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0

    descriptors = StreamSource(dut, "i", TxDescriptor(CONFIG), clk=dut.clk)
    payload = StreamSource(dut, "payload", layout, clk=dut.clk)
    fetch = StreamSink(dut, "fetch", SlotRead(CONFIG), clk=dut.clk)
    mac = StreamSink(dut, "o", layout, clk=dut.clk)

    slots = [n % CONFIG.slots for n in range(len(packets))]
    frames = [frame(*packet) for packet in packets]
    beats = sum(-(-len(octets) // CONFIG.beat_octets) for octets in frames)
    sent = [
        descriptor(CONFIG, fields, octets=len(octets), slot=slot)
        for slot, (fields, octets) in zip(slots, packets, strict=True)
    ]
    stored = [(slot, octets) for slot, (_, octets) in zip(slots, packets, strict=True) if octets]
    cocotb.start_soon(descriptors.send(sent, pause=pauses))
    cocotb.start_soon(serve(payload, fetch, stored, pause=pauses))
    received = from_beats(await mac.receive(beats, pause=pauses))
    assert received == frames
    for octets, (fields, _) in zip(received, packets, strict=True):
        check_with_scapy(octets, fields)
