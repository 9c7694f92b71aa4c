"""Frames for tests of a receiving lane, and a run of one in Amaranth's own simulator."""

import json
from collections import Counter
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from amaranth.hdl import Cat

from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.ingress.lane import IngressLane
from mrcnic.hdl.ingress.reasons import EVENTS
from mrcnic.hdl.packet.beat import Beat
from mrcnic.hdl.wire.headers import BTH, ETHERNET, IPV4, IPV6, METH, RETH, TSETH, UDP
from mrcnic.hdl.wire.icrc import icrc
from mrcnic.hdl.wire.opcodes import Dscp, Opcode, Role
from mrcnic.sim.bench.judge import LaneRules
from mrcnic.sim.bench.packets import from_beats
from mrcnic.sim.bench.streams import simulate

A = int(IPv6Address("2001:db8:a::1"))
B = int(IPv6Address("2001:db8:b::1"))
#: The same two as IPv4 has them.
IPV4_A = int(IPv4Address("192.0.2.1"))
IPV4_B = int(IPv4Address("192.0.2.2"))
BLOCK = 0x5F000001
USID = 0x2C05
OWN = BLOCK << 16 | USID

#: What a lane at B goes by.
RULES = LaneRules(loopback=B, loopback_ipv4=IPV4_B, own=OWN, mtu=1024)
#: Carriers as they arrive: after three hops, and before the first one.
ARRIVED = int(IPv6Address("5f00:1:2c05::"))
UNDERLAY = int(IPv6Address("3fff:0:2::1"))

_VECTORS = Path(__file__).parents[2] / "vectors"

#: Literal packets by name, from an IPv6 header on: V* are the protocol's, D*, R1 (writes), K*, N*,
#: A* (control) and P1 are between A and B. O* are outer headers of D1, X* and H1 routing headers.
PACKETS = {
    **{row["name"]: row["hex"] for row in json.loads((_VECTORS / "mrc_a1.json").read_text())},
    **json.loads((_VECTORS / "received.json").read_text()),
}
PACKETS = {name: bytes.fromhex(digits) for name, digits in PACKETS.items()}

#: Events that come besides the one that each frame has.
_BESIDES = ("rx_no_room", "rx_to_host", "rx_host_no_room")

_OUTER_FIELDS = {"version": 6, "dscp": 8, "ecn": 2, "next_header": 41, "hop_limit": 64}


def ethernet(packet, ether_type=0x86DD):
    """Put an Ethernet header before a packet."""
    header = ETHERNET.pack(destination=0x020000000001, source=0x020000000002, ether_type=ether_type)
    return header + packet


def tunnel(packet, routing=b"", **fields):
    """Put an outer IPv6 header, and perhaps a routing header, before a packet; then Ethernet's."""
    values = {
        **_OUTER_FIELDS,
        "source": UNDERLAY,
        "destination": ARRIVED,
        "payload_length": len(routing) + len(packet),
        **({"next_header": 43} if routing else {}),
        **fields,
    }
    return ethernet(IPV6.pack(**values) + routing + packet)


def plain(packet):
    """Send a packet without an outer header."""
    return ethernet(packet, ether_type=0x0800 if packet[0] >> 4 == 4 else 0x86DD)


def tagged(frame, *tags):
    """Put VLAN tags into a frame, each given as its type and its control information."""
    octets = b"".join(kind.to_bytes(2, "big") + tci.to_bytes(2, "big") for kind, tci in tags)
    return frame[:12] + octets + frame[12:]


def write(payload, *, opcode=Opcode.WRITE_ONLY, timestamped=1, pad=None, immediate=None, **fields):
    """Make a write from A to B; ``fields`` replace any field of IPv6, UDP, BTH, METH, or RETH."""
    with_immediate = opcode in (Opcode.WRITE_LAST_IMM, Opcode.WRITE_ONLY_IMM)
    extension = METH.pack(rqmsn=fields.pop("rqmsn", 0), msn=fields.pop("msn", 0x21))
    if timestamped:
        extension += TSETH.pack(tx_timestamp=0x1234, ftype=1)
    extension += RETH.pack(va=fields.pop("va", 0x100000), rkey=0x0BADCAFE, dmalen=len(payload))
    if with_immediate:
        extension += (0xCAFEF00D if immediate is None else immediate).to_bytes(4, "big")
    real_pad = -len(payload) % 4
    fields = {"pad": real_pad if pad is None else pad, "timestamped": timestamped, **fields}
    return packet(opcode, extension + payload + bytes(real_pad), **fields)


def packet(opcode, rest, *, good=True, ipv4=False, **fields):
    """Make a packet of which ``rest`` stands behind the BTH, up to the pad."""
    length = UDP.octets + BTH.octets + len(rest) + 4
    udp = {"source_port": 0xC005, "destination_port": 4791, "length": length}
    bth = {"opcode": opcode, "p_key": 0xFFFF, "dqp": 0x12, "psn": 0x105}
    ip = {
        "version": 6,
        "dscp": 8,
        "ecn": 2,
        "flow_label": 0x2010,
        "payload_length": length,
        "next_header": 17,
        "hop_limit": 64,
        "source": A,
        "destination": B,
    }
    if ipv4:
        ip = {
            "version": 4,
            "header_length": 5,
            "dscp": 8,
            "ecn": 2,
            "total_length": IPV4.octets + length,
            "identification": 0xBEEF,
            "do_not_fragment": 1,
            "time_to_live": 64,
            "protocol": 17,
            "source": IPV4_A,
            "destination": IPV4_B,
        }
        changed = {name: value for name, value in fields.items() if name in IPV4.fields}
        words = int.from_bytes(IPV4.pack(**{**ip, **changed}), "big")
        ip["checksum"] = 0xFFFF - words % 0xFFFF
    values = {**ip, **udp, **bth, **fields}
    octets = b""
    for header in (IPV4 if ipv4 else IPV6, UDP, BTH):
        chosen = {name: values.pop(name) for name in header.fields if name in values}
        octets += header.pack(**chosen)
    assert not values, f"no header has {', '.join(values)}"
    octets += rest
    check = icrc(octets)
    return octets + (check if good else bytes([check[0] ^ 1]) + check[1:])


def settings(*, loopback=B, enable=1, port=None, **fields):
    """Make settings of a lane that is at B; ``port`` has more of the port's."""
    port = port or {}
    return {
        "loopback": loopback,
        "loopback_ipv4": IPV4_B,
        "block": BLOCK,
        "udp_port": 4791,
        "udp_port_alternative": 4971,
        "dscp": [Dscp[role.name].value for role in Role],
        "port": {"usid": USID, "enable": enable, **port},
        **fields,
    }


@dataclass
class Received:
    """What came out of a lane."""

    requests: list = field(default_factory=list)
    responses: list = field(default_factory=list)
    payloads: list = field(default_factory=list)
    endpoints: list = field(default_factory=list)
    host: list = field(default_factory=list)
    events: Counter = field(default_factory=Counter)
    sequence: list = field(default_factory=list)  # what became of each frame, in order
    times: list = field(default_factory=list)  # cycles in which requests were taken


def config_of(beat_octets, **fields):
    """Return a small configuration."""
    return PRESETS["tiny"].override(beat_octets=beat_octets, **fields)


def beats_of(frames, beat_octets):
    """Cut frames into beats, as numbers; a frame may come with the MAC's opinion of it."""
    offsets = {name: entry.offset for name, entry in Beat(beat_octets, user_shape=1)}
    for item in frames:
        frame, bad = item if isinstance(item, tuple) else (item, 0)
        for start in range(0, len(frame), beat_octets):
            octets = frame[start : start + beat_octets]
            last = start + beat_octets >= len(frame)
            yield (
                int.from_bytes(octets, "little") << offsets["data"]
                | (1 << len(octets)) - 1 << offsets["keep"]
                | (start == 0) << offsets["first"]
                | last << offsets["last"]
                | (last and bad) << offsets["user"]
            )


def receive(frames, beat_octets=64, *, gap=lambda: 0, ready=lambda cycle: True, **kwargs):
    """Put frames into a lane, back to back unless ``gap()`` says otherwise; drain all outputs.

    Among the keyword arguments, ``config`` replaces the sizes, ``steer(number)`` may return fields
    of the settings that change with beat ``number``, ``host_ready`` says whether there is a host,
    others are fields of the settings.
    """
    config = kwargs.pop("config", None) or config_of(beat_octets)
    steer = kwargs.pop("steer", lambda cycle: None)
    host_ready = kwargs.pop("host_ready", True)
    dut = IngressLane(config)
    result = Received()
    done = []

    async def producer(ctx):
        ctx.set(dut.settings, settings(**kwargs))
        for number, beat in enumerate(beats_of(frames, beat_octets)):
            for _ in range(gap()):
                await ctx.tick()
            if (change := steer(number)) is not None:
                ctx.set(dut.settings, settings(**{**kwargs, **change}))
            ctx.set(dut.i.payload.as_value(), beat)
            ctx.set(dut.i.valid, 1)
            assert ctx.get(dut.i.ready) == 1
            await ctx.tick()
            ctx.set(dut.i.valid, 0)
        done.append(True)

    async def consumer(ctx):
        beats, host_beats = [], []
        outputs = (dut.requests, dut.responses, dut.endpoints, dut.payload, dut.host)
        lists = (result.requests, result.responses, result.endpoints, beats, host_beats)
        valid = Cat(port.valid for port in outputs)
        was_ready = None
        quiet = 0
        cycle = 0
        while quiet < 40:
            is_ready = ready(cycle)
            if is_ready != was_ready:
                was_ready = is_ready
                for port in outputs:
                    ctx.set(port.ready, is_ready)
                ctx.set(dut.host.ready, is_ready and host_ready)
            offered = ctx.get(valid)  # nothing changes before the edge
            if not host_ready:
                offered &= (1 << len(outputs) - 1) - 1  # the host is the last of them
            for index, taken in enumerate(lists):
                if is_ready and offered >> index & 1:
                    taken.append(ctx.get(outputs[index].payload))
                    if index == 0:
                        result.times.append(cycle)
            _, _, events = await ctx.tick().sample(dut.events.as_value())
            names = [name for number, name in enumerate(EVENTS) if events >> number & 1]
            result.events.update(names)
            result.sequence += [name for name in names if name not in _BESIDES]
            quiet = 0 if events or offered or not done else quiet + 1
            cycle += 1
        result.payloads = from_beats(beats)
        result.host = from_beats(host_beats)

    simulate(dut, producer, consumer, max_cycles=60_000)
    return result
