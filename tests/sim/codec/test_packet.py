"""The codec against literal octets and against scapy, which nobody here has written."""

import pytest
from codec_packets import VECTORS, packets
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib import roce
from scapy.layers import inet6

from mrcnic.hdl.ingress.reasons import EVENTS
from mrcnic.hdl.wire.icrc import icrc
from mrcnic.hdl.wire.opcodes import Opcode
from mrcnic.sim.codec.dialect import Dialect
from mrcnic.sim.codec.errors import DropReason, PacketError
from mrcnic.sim.codec.extensions import IMMEDIATE_OPCODES, WRITE_OPCODES
from mrcnic.sim.codec.outer import Outer
from mrcnic.sim.codec.packet import Packet
from mrcnic.sim.codec.routing import SegmentRouting

WHOLE = {
    name: octets for name, (layer, octets) in VECTORS.items() if layer.endswith("IPv6 to ICRC")
}
D1 = WHOLE["D1"]
A, B = 0x20010DB8000A << 80 | 1, 0x20010DB8000B << 80 | 1


def octets_of(name):
    return VECTORS[name][1]


def routed(name):
    """Return D1 behind a routing header."""
    octets = octets_of(name) + D1
    return octets_of("O1H")[:4] + len(octets).to_bytes(2, "big") + octets_of("O1H")[6:] + octets


def reason_of(octets, dialect=None):
    with pytest.raises(PacketError) as caught:
        Packet.decode_ip(octets, *([dialect] if dialect else []))
    assert "\n" not in str(caught.value)
    return caught.value.reason


def refusal(octets):
    """Return the reason for refusing ``octets``, or ``None``."""
    try:
        Packet.decode_ip(octets)
    except PacketError as error:
        return error.reason
    return None


@pytest.mark.parametrize("name", WHOLE)
def test_literal_octets_both_ways(name):
    assert Packet.decode_ip(WHOLE[name]).encode() == WHOLE[name]


def test_fields_of_a_write():
    packet = Packet.decode_ip(octets_of("V8"))
    assert packet == Packet(
        opcode=Opcode.WRITE_ONLY_IMM,
        source=0xFD00_0000_0000_0001 << 64 | 1,
        destination=0xFD00_0000_0000_0002 << 64 | 1,
        ev=0xC0052010,
        dqp=0x12,
        psn=0x105,
        ack_request=1,
        extensions={
            "meth": {"rqmsn": 7, "msn": 0x21},
            "tseth": {"tx_timestamp": 0x1234, "resolution": 0, "reserved": 0, "ftype": 1},
            "reth": {"va": 0x7F0012345000, "rkey": 0xDEADBEEF, "dmalen": 16},
            "immdt": {"immediate": 0xCAFEF00D},
        },
        payload=bytes(range(16)),
        dscp=8,
        outer=Outer(
            source=0xFD00_0001 << 96 | 1,
            destination=0xFCBBBBBB_2401_2801_2402_2C05_0000_0000,
            dscp=8,
        ),
    )
    assert packet.nominal_octets == 68 + 40


def test_fields_of_a_sack():
    packet = Packet.decode_ip(octets_of("V2"))
    seth, cc_state = packet.extensions["seth"], packet.extensions["cc_state"]
    assert (packet.opcode, packet.dqp, packet.psn, packet.dscp) == (0xDC, 0x34, 0x102, 46)
    assert (seth["mark"], seth["ack_psn_offset"], seth["entropy"]) == (1, 3, 0xC0052010)
    assert (seth["cack_psn"], seth["sack_offset"], seth["sack_bitmap"]) == (0x102, 1, 0b110)
    assert (seth["spdcid"], seth["dpdcid"], seth["probe_reply"]) == (0x12, 0x34, 0)
    assert (cc_state["ooo_count"], cc_state["rcvd_bytes"]) == (2, 0x21)
    assert cc_state["tx_timestamp"] == 0x1234


def test_fields_of_the_other_control_packets():
    assert Packet.decode_ip(octets_of("N0B")).extensions["neth"]["reason"] == 0x0B
    assert Packet.decode_ip(octets_of("A2")).extensions["aeth"] == {"syndrome": 0x62, "msn": 0x21}
    assert Packet.decode_ip(octets_of("P1")).extensions["peth"]["probe_id"] == 0x577
    erth = Packet.decode_ip(octets_of("E9")).extensions["erth"]
    assert (erth["operation"], erth["port_status_mask"]) == (0, 0xFB)
    assert Packet.decode_ip(octets_of("V6")).extensions["eeth"]["tx_timestamp"] == 0x1400


def test_no_pad_without_need():
    """Of a payload of 13 to 16 octets, byte 1 of the BTH, and only the payload comes out."""
    for octets, flags in ((13, 0x30), (14, 0x20), (15, 0x10), (16, 0x00)):
        packet = Packet.decode_ip(D1)
        packet.payload = bytes(range(octets))
        encoded = packet.encode()
        assert encoded[49] == flags
        assert len(encoded) == len(D1)
        assert Packet.decode_ip(encoded).payload == bytes(range(octets))


@pytest.mark.parametrize("name", WHOLE)
def test_scapy_reads_the_same(name):
    octets = WHOLE[name]
    packet = Packet.decode_ip(octets)
    reference = inet6.IPv6(octets)
    if packet.outer:
        assert int.from_bytes(inet6.inet_pton(10, reference.dst), "big") == packet.outer.destination
        assert reference.tc == packet.outer.dscp << 2 | packet.outer.ecn
        reference = reference.payload
    assert int.from_bytes(inet6.inet_pton(10, reference.src), "big") == packet.source
    assert int.from_bytes(inet6.inet_pton(10, reference.dst), "big") == packet.destination
    assert reference.tc == packet.dscp << 2 | packet.ecn
    assert (reference.fl, reference["UDP"].sport) == (packet.ev & 0xFFFF, packet.ev >> 16)
    assert reference["UDP"].len == packet.udp_length
    bth = reference[roce.BTH]
    assert (bth.opcode, bth.dqpn, bth.psn) == (packet.opcode, packet.dqp, packet.psn)
    assert (bth.padcount, bth.pkey, bth.version) == (packet.pad, 0xFFFF, 0)
    assert bth.ackreq == packet.ack_request
    # scapy's seven reserved bits behind AckReq are: reserved, rtx, ts, four more
    assert bth.resv7 == packet.retransmission << 5 | packet.timestamped << 4
    assert bth.compute_icrc(octets[octets.index(bytes(bth)[:12]) : -4]) == octets[-4:]


@given(packets(), st.booleans())
def test_decode_undoes_encode(packet, swap):
    dialect = Dialect(swap_ev=swap and not packet.ipv4)
    assert Packet.decode(packet.encode(dialect), dialect) == packet


def test_swapped_ev():
    octets = Packet.decode_ip(D1).encode(Dialect(swap_ev=True))
    assert (octets[2:4].hex(), octets[40:42].hex()) == ("c005", "2010")
    assert Packet.decode_ip(octets, Dialect(swap_ev=True)).ev == 0xC0052010
    assert Packet.decode_ip(octets).ev == 0x2010C005


def test_default_dscp():
    def dscp(opcode, retransmission=0):
        return Packet(
            opcode=opcode, source=A, destination=B, dqp=2, psn=0, retransmission=retransmission
        ).dscp

    assert [dscp(opcode) for opcode in (0xC6, 0xCB, 0xDC, 0xD1, 0xD8, 0xDE)] == [
        8,
        8,
        46,
        46,
        46,
        0,
    ]
    assert dscp(0xC7, 1) == 10


# ---- encapsulation -------------------------------------------------------------------------------


def test_outer_header_is_literal():
    packet = Packet.decode_ip(D1).encapsulated(
        0x3FFF_0000_0002 << 80 | 1, 0x5F000001_2401_2801_2402_2C05_0000_0000
    )
    assert packet.encode() == octets_of("O1") + D1


def test_routing_headers_are_literal():
    """Last Entry is one less than the number of segments."""
    two, one = octets_of("X2"), octets_of("H1")
    segments = tuple(int.from_bytes(two[at : at + 16], "big") for at in (8, 24))
    assert SegmentRouting(segments=segments, segments_left=1).encode(41) == two
    assert SegmentRouting(segments=(int.from_bytes(one[8:], "big"),)).encode(41) == one
    assert two[:8].hex() == "2904040101000000"


@pytest.mark.parametrize(
    "name", ["H1", "X2", "X-RED", "X-PAD1", "X-PADN", "X-PAD1-PADN", "X-PAD1-ODD"]
)
def test_routing_header_accepted(name):
    packet = Packet.decode_ip(routed(name))
    assert packet.payload == bytes(range(0x10, 0x20))
    assert packet.outer.destination == 0x5F000001_2401_2801_2402_2C05_0000_0000
    assert packet.encode() == routed(name)


def test_another_routing_header_is_passed_over():
    packet = Packet.decode_ip(routed("X-RT0"))
    assert packet.outer.routing is None
    assert packet.payload == bytes(range(0x10, 0x20))


@pytest.mark.parametrize("name", ["X-SL2", "X-LE2", "X-RT0-SL1", "X-TLV-LONG"])
def test_routing_header_refused(name):
    assert reason_of(routed(name)) == DropReason.BAD_SRH


def test_routing_header_that_is_not_there():
    assert reason_of(octets_of("O1BAD") + D1) == DropReason.BAD_SRH


# ---- what is refused -----------------------------------------------------------------------------


def changed(offset, octets, right=True):
    """Return D1 with other octets, and with an ICRC that fits if ``right``."""

    packet = D1[:offset] + bytes.fromhex(octets) + D1[offset + len(octets) // 2 :]
    return packet[:-4] + icrc(packet[:-4]) if right else packet


@pytest.mark.parametrize(
    ("octets", "reason"),
    [
        (b"", "bad_length"),
        (D1[:39], "bad_length"),
        (D1[:-1], "bad_length"),
        (D1 + b"\0", "bad_length"),
        (changed(0, "52"), "bad_version"),
        (changed(6, "06"), "not_udp"),
        (changed(42, "12b8"), "bad_port"),
        (changed(44, "0041"), "bad_length"),
        (changed(49, "01"), "bad_tver"),
        (changed(50, "7fff"), "bad_pkey"),
        (changed(48, "c0"), "bad_opcode"),
        (changed(48, "06"), "bad_opcode"),
        (changed(60, "01000021", right=False), "icrc_error"),
        (changed(48, "d1"), "bad_length"),  # the headers of a write behind an ACK's
        (octets_of("O1")[:-1], "bad_length"),
        (octets_of("O1") + D1[:-1], "bad_length"),
        (octets_of("O1")[:4] + b"\0\x69" + octets_of("O1")[6:] + D1 + b"\0", "bad_length"),
    ],
)  # fmt: skip
def test_refused(octets, reason):
    assert reason_of(octets) == reason


def test_pad_without_payload():
    packet = WHOLE["D0"][:49] + b"\x30" + WHOLE["D0"][50:]

    assert reason_of(packet[:-4] + icrc(packet[:-4])) == "bad_pad"


def test_payload_of_odd_length():

    packet = bytearray(D1[:-5])
    packet[5] = packet[45] = 0x3F
    assert reason_of(bytes(packet) + icrc(bytes(packet))) == "bad_pad"


def test_control_packet_with_pad():

    packet = WHOLE["A1"][:49] + b"\x10" + WHOLE["A1"][50:-4]
    assert reason_of(packet + icrc(packet)) == "bad_pad"


def test_too_short_for_a_bth():
    packet = D1[:5] + b"\x17" + D1[6:45] + b"\x17" + D1[46:63]
    assert reason_of(packet) == "bad_length"


def test_reasons_are_what_the_nic_counts():
    assert {f"rx_{reason}" for reason in DropReason} <= set(EVENTS)


def test_frames():
    with pytest.raises(PacketError) as caught:
        Packet.decode(bytes(12) + b"\x86\xdd" + bytes(45))
    assert caught.value.reason == "runt"
    with pytest.raises(PacketError, match="0x0806 is not IPv6 or IPv4") as caught:
        Packet.decode(bytes(12) + b"\x08\x06" + D1)
    assert caught.value.reason == "not_ipv6"


def test_each_flipped_bit():
    """Only bits that the ICRC leaves out may be flipped unseen; lengths and so on come first."""
    unseen = set()
    for bit in range(8 * len(D1)):
        packet = bytearray(D1)
        packet[bit // 8] ^= 0x80 >> bit % 8
        reason = refusal(bytes(packet))
        if reason is None:
            unseen.add(bit)
        else:
            assert reason == "icrc_error" or bit // 8 < 57, f"bit {bit}: {reason}"
    masked = {bit for octet in (1, 2, 3, 7, 46, 47, 52) for bit in range(8 * octet, 8 * octet + 8)}
    assert unseen == masked | {4, 5, 6, 7}


@given(st.sampled_from(sorted(WHOLE)), st.data())
def test_noise_raises_nothing_else(name, data):
    packet = bytearray(WHOLE[name])
    for _ in range(3):
        packet[data.draw(st.integers(0, len(packet) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(packet)))
    for octets in (bytes(packet), bytes(packet[:cut])):
        assert refusal(octets) in (None, *DropReason)


# ---- trimmed packets -----------------------------------------------------------------------------


def test_trimmed():
    stale = octets_of("T1")
    corrected = stale[:4] + b"\0\x44" + stale[6:]
    for octets in (stale, corrected):
        packet = Packet.decode_ip(octets)
        assert packet.trimmed
        assert (packet.outer.dscp, packet.dscp) == (16, 8)
        assert (packet.psn, packet.ev) == (0x105, 0xC0052010)
        assert set(packet.extensions) == {"meth", "tseth"}
        assert packet.extensions["tseth"]["tx_timestamp"] == 0x1234
    with pytest.raises(ValueError, match="a trimmed packet has lost"):
        packet.encode()


def test_trimmed_or_not_by_dscp():
    """18 is trimmed too; 17 is an ordinary packet, and this one too short for that."""
    stale = octets_of("T1")
    last_hop = b"\x64\x80" + stale[2:]
    assert Packet.decode_ip(last_hop).trimmed
    assert reason_of(b"\x64\x40" + stale[2:]) == "bad_length"


def test_trimmed_too_short():
    stale = octets_of("T1")
    assert Packet.decode_ip(stale[:108]).trimmed
    for length in (107, 103, 99, 41):
        assert reason_of(stale[:length]) == "bad_length"


def test_trimmed_control_packet():
    packet = octets_of("O1")[:4] + b"\0\x68" + octets_of("O1")[6:] + WHOLE["N01"]
    trimmed = b"\x64\x00" + packet[2:]
    assert reason_of(trimmed) == "bad_opcode"


# ---- what cannot be written ----------------------------------------------------------------------


def test_cannot_be_written():
    def packet(**changes):
        return Packet(**{
            "opcode": 0xD1,
            "source": A,
            "destination": B,
            "dqp": 2,
            "psn": 0,
            **changes,
        })

    aeth = {"aeth": {"msn": 1}}
    assert packet(extensions=aeth).encode()
    with pytest.raises(ValueError, match="opcode 0xd1 does not go with no header"):
        packet().encode()
    with pytest.raises(ValueError, match="opcode 0xd1 does not go with aeth, meth"):
        packet(extensions={**aeth, "meth": {}}).encode()
    with pytest.raises(ValueError, match="opcode 0x6 does not go with aeth"):
        packet(opcode=6, extensions=aeth).encode()
    with pytest.raises(ValueError, match="opcode 0xd1 carries no payload"):
        packet(extensions=aeth, payload=b"1").encode()
    with pytest.raises(ValueError, match="psn must fit in 24 bits"):
        packet(extensions=aeth, psn=2**24).encode()


def test_immediate_opcodes_are_writes():
    assert IMMEDIATE_OPCODES < WRITE_OPCODES
