"""VLAN tags, IPv4 and routes: literal octets, and scapy, which nobody here has written."""

import contextlib

import pytest
from codec_packets import VECTORS, packets
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrSegmentRouting, inet_pton
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether

from mrcnic.hdl.wire.opcodes import Ecn, EtherType
from mrcnic.sim.codec.errors import PacketError
from mrcnic.sim.codec.ip import ipv4_checksum
from mrcnic.sim.codec.outer import Ethernet, VlanTag
from mrcnic.sim.codec.packet import Packet
from mrcnic.sim.codec.routing import route

D1 = VECTORS["D1"][1]
PATH = tuple(0xFCBBBBBB << 96 | n << 80 for n in range(0x2401, 0x2409))


def packet_v4(**changes):
    """Return D1 between 10.0.0.1 and 10.0.0.2."""
    packet = Packet.decode_ip(D1)
    packet.ipv4, packet.source, packet.destination = True, 0x0A000001, 0x0A000002
    packet.ev = 0xC0050000
    for name, value in changes.items():
        setattr(packet, name, value)
    return packet


def framed(packet, *tags):
    packet.ethernet = Ethernet(destination=0x020000000001, source=0x020000000002, tags=tags)
    return packet


def reason_of(frame):
    with pytest.raises(PacketError) as caught:
        Packet.decode(frame)
    return caught.value.reason


# ---- VLAN ----------------------------------------------------------------------------------------


def test_tags_are_literal():
    one = framed(Packet.decode_ip(D1), VlanTag(vid=0x123, priority=5, drop_eligible=1)).encode()
    assert one[:18].hex() == "0200000000010200000000028100b12386dd"
    assert one[18:] == D1
    outer = VlanTag(vid=2, priority=1, ether_type=EtherType.SERVICE_VLAN)
    two = framed(packet_v4(), outer, VlanTag(vid=3)).encode()
    assert two[12:22].hex() == "88a82002810000030800"
    assert VlanTag.unpack(0xB123) == VlanTag(vid=0x123, priority=5, drop_eligible=1)
    assert VlanTag.unpack(0x2002, EtherType.SERVICE_VLAN) == outer
    assert (outer.control, VlanTag.unpack(0xB123).control) == (0x2002, 0xB123)


def test_third_tag_is_refused():
    frame = framed(Packet.decode_ip(D1), VlanTag(vid=1), VlanTag(vid=2)).encode()
    assert Packet.decode(frame).psn == 0x105
    assert reason_of(frame[:12] + bytes.fromhex("81000001") + frame[12:]) == "not_ipv6"


def test_type_must_go_with_the_version():
    six, four = framed(Packet.decode_ip(D1)).encode(), framed(packet_v4()).encode()
    assert reason_of(six[:12] + b"\x08\x00" + six[14:]) == "bad_version"
    assert reason_of(four[:12] + b"\x86\xdd" + four[14:]) == "bad_version"


# ---- IPv4 ----------------------------------------------------------------------------------------


def test_ipv4_header_is_literal():
    octets = packet_v4(dscp=8, ecn=Ecn.ECT0).encode()
    header = "45220054000040004011" + f"{octets[10:12].hex()}" + "0a0000010a000002"
    assert octets[:20].hex() == header
    assert octets[20:28].hex() == "c00512b700400000"
    assert octets[28:-4] == D1[48:-4]
    words = [int.from_bytes(octets[at : at + 2], "big") for at in range(0, 20, 2)]
    total = sum(words)
    assert (total & 0xFFFF) + (total >> 16) == 0xFFFF


def test_upper_half_of_the_ev_is_all_that_ipv4_carries():
    assert Packet.decode_ip(packet_v4().encode()).ev == 0xC0050000
    with pytest.raises(ValueError, match="EV 0xc0052010 does not fit in IPv4"):
        packet_v4(ev=0xC0052010).encode()
    with pytest.raises(ValueError, match="source must fit in 32 bits"):
        packet_v4(source=1 << 32).encode()


@pytest.mark.parametrize(
    ("offset", "octets", "reason"),
    [
        (0, "46", "ipv4_options"),
        (0, "55", "bad_version"),
        (2, "0053", "bad_length"),
        (2, "0013", "bad_length"),
        (6, "6000", "ipv4_fragment"),
        (6, "4001", "ipv4_fragment"),
        (9, "06", "not_udp"),
        (24, "0041", "bad_length"),
        (4, "0001", "icrc_error"),
        (15, "03", "icrc_error"),
    ],
)
def test_ipv4_refused(offset, octets, reason):
    """With a checksum that fits; without one, that may be the reason."""
    packet = bytearray(packet_v4().encode())
    packet[offset : offset + len(octets) // 2] = bytes.fromhex(octets)
    if offset in (2, 4, 15):
        with pytest.raises(PacketError) as caught:
            Packet.decode_ip(bytes(packet))
        assert caught.value.reason == "bad_checksum"
    packet[10:12] = bytes(2)
    packet[10:12] = ipv4_checksum(bytes(packet[:20])).to_bytes(2, "big")
    with pytest.raises(PacketError) as caught:
        Packet.decode_ip(bytes(packet))
    assert caught.value.reason == reason


def test_icrc_leaves_out_what_ipv4_changes_on_the_way():
    octets = packet_v4().encode()
    changed = bytearray(octets)
    changed[1], changed[8], changed[10:12], changed[26:28], changed[32] = 3, 1, b"\0\0", b"12", 9
    changed[10:12] = ipv4_checksum(bytes(changed[:20])).to_bytes(2, "big")
    packet = Packet.decode_ip(bytes(changed))
    assert (packet.ce, packet.hop_limit, packet.variant_reserved) == (True, 1, 9)


def test_ipv4_in_ipv6():
    octets = packet_v4().encapsulated(1, PATH[0]).encode()
    assert (octets[6], octets[40]) == (4, 0x45)
    assert Packet.decode_ip(octets).encode() == octets
    six = Packet.decode_ip(D1).encapsulated(1, PATH[0]).encode()
    for packet, announced in ((octets, 41), (six, 4)):
        with pytest.raises(PacketError) as caught:
            Packet.decode_ip(packet[:6] + bytes([announced]) + packet[7:])
        assert caught.value.reason == "bad_version"


@pytest.mark.parametrize("cut", range(0, 84, 7))
def test_cut_ipv4_is_a_length(cut):
    with pytest.raises(PacketError) as caught:
        Packet.decode_ip(packet_v4().encode()[:cut])
    assert caught.value.reason == "bad_length"


# ---- routes --------------------------------------------------------------------------------------


def test_routes():
    """Segments left is one less than the path's length, whether its first is in the list or not."""
    full, reduced = route(PATH[:3]), route(PATH[:3], reduced=True)
    assert (full.segments, full.segments_left) == (PATH[2::-1], 2)
    assert (reduced.segments, reduced.segments_left) == (PATH[2:0:-1], 2)
    assert route(PATH[:1], reduced=True) is None
    assert route(PATH[:1]).segments == PATH[:1]
    two = VECTORS["X2"][1]
    last, first = (int.from_bytes(two[at : at + 16], "big") for at in (8, 24))
    assert route((first, last)).encode(41) == two
    assert route((first, last), reduced=True).encode(41) == VECTORS["X-RED"][1]


@pytest.mark.parametrize("reduced", [False, True])
@pytest.mark.parametrize("count", range(1, 9))
def test_one_to_eight_segments(count, reduced):
    packet = Packet.decode_ip(D1).encapsulated(5, PATH[0], segments=PATH[:count], reduced=reduced)
    octets = packet.encode()
    assert len(octets) == 40 + len(D1) + (8 + 16 * (count - reduced) if count > reduced else 0)
    assert Packet.decode_ip(octets) == packet
    reference = IPv6(octets)
    if packet.outer.routing:
        header = reference[IPv6ExtHdrSegmentRouting]
        listed = [int.from_bytes(inet_pton(10, one), "big") for one in header.addresses]
        assert listed[::-1] == list(PATH[int(reduced) : count])
        assert (header.segleft, header.lastentry) == (count - 1, len(listed) - 1)
    assert reference[BTH].psn == 0x105


def test_congestion_seen_by_either_header():
    """All pairs: the inner field is as it was sent, the outer as it arrives (RFC 6040)."""
    for inner in Ecn:
        for outer in Ecn:
            packet = Packet.decode_ip(D1).encapsulated(1, 2)
            packet.ecn, packet.outer.ecn = inner, outer
            if (inner, outer) == (Ecn.NOT_ECT, Ecn.CE):
                with pytest.raises(PacketError, match="outside a packet without ECN") as caught:
                    Packet.decode_ip(packet.encode())
                assert caught.value.reason == "bad_ecn"
                continue
            seen = Packet.decode_ip(packet.encode())
            assert (seen.ce, seen.ecn, seen.outer.ecn) == (Ecn.CE in (inner, outer), inner, outer)


def test_outer_header_takes_dscp_and_ecn():
    for ecn in Ecn:
        packet = packet_v4(dscp=46, ecn=ecn).encapsulated(1, 2)
        assert (packet.outer.dscp, packet.outer.ecn) == (46, ecn)


# ---- all at once ---------------------------------------------------------------------------------


@given(packets())
def test_scapy_finds_the_same_layers(packet):
    frame = packet.encode()
    reference = Ether(frame)
    tags = []
    while isinstance(reference.payload, Dot1Q | Dot1AD):
        tags.append((reference.type, reference.payload.prio, reference.payload.vlan))
        reference = reference.payload
    expected = [(tag.ether_type, tag.priority, tag.vid) for tag in packet.ethernet.tags]
    assert tags == expected
    inner = reference[UDP].underlayer
    assert isinstance(inner, IP if packet.ipv4 else IPv6)
    assert len(inner) == (20 if packet.ipv4 else 40) + packet.udp_length
    if packet.ipv4:
        found = inner.chksum
        del inner.chksum
        assert IP(bytes(inner)).chksum == found
        assert (inner.tos, inner.ttl, inner.id) == (
            packet.dscp << 2 | packet.ecn, packet.hop_limit, packet.identification,
        )  # fmt: skip


@given(packets().filter(lambda packet: packet.udp_port is None))
def test_scapy_makes_the_same_icrc(packet):
    frame = packet.encode()
    bth = Ether(frame)[BTH]
    # What scapy keeps of the packet from the BTH on.
    body = frame[len(frame) - packet.udp_length + 8 : -4]
    assert bth.compute_icrc(body) == frame[-4:]


@given(packets(), st.data())
def test_noise_raises_nothing_else(packet, data):
    frame = bytearray(packet.encode())
    for _ in range(3):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(14, len(frame)))
    for octets in (bytes(frame), bytes(frame[:cut])):
        with contextlib.suppress(PacketError):
            Packet.decode(octets)
