"""The dissector for Wireshark, which tshark runs, against the codec."""

import os
import random
import re

import pytest
from codec_packets import VECTORS
from tshark import HEADERS, SCRIPT, TSHARK, dissected

from mrcnic.hdl.wire.icrc import icrc
from mrcnic.hdl.wire.opcodes import EtherType, NackReason, Opcode, Syndrome
from mrcnic.sim.codec.entropy import EvFields
from mrcnic.sim.codec.extensions import WRITE_OPCODES, extensions
from mrcnic.sim.codec.outer import Ethernet, VlanTag
from mrcnic.sim.codec.packet import Packet
from mrcnic.sim.codec.pcap import PcapWriter
from mrcnic.sim.codec.transit import trimmed

pytestmark = pytest.mark.skipif(not TSHARK, reason="tshark is not installed")

SEED = int(os.environ.get("MRCNIC_SEED", "0")) or random.randrange(1, 2**32)

#: Fields that take few of their values, or that other fields decide.
MEANINGS = {
    ("neth", "reason"): list(NackReason),
    ("aeth", "syndrome"): list(Syndrome),
    ("seth", "mark"): range(3),
    ("erth", "operation"): range(2),
    ("eeth", "operation"): range(2),
    ("tseth", "ftype"): [1],
    ("peth", "ftype"): [1],
    ("erth", "ftype"): [1],
}

PATH = tuple(0xFCBBBBBB << 96 | n << 80 for n in range(0x2401, 0x2409))
TAGS = (
    (),
    (VlanTag(vid=7),),
    (VlanTag(vid=4095, priority=7, ether_type=EtherType.SERVICE_VLAN), VlanTag(vid=1)),
)

#: Segments of the outer header's route, whether it is reduced; or no outer header.
ROUTES = (None, ((), False), *(
    (PATH[:count], reduced) for count in (1, 2, 8) for reduced in (False, True)
))  # fmt: skip


def made(rng, opcode, *, timestamped, ipv4, route, tags):
    """Return a packet with everything else at random."""

    def value(header, name, bits):
        return rng.choice(MEANINGS.get((header, name)) or [rng.getrandbits(bits)])

    address = 32 if ipv4 else 128
    packet = Packet(
        opcode=opcode,
        source=rng.getrandbits(address),
        destination=rng.getrandbits(address) | 1,
        ipv4=ipv4,
        ev=rng.getrandbits(16) << 16 if ipv4 else rng.getrandbits(32),
        dqp=rng.getrandbits(24),
        psn=rng.getrandbits(24),
        ack_request=rng.getrandbits(1),
        retransmission=rng.getrandbits(1),
        solicited=rng.getrandbits(1),
        migration=rng.getrandbits(1),
        reserved=rng.getrandbits(1),
        variant_reserved=rng.getrandbits(8),
        invariant_reserved=rng.getrandbits(4),
        extensions={
            header: {name: value(header, name, bits) for name, bits in table.fields.items()}
            for header, table in extensions(opcode, timestamped)
        },
        payload=rng.randbytes(rng.randrange(40)) if opcode in WRITE_OPCODES else b"",
        ecn=rng.choice((2, 3)),
        flow_label_high=0 if ipv4 else rng.getrandbits(4),
        udp_port=rng.choice((None, 4971)),
        ethernet=Ethernet(destination=0x020000000001, source=0x020000000002, tags=tags),
    )
    # Such ports belong to protocols that Wireshark looks for before it looks at the destination's.
    packet.ev |= 0xC0000000
    if route:
        segments, reduced = route
        packet = packet.encapsulated(1, PATH[0], segments=segments, reduced=reduced)
        packet.outer.ecn = rng.choice((2, 3))
    return packet


@pytest.fixture(scope="module")
def every_format():
    """Return every opcode in every format, and with some of them twice, for more values."""
    print(f"MRCNIC_SEED={SEED}")
    rng = random.Random(SEED)
    return [
        made(rng, opcode, timestamped=timestamped, ipv4=ipv4, route=route, tags=rng.choice(TAGS))
        for opcode in Opcode
        for timestamped in ((False, True) if opcode in WRITE_OPCODES else (False,))
        for ipv4 in (False, True)
        for route in ROUTES
    ]


def captured(path, frames):
    with PcapWriter(path) as writer:
        for n, frame in enumerate(frames):
            writer.write("a0", n, frame)
    return path


def values_of(row):
    """Return headers and fields as numbers, as the codec has them."""
    found = {}
    for header, table in HEADERS.items():
        texts = {name: row.get(f"mrc.{header}.{name}") for name in table.fields}
        if any(texts.values()):
            found[header] = {
                name: int(text.replace(":", ""), 16) if table.fields[name] > 64 else int(text, 0)
                for name, text in texts.items()
            }
    return found


def check(row, packet, frame):
    """Compare every field of a packet that is good."""
    values = values_of(row)
    bth = values.pop("bth")
    assert bth.pop("pad") == packet.pad
    assert bth.pop("timestamped") == packet.timestamped
    assert (bth.pop("tver"), bth.pop("p_key")) == (0, 0xFFFF)
    assert bth == {name: getattr(packet, name) for name in bth}
    assert values.pop("icrc")["crc"] == int.from_bytes(frame[-4:], "big")
    assert values == packet.extensions
    assert row["mrc.icrc.status"] == "1"
    assert bytes.fromhex(row.get("mrc.payload", "").replace(":", "")) == packet.payload
    fields = EvFields.unpack(packet.ev)
    assert int(row["mrc.ev"], 0) == packet.ev
    assert [int(row[f"mrc.ev.{name}"]) for name in EvFields._fields] == list(fields)
    assert row["mrc.ce"] in (("1", "True") if packet.ce else ("0", "False"))
    assert row["mrc.trimmed"] in ("0", "False")
    assert row["_ws.col.Info"].startswith(
        f"{Opcode(packet.opcode).name} QP {packet.dqp:#08x} PSN {packet.psn:#08x}"
    )
    assert "_ws.malformed" not in row
    assert "_ws.expert.message" not in row, row["_ws.expert.message"]


def test_every_opcode_in_every_format(tmp_path, every_format):
    frames = [packet.encode() for packet in every_format]
    rows = dissected(captured(tmp_path / "all.pcapng", frames))
    assert len(rows) == len(frames)
    for row, packet, frame in zip(rows, every_format, frames, strict=True):
        check(row, packet, frame)


def test_vectors(tmp_path):
    ethernet = bytes.fromhex("02000000000102000000000286dd")
    frames = [ethernet + octets for layer, octets in VECTORS.values() if "to ICRC" in layer]
    for row, frame in zip(dissected(captured(tmp_path / "v.pcapng", frames)), frames, strict=True):
        check(row, Packet.decode(frame), frame)


def test_trimmed(tmp_path, every_format):
    """Nothing is malformed about them, and what is left is shown."""
    packets = [packet for packet in every_format if packet.opcode in WRITE_OPCODES]
    packets = [packet for packet in packets if not packet.ipv4 or packet.outer]
    cut = [trimmed(packet.encode(), last_hop=bool(n % 2)) for n, packet in enumerate(packets)]
    rows = dissected(captured(tmp_path / "t.pcapng", cut))
    for row, packet, frame in zip(rows, packets, cut, strict=True):
        left = Packet.decode(frame)
        values = values_of(row)
        assert values.pop("bth")["psn"] == packet.psn
        assert values == left.extensions
        assert row["mrc.trimmed"] in ("1", "True")
        assert "_ws.malformed" not in row
        assert int(row["mrc.ev"], 0) == packet.ev
        assert "trimmed" in row["_ws.col.Info"]
        assert "mrc.icrc.status" not in row
        # Without a TSETH, four octets of what is behind are left.
        assert len(row.get("mrc.rest", "")) == (0 if packet.timestamped else 8)
        port = row.get("mrc.udp.source_port") or row["udp.srcport"]
        assert int(port) == packet.ev >> 16


D1 = VECTORS["D1"][1]
ETHERNET = bytes.fromhex("02000000000102000000000286dd")


def changed(place, octets, right=True):
    packet = D1[:place] + bytes.fromhex(octets) + D1[place + len(octets) // 2 :]
    return packet[:-4] + icrc(packet[:-4]) if right else packet


def other(name, place, octet):
    """Return a literal packet with another octet, and with an ICRC that fits."""
    packet = VECTORS[name][1][:place] + bytes([octet]) + VECTORS[name][1][place + 1 : -4]
    return packet + icrc(packet)


COMPLAINTS = (
    (changed(60, "01000021", right=False), "ICRC does not match"),
    (changed(len(D1) - 1, "00", right=False), "ICRC does not match"),
    (changed(49, "01"), "transport version is not 0"),
    (changed(50, "7fff"), "partition key is not ours"),
    (changed(48, "c0"), "opcode is not one of MRC"),
    (changed(48, "d1"), "lengths do not agree"),
    (changed(44, "003c"), "lengths do not agree"),
    (other("D0", 49, 0x30), "pad does not go with the payload"),
    (other("A1", 49, 0x10), "pad does not go with the payload"),
    (other("A1", 60, 0x99), "value has no meaning"),
    (other("N01", 62, 0x99), "value has no meaning"),
)


def test_complaints(tmp_path):
    frames = [ETHERNET + packet for packet, _ in COMPLAINTS]
    rows = dissected(captured(tmp_path / "c.pcapng", frames))
    for row, (packet, complaint) in zip(rows, COMPLAINTS, strict=True):
        assert complaint in row["_ws.expert.message"].split("|"), packet.hex()


def test_damage_of_any_octet_that_counts(tmp_path):
    """The ICRC is bad, or an earlier check has seen it; what it leaves out may be changed."""
    frames = []
    for place in range(40, len(D1)):
        packet = bytearray(ETHERNET + D1)
        packet[14 + place] ^= 0x40
        frames.append(bytes(packet))
    rows = dissected(captured(tmp_path / "d.pcapng", frames))
    bad = [row.get("mrc.icrc.status") != "1" for row in rows]
    assert [40 + place for place, one in enumerate(bad) if not one] == [46, 47, 52]


def test_preferences(tmp_path):
    path = captured(tmp_path / "s.pcapng", [ETHERNET + D1])
    (row,) = dissected(path, "-o", "mrc.swap_ev:TRUE")
    assert int(row["mrc.ev"], 0) == 0x2010C005
    (row,) = dissected(path, "-o", "mrc.p_key:4660")
    assert "partition key is not ours" in row["_ws.expert.message"]
    (row,) = dissected(path, "-o", "mrc.trimmed:8")
    assert row["mrc.trimmed"] in ("1", "True")


def test_other_packets_stay_with_other_dissectors(tmp_path):
    """RoCEv2 of another group on the same port, and UDP that is not ours at all."""
    roce = changed(48, "0a")
    dns = changed(42, "0035")
    rows = dissected(captured(tmp_path / "o.pcapng", [ETHERNET + roce, ETHERNET + dns]))
    protocols = [row["frame.protocols"] for row in rows]
    assert "infiniband" in protocols[0]
    assert protocols[1].endswith("dns")
    assert not any(name.startswith("mrc.") for row in rows for name in row)


def test_cut_captures(tmp_path):
    """Of a packet that is not all there less is shown, and nothing fails."""
    frames = [
        ETHERNET + VECTORS[name][1][:end]
        for name in ("D1", "V1", "V2", "V5")
        for end in range(41, len(VECTORS[name][1]))
    ]
    for row in dissected(captured(tmp_path / "cut.pcapng", frames)):
        assert row.get("mrc.icrc.status") != "1"
        assert "Lua" not in row.get("_ws.expert.message", "")


def test_layouts_are_those_of_the_table():
    text = SCRIPT.read_text()
    table = re.search(r"local HEADERS = \{(.*?)\n\}", text, re.DOTALL)[1]
    found = {
        header: {name: int(bits) for name, bits in re.findall(r'\{"(\w+)", (\d+)\}', body)}
        for header, body in re.findall(
            r"^  (\w+) = \{(.*?)\},?$(?=\n  \w|\n?\Z)", table, re.MULTILINE | re.DOTALL
        )
    }
    expected = {header: one.fields for header, one in HEADERS.items()}
    assert found == expected
    assert {header: list(layout) for header, layout in found.items()} == {
        header: list(layout) for header, layout in expected.items()
    }
    for enumeration in (Opcode, NackReason, Syndrome):
        for one in enumeration:
            assert f'[0x{one:02X}] = "{one.name}"' in text
