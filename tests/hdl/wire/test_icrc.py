"""The ICRC against literal octets, against scapy's routine, and bit by bit."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib import roce
from scapy.layers import inet, inet6

from mrcnic.hdl.wire.icrc import ICRC_INITIAL, ICRC_MASK, icrc

VECTORS = {
    vector["name"]: bytes.fromhex(vector["hex"])
    for vector in json.loads((Path(__file__).parents[2] / "vectors/mrc_a1.json").read_text())
}

#: A write of 16 octets, with documentation addresses.
D1 = bytes.fromhex(
    "622020100040114020010db8000a0000000000000000000120010db8000b00000000000000000001"
    "c00512b700400000ca00ffff0000001290000105000000211234000100000000001000000badcafe"
    "00000010101112131415161718191a1b1c1d1e1ff3bd28cf"
)


def changed(offset, octets):
    octets = bytes.fromhex(octets)
    return D1[:offset] + octets + D1[offset + len(octets) : -4]


@pytest.mark.parametrize(
    "packet",
    [D1, *(VECTORS[f"V{number}"] for number in range(1, 8))],
    ids=["D1", *(f"V{number}" for number in range(1, 8))],
)
def test_vectors(packet):
    assert icrc(packet[:-4]) == packet[-4:]


def test_masked_positions():
    """They are the ones that an implementation of IPv6 in scapy once missed."""
    ones = {n: octet for n, octet in enumerate(ICRC_MASK) if octet}
    assert ones == {0: 0x0F, 1: 0xFF, 2: 0xFF, 3: 0xFF, 7: 0xFF, 46: 0xFF, 47: 0xFF, 52: 0xFF}


@pytest.mark.parametrize(
    ("offset", "octets"),
    [(7, "01"), (0, "6bb0"), (1, "2fffff"), (46, "1234"), (52, "c0")],
    ids=["hop limit", "traffic class", "flow label", "UDP checksum", "BTH octet 4"],
)
def test_what_switches_change_does_not_count(offset, octets):
    assert icrc(changed(offset, octets)) == D1[-4:]


@pytest.mark.parametrize(
    ("offset", "octets", "result"),
    [(40, "c006", "e0b3fc74"), (56, "b0", "74a2788a"), (64, "1235", "3baab600")],
    ids=["source port", "retransmission", "timestamp"],
)
def test_the_rest_counts(offset, octets, result):
    assert icrc(changed(offset, octets)).hex() == result


def test_packet_has_a_bth():
    with pytest.raises(ValueError, match=r"^packet must have at least 60 octets, not 59$"):
        icrc(D1[:59])


def test_each_bit_counts_or_not():
    covered = ICRC_MASK.ljust(len(D1) - 4, b"\0")
    for bit in range(8 * len(covered)):
        packet = bytearray(D1[:-4])
        packet[bit // 8] ^= 0x80 >> bit % 8
        masked = covered[bit // 8] & 0x80 >> bit % 8
        assert (icrc(packet) == D1[-4:]) == bool(masked), f"bit {bit}"


def test_bit_by_bit():
    def shift(register, octets):
        for octet in octets:
            register ^= octet
            for _ in range(8):
                register = register >> 1 ^ (0xEDB88320 if register & 1 else 0)
        return register

    assert shift(0xFFFFFFFF, b"\xff" * 8) == ICRC_INITIAL
    ones = ICRC_MASK.ljust(len(D1) - 4, b"\0")
    masked = bytes(octet | one for octet, one in zip(D1[:-4], ones, strict=True))
    assert (~shift(ICRC_INITIAL, masked) & 0xFFFFFFFF).to_bytes(4, "little") == D1[-4:]


@given(st.integers(0, 0xFF), st.integers(0, 0xFFFFF), st.binary(max_size=80))
def test_scapy_agrees(traffic_class, flow_label, payload):
    reference = inet6.IPv6(src="fd00::1", dst="fd00::2", tc=traffic_class, fl=flow_label)
    reference /= inet.UDP(sport=0xC005, dport=4791, chksum=0)
    reference /= roce.BTH(opcode=0xCA, dqpn=0x12, psn=0x105) / payload
    octets = bytes(reference)
    assert icrc(octets[:-4]) == octets[-4:]
