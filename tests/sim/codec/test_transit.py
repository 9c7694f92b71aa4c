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
