import pytest

from mrcnic.hdl.wire.icrc import ICRC_MASK, icrc

#: A write of 16 octets, of the protocol's vectors, from the inner IPv6 header on.
V1 = bytes.fromhex(
    "6220201000441140fd000000000000010000000000000001fd000000000000020000000000000001"
    "c00512b700440000cb00ffff0000001290000105000700211234000100007f0012345000deadbeef"
    "00000010cafef00d000102030405060708090a0b0c0d0e0fcf7ec91e"
)

#: A write of 16 octets, with documentation addresses.
D1 = bytes.fromhex(
    "622020100040114020010db8000a0000000000000000000120010db8000b00000000000000000001"
    "c00512b700400000ca00ffff0000001290000105000000211234000100000000001000000badcafe"
    "00000010101112131415161718191a1b1c1d1e1ff3bd28cf"
)


def changed(offset, octets):
    octets = bytes.fromhex(octets)
    return D1[:offset] + octets + D1[offset + len(octets) : -4]


@pytest.mark.parametrize("packet", [V1, D1])
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
