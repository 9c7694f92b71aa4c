"""Packets for tests: literal ones, and strategies for all that there can be."""

import json
from pathlib import Path

from hypothesis import strategies as st

from mrcnic.hdl.wire.opcodes import Ecn, EtherType, Opcode
from mrcnic.sim.codec.extensions import WRITE_OPCODES, extensions
from mrcnic.sim.codec.outer import Ethernet, Outer, VlanTag
from mrcnic.sim.codec.packet import Packet
from mrcnic.sim.codec.routing import SegmentRouting

__all__ = ["VECTORS", "packets"]

#: Layer and octets of each literal packet, by name.
VECTORS = {
    vector["name"]: (vector["layer"], bytes.fromhex(vector["hex"]))
    for name in ("mrc_a1.json", "packets.json")
    for vector in json.loads((Path(__file__).parents[2] / "vectors" / name).read_text())
}

addresses = st.integers(0, 2**128 - 1)
tags = st.builds(
    VlanTag,
    vid=st.integers(0, 4095),
    priority=st.integers(0, 7),
    drop_eligible=st.integers(0, 1),
    ether_type=st.sampled_from([EtherType.VLAN, EtherType.SERVICE_VLAN]),
)
frames = st.builds(
    Ethernet,
    destination=st.integers(0, 2**48 - 1),
    source=st.integers(0, 2**48 - 1),
    tags=st.lists(tags, max_size=2).map(tuple),
)
outers = st.builds(
    Outer,
    source=addresses,
    destination=addresses,
    dscp=st.just(8),
    ecn=st.integers(0, 3),
    flow_label=st.integers(0, 0xFFFFF),
    hop_limit=st.integers(0, 255),
    routing=st.none()
    | st.builds(
        SegmentRouting,
        segments=st.lists(addresses, min_size=1, max_size=8).map(tuple),
        segments_left=st.integers(0, 1),
        tag=st.integers(0, 0xFFFF),
        tlvs=st.sampled_from([b"", bytes(8), b"\x04\x06" + bytes(6)]),
    ),
)


@st.composite
def packets(draw):
    """Return any packet that is not trimmed, in a frame."""
    opcode = draw(st.sampled_from(list(Opcode)))
    timestamped = opcode in WRITE_OPCODES and draw(st.booleans())
    headers = {
        name: {part: draw(st.integers(0, 2**bits - 1)) for part, bits in table.fields.items()}
        for name, table in extensions(opcode, timestamped)
    }
    ipv4 = draw(st.booleans())
    address = st.integers(0, 2**32 - 1) if ipv4 else addresses
    outer = draw(st.none() | outers)
    # Who does not understand ECN is not told of congestion.
    marked = outer and outer.ecn == Ecn.CE
    return Packet(
        opcode=opcode,
        source=draw(address),
        destination=draw(address),
        ipv4=ipv4,
        identification=draw(st.integers(0, 2**16 - 1)) if ipv4 else 0,
        ev=draw(st.integers(0, 2**16 - 1)) << 16 if ipv4 else draw(st.integers(0, 2**32 - 1)),
        dqp=draw(st.integers(0, 2**24 - 1)),
        psn=draw(st.integers(0, 2**24 - 1)),
        ack_request=draw(st.integers(0, 1)),
        retransmission=draw(st.integers(0, 1)),
        invariant_reserved=draw(st.integers(0, 15)),
        extensions=headers,
        payload=draw(st.binary(max_size=70)) if opcode in WRITE_OPCODES else b"",
        ecn=draw(st.integers(1 if marked else 0, 3)),
        flow_label_high=0 if ipv4 else draw(st.integers(0, 15)),
        hop_limit=draw(st.integers(0, 255)),
        udp_port=draw(st.sampled_from([None, 4971])),
        outer=outer,
        ethernet=draw(frames),
    )
