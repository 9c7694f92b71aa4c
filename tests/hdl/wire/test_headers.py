"""Headers are held against scapy, which is somebody else's reading of the same standards."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet6 import IPv6, IPv6ExtHdrSegmentRouting

from mrcnic.hdl.wire.headers import IPV6, SRH, Header

ipv6_packets = st.builds(
    IPv6,
    tc=st.integers(0, 0xFF),
    fl=st.integers(0, 0xFFFFF),
    plen=st.integers(0, 0xFFFF),
    nh=st.integers(0, 0xFF),
    hlim=st.integers(0, 0xFF),
    src=st.ip_addresses(v=6).map(str),
    dst=st.ip_addresses(v=6).map(str),
).map(bytes)


def test_lengths():
    assert (IPV6.octets, SRH.octets) == (40, 8)


@given(ipv6_packets)
def test_ipv6_reads_as_scapy_writes(packet):
    header = IPV6.unpack(packet)
    reference = IPv6(packet)
    assert header["version"] == 6
    assert header["dscp"] << 2 | header["ecn"] == reference.tc
    assert header["flow_label"] == reference.fl
    assert header["payload_length"] == reference.plen
    assert header["next_header"] == reference.nh
    assert header["hop_limit"] == reference.hlim


@given(ipv6_packets)
def test_pack_undoes_unpack(packet):
    assert IPV6.pack(**IPV6.unpack(packet)) == packet


def test_srh_reads_as_scapy_writes():
    segments = ["fc00::1", "fc00::2"]
    packet = bytes(IPv6ExtHdrSegmentRouting(addresses=segments, segleft=1, tag=0x1234))
    header = SRH.unpack(packet)
    assert header["routing_type"] == 4
    assert header["header_length"] == 2 * len(segments)
    assert (header["segments_left"], header["last_entry"], header["tag"]) == (1, 1, 0x1234)


def test_errors():
    with pytest.raises(ValueError, match="0 octets and 4 bits"):
        Header(version=4)
    with pytest.raises(ValueError, match="header takes 8 octets, packet has 7"):
        SRH.unpack(bytes(7))
    with pytest.raises(ValueError, match="tag must fit in 16 bits, and 65536 does not"):
        SRH.pack(tag=0x10000)
    with pytest.raises(TypeError, match="header has no field tagg"):
        SRH.pack(tagg=1)
