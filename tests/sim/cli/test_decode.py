"""`mrcnic decode` against the codec, and against what tshark shows."""

import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from codec_packets import VECTORS
from command_line import refusal
from tshark import HEADERS, TSHARK, dissected

from mrcnic.hdl.wire.opcodes import EtherType
from mrcnic.sim.codec.outer import Ethernet, VlanTag
from mrcnic.sim.codec.packet import Packet
from mrcnic.sim.codec.pcap import PcapWriter
from mrcnic.sim.codec.transit import trimmed

ETHERNET = bytes.fromhex("02000000000102000000000286dd")
NAMES = [name for name, (layer, _) in VECTORS.items() if "to ICRC" in layer]
CARRIER = 0xFCBBBBBB << 96 | 0x2401 << 80


def routed():
    """Return the vector D1 with everything around it that there can be."""
    packet = Packet.decode_ip(VECTORS["D1"][1])
    packet.ipv4, packet.source, packet.destination = True, 0x0A000001, 0x0A000002
    packet.ev, packet.ethernet = (
        0xC0050000,
        Ethernet(
            destination=1,
            source=2,
            tags=(VlanTag(vid=5, ether_type=EtherType.SERVICE_VLAN), VlanTag(vid=6, priority=3)),
        ),
    )
    return packet.encapsulated(5, CARRIER, segments=(CARRIER, CARRIER + 1)).encode()


FRAMES = [
    *(ETHERNET + VECTORS[name][1] for name in NAMES),
    trimmed(ETHERNET + VECTORS["O1"][1] + VECTORS["D1"][1], last_hop=True),
    routed(),
    ETHERNET + VECTORS["D1"][1][:-1] + b"\x99",
    ETHERNET[:-2] + b"\x08\x06" + bytes(46),
    ETHERNET + VECTORS["D1"][1][:48] + b"\xc0" + VECTORS["D1"][1][49:],
]


@pytest.fixture
def capture(tmp_path):
    path = tmp_path / "c.pcapng"
    with PcapWriter(path) as writer:
        for n, frame in enumerate(FRAMES):
            writer.write("ab"[n % 2] + "0", 1_000_000_001 * n, frame)
    return path


def rows(run, *arguments):
    code, out, err = run("decode", "c.pcapng", "--json", *arguments)
    assert (code, err) == (0, "")
    return json.loads(out)


def test_json_has_every_field(run, capture):
    found = rows(run)
    assert [row["frame"] for row in found] == list(range(1, len(FRAMES) + 1))
    for n, (row, frame) in enumerate(zip(found, FRAMES, strict=True)):
        assert row["time_ns"] == 1_000_000_001 * n
        assert (row["interface"], row["octets"]) == ("ab"[n % 2] + "0", len(frame))
        if "error" in row:
            continue
        packet = Packet.decode(frame)
        assert {name: row[name] for name in packet.extensions} == packet.extensions
        assert (row["bth"]["psn"], row["bth"]["dqp"]) == (packet.psn, packet.dqp)
        assert list(row["bth"]) == list(HEADERS["bth"].fields)
        assert row["mrc"]["ev"]["value"] == packet.ev
        assert bytes.fromhex(row.get("payload", {}).get("data", "")) == packet.payload
        assert row["mrc"]["trimmed"] == ("icrc" not in row) == packet.trimmed


def test_json_of_headers_around(run, capture):
    (row,) = rows(run, "--opcode", "WRITE_ONLY", "--interface", "a0" if len(NAMES) % 2 else "b0")[
        -1:
    ]
    assert row["ethernet"]["vid"] == [5, 6]
    assert row["ethernet"]["priority"] == [0, 3]
    assert row["outer"]["destination"] == "fcbb:bbbb:2401::"
    assert row["route"]["segments"] == ["fcbb:bbbb:2401::1", "fcbb:bbbb:2401::"]
    assert (row["ip"]["source"], row["ip"]["destination"]) == ("10.0.0.1", "10.0.0.2")


@pytest.mark.skipif(not TSHARK, reason="tshark is not installed")
def test_json_and_tshark_agree(run, capture):
    """Name by name, for all that both take for a packet."""
    compared = 0
    for row, shown in zip(rows(run), dissected(capture), strict=True):
        for header in HEADERS:
            for name, value in row.get(header, {}).items():
                if name != "status":
                    text = shown[f"mrc.{header}.{name}"]
                    wide = HEADERS[header].fields[name] > 64
                    assert int(text.replace(":", ""), 16 if wide else 0) == value
                    compared += 1
    assert compared > 25 * 30


def test_reasons(run, capture):
    errors = [row["error"] for row in rows(run, "--refused")]
    assert [error["reason"] for error in errors] == ["icrc_error", "not_ipv6", "bad_opcode"]
    assert errors[1]["sentence"] == "Ethernet type 0x0806 is not IPv6 or IPv4"
    # All that is wrong with the first is its ICRC.
    (row,) = rows(run, "--refused", "--opcode", "0xca")
    assert (row["icrc"]["status"], row["bth"]["psn"]) == ("Bad", 0x105)


def test_lines(run, capture):
    code, out, err = run("decode", "c.pcapng")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert len(lines) == len(FRAMES)
    for row, line in zip(rows(run), lines, strict=True):
        assert line.split()[0] == str(row["frame"])
        if "bth" in row:
            assert f"  {row['mrc']['name']}  QP {row['bth']['dqp']:#08x}  PSN" in line
        if "error" in row:
            assert line.endswith(f"{row['error']['reason']}: {row['error']['sentence']}")
    k2 = lines[NAMES.index("K2")]
    assert re.search(r"SACK .*cack_psn 0x000105  ack_psn_offset -2  sack_offset 1 ", k2)
    assert lines[NAMES.index("N06")].endswith("NO_BITMAP")
    assert lines[len(NAMES)].endswith("ack_request  trimmed")


def test_blocks(run, capture):
    code, out, _ = run("decode", "c.pcapng", "--verbose")
    assert code == 0
    blocks = re.split(r"\n(?=\S| {3,}\d)", out.strip("\n"))
    for row, block in zip(rows(run), blocks, strict=True):
        for header, values in row.items():
            if isinstance(values, dict) and header != "mrc":
                for name in values:
                    assert re.search(rf"^  {header}\.{name} ", block, re.MULTILINE), block
    assert re.search(r"bth\.p_key +0xffff\n", blocks[0])
    assert re.search(r"bth\.opcode +WRITE_ONLY_IMM\n", blocks[0])


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--opcode", "sack"], ["V2", "K2", "K3", "K4", "K5", "K6"]),
        (["--opcode", "0xD8", "--opcode", "PROBE", "--qp", "2"], ["V5", "E9", "E8"]),
        (["--qp", "0x34", "--opcode", "ACK", "--count", "2"], ["V7", "A1"]),
        (["--interface", "c0"], []),
        (["--count", "1"], ["V1"]),
    ],
)
def test_filters(run, capture, arguments, names):
    assert [NAMES[row["frame"] - 1] for row in rows(run, *arguments)] == names


def test_dialect(run, tmp_path):
    d1 = VECTORS["D1"][1]
    with PcapWriter(tmp_path / "c.pcapng") as writer:
        writer.write("a0", 0, ETHERNET + d1[:42] + b"\x12\x34" + d1[44:])
    assert rows(run)[0]["error"]["reason"] == "bad_port"
    (row,) = rows(run, "--udp-port", "4660", "--swap-ev")
    assert row["error"]["reason"] == "icrc_error"
    assert row["mrc"]["ev"]["value"] == 0x2010C005
    assert row["ip"]["flow_label"] == 0x2010


def test_pcap_and_standard_input(run, tmp_path):
    octets = struct.pack(">IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    octets += struct.pack(">IIII", 7, 5, len(FRAMES[0]), len(FRAMES[0])) + FRAMES[0]
    octets += struct.pack(">IIII", 8, 5, 60, 158) + FRAMES[0][:60]
    (tmp_path / "c.pcapng").write_bytes(octets)
    first, second = rows(run)
    assert (first["time_ns"], first["interface"], first["bth"]["psn"]) == (7_000_005_000, "", 0x105)
    assert (second["octets"], second["captured_octets"]) == (158, 60)
    mrcnic = Path(sys.executable).with_name("mrcnic")
    for text in (("--json",), ()):
        piped = subprocess.run(
            [mrcnic, "decode", "-", *text], input=octets, capture_output=True, check=True
        )
        assert b"158" in piped.stdout
    assert run("decode", "c.pcapng")[1].splitlines()[1].split("  ")[-2:] == [
        "158 octets, 60 of them captured",
        "bad_length: a packet of 46 octets has no BTH",
    ]


def test_truncated_capture_is_one_line(run, capture):
    """What is whole is shown, as whole JSON too."""
    capture.write_bytes(capture.read_bytes()[:-5])
    outcome = run("decode", "c.pcapng")
    assert refusal(outcome, 1) == "c.pcapng ends in the middle of a block"
    assert len(outcome[1].splitlines()) == len(FRAMES) - 1
    outcome = run("decode", "c.pcapng", "--json")
    assert refusal(outcome, 1) == "c.pcapng ends in the middle of a block"
    assert len(json.loads(outcome[1])) == len(FRAMES) - 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["missing.pcapng"], "there is no file missing.pcapng"),
        (["."], "is a folder"),
        ([], "Missing argument 'FILE'"),
        (["c.pcapng", "--opcode", "READ"], "--opcode takes one of WRITE_FIRST, "),
        (["c.pcapng", "--opcode", "256"], "or a number from 0 to 0xff, not 256"),
        (["c.pcapng", "--qp", "0x1000000"], "a number from 0 to 0xffffff, not 0x1000000"),
        (["c.pcapng", "--qp", "-1"], "--qp takes a number"),
        (["c.pcapng", "--count", "0"], "0 is not in the range x>=1"),
        (["c.pcapng", "--udp-port", "65536"], "65536 is not in the range"),
    ],
)  # fmt: skip
def test_wrong_usage(run, capture, arguments, sentence):
    assert sentence in refusal(run("decode", *arguments), 2)


def test_not_a_capture(run, tmp_path):
    (tmp_path / "text").write_text("hello")
    outcome = run("decode", "text", "--json")
    assert refusal(outcome, 1) == "text is not a capture in the pcapng or pcap format"
    assert json.loads(outcome[1]) == []


def test_reader_that_goes_away(tmp_path):
    """As `head` does: no complaint, and no trace of it."""
    with PcapWriter(tmp_path / "c.pcapng") as writer:
        for n in range(3000):
            writer.write("a0", n, FRAMES[0])
    mrcnic = Path(sys.executable).with_name("mrcnic")
    for option in ([], ["--json"]):
        process = subprocess.Popen(
            [mrcnic, "decode", tmp_path / "c.pcapng", *option],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait(60) in (1, 128 + 13)


def test_capture_that_must_not_be_read(run, capture, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert refusal(run("decode", "c.pcapng"), 2) == (
        "Invalid value for 'FILE': Path 'c.pcapng' is not readable."
    )
