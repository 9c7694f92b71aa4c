"""The layers for scapy against the codec, which they share the tables of headers with."""

import pytest
from codec_packets import VECTORS, packets
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib import roce
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from mrcnic.hdl.wire.opcodes import Opcode
from mrcnic.sim.codec import scapy_layers
from mrcnic.sim.codec.extensions import extensions
from mrcnic.sim.codec.packet import Packet
from mrcnic.sim.codec.scapy_layers import LAYERS, MrcBTH, MrcData, MrcICRC
from mrcnic.sim.codec.transit import trimmed

WHOLE = {
    name: octets for name, (layer, octets) in VECTORS.items() if layer.endswith("IPv6 to ICRC")
}


@pytest.fixture(autouse=True, scope="module")
def _bound():
    scapy_layers.bind()
    yield
    scapy_layers.unbind()


def check(reference, packet):
    """Compare every field, and the order of the layers."""
    bth = reference[MrcBTH]
    for name in ("opcode", "dqp", "psn", "ack_request", "retransmission", "invariant_reserved"):
        assert getattr(bth, name) == getattr(packet, name)
    assert (bth.pad, bth.timestamped, bth.p_key) == (packet.pad, packet.timestamped, 0xFFFF)
    names = [name for name, _ in extensions(packet.opcode, packet.timestamped)]
    layer = bth
    for name in names:
        layer = layer.payload
        assert type(layer) is LAYERS[name]
        assert {field: getattr(layer, field) for field in packet.extensions[name]} == (
            packet.extensions[name]
        )
    if packet.payload:
        layer = layer.payload
        assert (type(layer), layer.load) == (MrcData, packet.payload)
    assert type(layer.payload) is MrcICRC
    assert layer.payload.right
    assert not layer.payload.payload


@pytest.mark.parametrize("name", WHOLE)
def test_vectors(name):
    octets = WHOLE[name]
    check(IPv6(octets), Packet.decode_ip(octets))
    assert bytes(IPv6(octets)) == octets


def test_vectors_hold_all_opcodes_but_parts_of_writes():
    opcodes = {IPv6(octets)[MrcBTH].opcode for octets in WHOLE.values()}
    assert set(Opcode) - opcodes == set(range(Opcode.WRITE_FIRST, Opcode.WRITE_ONLY))


@given(packets())
def test_same_fields_as_the_codec(packet):
    check(Ether(packet.encode()), packet)


@given(packets())
def test_builds_what_it_reads(packet):
    """From the fields alone, with pad, TSETH bit and ICRC left out, the same octets."""
    frame = packet.encode()
    reference = Ether(frame)
    bth, icrc = reference[MrcBTH], reference[MrcICRC]
    del bth.pad, bth.timestamped, icrc.crc
    layer = reference
    while layer:
        layer.raw_packet_cache = None
        layer = layer.payload
    reference[UDP].chksum = 0
    assert bytes(reference) == frame


@given(packets(), st.data())
def test_damage_is_seen(packet, data):
    frame = bytearray(packet.encode())
    bit = data.draw(st.integers(0, 8 * (packet.udp_length - 8) - 1))
    octet = len(frame) - 1 - bit // 8
    if len(frame) - octet == packet.udp_length - 8 - 4:
        return  # octet 4 of the BTH is not protected
    frame[octet] ^= 1 << bit % 8
    reference = Ether(bytes(frame))
    if reference.haslayer(MrcICRC):
        assert not reference[MrcICRC].right


@pytest.mark.parametrize("port", [4791, 4971])
def test_other_opcodes_are_those_of_roce(port):
    octets = bytes(IPv6() / UDP(dport=port) / (b"\x0a" + bytes(30)))
    assert type(IPv6(octets)[UDP].payload) is roce.BTH
    octets = bytes(IP() / UDP(dport=port) / (b"\xc0" + bytes(30)))
    assert type(IP(octets)[UDP].payload) is MrcBTH
    assert type(IP(octets)[MrcBTH].payload) is Raw


@pytest.mark.parametrize("name", ["C6", "CB", "DC"])
@pytest.mark.parametrize("cut", range(1, 60, 3))
def test_cut_packets(name, cut):
    """What is not there is no layer, and nothing is raised."""
    octets = {"C6": WHOLE["D1"], "CB": WHOLE["V1"], "DC": WHOLE["V2"]}[name][:-cut]
    reference = IPv6(octets)
    assert bytes(reference) == octets
    if MrcICRC in reference:
        assert not reference[MrcICRC].right


def test_trimmed_packets_have_no_icrc():
    frame = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") / IPv6(WHOLE["D1"])
    left = Ether(trimmed(bytes(frame), last_hop=False))
    assert [type(left.getlayer(n)) for n in range(3, 7)] == [
        MrcBTH, LAYERS["meth"], LAYERS["tseth"], type(None),
    ]  # fmt: skip
    # A switch may leave more: that is nothing of the packet's.
    stale = Packet.decode_ip(WHOLE["D1"])
    stale.dscp = 16
    left = IPv6(stale.encode())
    assert type(left[LAYERS["tseth"]].payload) is Raw


def test_icrc_needs_ip_below():
    assert bytes(MrcBTH(opcode="ACK") / LAYERS["aeth"]() / MrcICRC())[-4:] == bytes(4)


def test_all_layers_are_exported():
    assert {layer.__name__ for layer in (*LAYERS.values(), MrcBTH, MrcData, MrcICRC)} | {
        "LAYERS",
        "bind",
        "unbind",
    } == set(scapy_layers.__all__)
    names = {name for one in Opcode for ts in (0, 1) for name, _ in extensions(one, bool(ts))}
    assert set(LAYERS) == names


def test_binding_can_be_undone():
    octets = WHOLE["D1"]
    scapy_layers.bind()
    assert type(IPv6(octets)[UDP].payload) is MrcBTH
    scapy_layers.unbind()
    assert type(IPv6(octets)[UDP].payload) is roce.BTH
    scapy_layers.bind()
    assert type(IPv6(octets)[UDP].payload) is MrcBTH
