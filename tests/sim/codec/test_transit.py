import json
from pathlib import Path

import pytest

from mrcnic.sim.codec.packet import Packet
from mrcnic.sim.codec.transit import (
    carries_ipv6,
    dscp,
    flow,
    forwarded,
    hop_limit,
    ipv6_destination,
    is_ipv6,
    marked,
    trimmed,
)

VECTORS = {
    vector["name"]: bytes.fromhex(vector["hex"])
    for name in ("mrc_a1.json", "packets.json")
    for vector in json.loads((Path(__file__).parents[2] / "vectors" / name).read_text())
}
ETHERNET = bytes.fromhex("02000000000102000000000286dd")
PLAIN = ETHERNET + VECTORS["D1"]
SRV6 = ETHERNET + VECTORS["O1"] + VECTORS["D1"]


def test_fields():
    assert (hop_limit(SRV6), dscp(SRV6), dscp(ETHERNET + VECTORS["V2"])) == (64, 8, 46)
    assert ipv6_destination(SRV6).hex() == "5f0000012401280124022c0500000000"
    assert ipv6_destination(PLAIN).hex() == "20010db8000b00000000000000000001"
    assert flow(PLAIN).hex() == "002010c005"
    assert carries_ipv6(SRV6)
    assert not carries_ipv6(PLAIN)
    assert carries_ipv6(ETHERNET + VECTORS["O1H"] + VECTORS["H1"] + VECTORS["D1"])


@pytest.mark.parametrize(
    "frame",
    [SRV6[:53], SRV6[:13] + b"\0" + SRV6[14:], SRV6[:14] + b"\x42" + SRV6[15:]],
    ids=["short", "other type", "other version"],
)
def test_not_ipv6(frame):
    assert is_ipv6(SRV6)
    assert is_ipv6(SRV6[:54])
    assert not is_ipv6(frame)


def test_forwarded():
    leaving = forwarded(SRV6, bytes(range(12)), bytes(16))
    expected = bytearray(SRV6)
    expected[:12] = range(12)
    expected[21] = 63
    expected[38:54] = bytes(16)
    assert leaving == bytes(expected)


@pytest.mark.parametrize(("before", "after"), [(0, 0), (1, 3), (2, 3), (3, 3)])
def test_marked(before, after):
    packet = Packet.decode(SRV6)
    packet.outer.ecn = before
    seen = Packet.decode(marked(packet.encode()))
    assert (seen.outer.ecn, seen.outer.dscp, seen.ecn) == (after, 8, 2)


def test_trimmed_literal():
    """What is left is T1 before its hops, and the last hop's has another DSCP."""
    expected = ETHERNET + b"\x64" + VECTORS["O1"][1:] + VECTORS["T1"][40:]
    assert trimmed(SRV6, last_hop=False) == expected
    assert Packet.decode(trimmed(SRV6, last_hop=True)).outer.dscp == 18
    plain = Packet.decode(trimmed(PLAIN, last_hop=False))
    assert (plain.trimmed, plain.dscp, plain.psn, list(plain.extensions)) == (
        True, 16, 0x105, ["meth", "tseth"],
    )  # fmt: skip


def test_not_trimmed():
    for name in ("V2", "V4", "V7"):
        assert trimmed(ETHERNET + VECTORS[name], last_hop=False) is None
    assert trimmed(ETHERNET + VECTORS["R1"], last_hop=False) is not None


def tagged(frame):
    """Return the frame behind two VLAN tags."""
    return frame[:12] + bytes.fromhex("88a8000281000003") + frame[12:]


@pytest.mark.parametrize("frame", [PLAIN, SRV6], ids=["plain", "SRv6"])
def test_vlan_tags_are_passed_over(frame):
    """What is done to a frame and what is read of it are the same with tags."""
    with_tags = tagged(frame)
    assert is_ipv6(with_tags)
    assert not is_ipv6(with_tags[:61])
    for read in (hop_limit, dscp, flow, ipv6_destination, carries_ipv6):
        assert read(with_tags) == read(frame)
    assert marked(with_tags) == tagged(marked(frame))
    assert trimmed(with_tags, last_hop=True) == tagged(trimmed(frame, last_hop=True))
    macs = bytes(range(12))
    assert forwarded(with_tags, macs, bytes(16)) == tagged(forwarded(frame, macs, bytes(16)))


@pytest.mark.parametrize("ipv4", [False, True], ids=["IPv6", "IPv4"])
@pytest.mark.parametrize("count", [1, 2, 8])
def test_trimmed_behind_a_route(count, ipv4):
    packet = Packet.decode(SRV6)
    packet.payload = bytes(1000)
    if ipv4:
        packet.ipv4, packet.source, packet.destination, packet.ev = True, 1, 2, 0xC0050000
    packet = packet.encapsulated(1, 2, segments=(2,) * count)
    left = trimmed(packet.encode(), last_hop=False)
    assert len(left) == 14 + 40 + 8 + 16 * count + (20 if ipv4 else 40) + 28
    seen = Packet.decode(left)
    assert (seen.trimmed, seen.psn, seen.extensions["tseth"]["tx_timestamp"]) == (
        True, 0x105, 0x1234,
    )  # fmt: skip
