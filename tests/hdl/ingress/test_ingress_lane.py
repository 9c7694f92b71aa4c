"""Literal packets into a whole lane, and what the engine gets."""

import pytest
from received import PACKETS, A, ethernet, packet, plain, receive, tunnel, write

from mrcnic.hdl.wire.opcodes import Opcode

V_A = 0xFD000000000000010000000000000001  # addresses of the protocol's own vectors
V_B = 0xFD000000000000020000000000000001
V_BLOCK = 0xFCBBBBBB

SIZES = pytest.mark.parametrize("beat_octets", [8, 64])


@pytest.mark.parametrize(
    ("beat_octets", "outer"), [(8, plain), (16, tunnel), (32, plain), (64, tunnel), (128, plain)]
)
def test_d1(beat_octets, outer):
    result = receive([outer(PACKETS["D1"])], beat_octets)
    assert result.events == {"rx_packets": 1}
    assert result.payloads == [bytes(range(0x10, 0x20))]
    assert not result.responses
    (request,) = result.requests
    assert (request.opcode, request.dqp, request.psn) == (0xCA, 0x12, 0x105)
    assert (request.ack_request, request.retransmission, request.ce) == (1, 0, 0)
    assert (request.ev, request.tx_timestamp, request.pad) == (0xC0052010, 0x1234, 0)
    assert (request.octets, request.payload, request.no_room) == (16, 1, 0)
    assert (request.body.write.meth.rqmsn, request.body.write.meth.msn) == (0, 0x21)
    reth = request.body.write.reth
    assert (reth.va, reth.rkey, reth.dmalen) == (0x100000, 0x0BADCAFE, 16)


@SIZES
def test_writes(beat_octets):
    names = ["D13", "D0", "R1", "D1"]
    result = receive([tunnel(PACKETS[name]) for name in names], beat_octets)
    assert result.events == {"rx_packets": 4}
    d13, d0, r1, d1 = result.requests
    assert (d13.octets, d13.pad, d13.payload) == (13, 3, 1)
    assert (d0.octets, d0.pad, d0.payload, d0.no_room) == (0, 0, 0, 0)
    assert (r1.retransmission, r1.ev, r1.tx_timestamp) == (1, 0xC0092020, 0x1299)
    assert d1.retransmission == 0
    data = bytes(range(0x10, 0x20))
    assert result.payloads == [bytes(range(0x30, 0x3D)), data, data]


@pytest.mark.parametrize(("beat_octets", "outer"), [(8, tunnel), (64, plain)])
def test_protocol_vectors_at_b(beat_octets, outer):
    frames = [outer(PACKETS[name]) for name in ("V1", "V4", "V5")]
    result = receive(frames, beat_octets, loopback=V_B)
    assert result.sequence == ["rx_packets"] * 3
    v1, v4 = result.requests
    assert (v1.opcode, v1.psn, v1.ack_request, v1.tx_timestamp) == (0xCB, 0x105, 1, 0x1234)
    assert (v1.body.write.meth.rqmsn, v1.body.write.meth.msn) == (7, 0x21)
    assert v1.body.write.immediate == 0xCAFEF00D
    assert v1.body.write.reth.va == 0x7F0012345000
    assert result.payloads == [bytes(range(16))]
    assert (v4.opcode, v4.body.probe.probe_id, v4.tx_timestamp) == (0xDE, 0x77, 0x1300)
    assert (v4.octets, v4.payload) == (0, 0)


@SIZES
def test_protocol_vectors_at_a(beat_octets):
    frames = [plain(PACKETS[name]) for name in ("V2", "V3", "V6", "V7")]
    result = receive(frames, beat_octets, loopback=V_A)
    assert result.sequence == ["rx_packets"] * 4
    assert not result.requests
    sack, nack, ack = result.responses
    seth, state = sack.body.sack.seth, sack.body.sack.cc_state
    assert (sack.opcode, sack.dqp, sack.psn) == (0xDC, 0x34, 0x102)
    assert (seth.mark, seth.probe_reply, seth.ack_psn_offset) == (1, 0, 3)
    assert (seth.entropy, seth.cack_psn) == (0xC0052010, 0x102)
    assert (seth.sack_offset, seth.sack_bitmap) == (1, 0b110)
    assert (state.tx_timestamp, state.ooo_count, state.rcvd_bytes) == (0x1234, 2, 0x21)
    assert (nack.body.nack.reason, nack.body.nack.nack_psn) == (1, 0x105)
    assert (nack.body.nack.entropy, nack.body.nack.tx_timestamp) == (0xC0052010, 0x1234)
    assert (ack.psn, ack.body.ack.syndrome, ack.body.ack.msn) == (0x105, 0x1F, 0x22)


def test_v8():
    """V1 with the outer header of the first hop, and with that of the last."""
    v8 = PACKETS["V8"]
    arrived = v8[:24] + bytes.fromhex("fcbbbbbb2c0500000000000000000000") + v8[40:]
    frames = [ethernet(v8), ethernet(arrived)]
    result = receive(frames, loopback=V_B, block=V_BLOCK)
    assert result.sequence == ["rx_not_ours", "rx_packets"]
    assert result.payloads == [bytes(range(16))]


@SIZES
def test_control_packets(beat_octets):
    names = ["K2", "K3", "K4", "K5", "K6", "N01", "N02", "N06", "N07", "N0B", "N19", "A1", "A2"]
    result = receive([tunnel(PACKETS[name]) for name in names], beat_octets, loopback=A)
    assert result.events == {"rx_packets": len(names)}
    got = dict(zip(names, result.responses, strict=True))
    assert [got[n].body.nack.reason for n in names if n[0] == "N"] == [1, 2, 6, 7, 0x0B, 0x19]
    assert [got[n].body.ack.syndrome for n in ("A1", "A2")] == [0x1F, 0x62]
    assert [got[n].body.sack.seth.cack_psn for n in names[:5]] == [0x105, 0xFF, 0xF0, 0x900, 0x105]
    assert got["K2"].body.sack.seth.ack_psn_offset == 0xFFFE
    assert got["K3"].body.sack.seth.sack_bitmap == 0xFFFFFFFFFFFFFFFE
    assert got["K6"].body.sack.seth.mark == 2


def test_probe_and_endpoint_packets():
    result = receive([tunnel(PACKETS[name]) for name in ("P1", "E9", "E8")])
    assert result.sequence == ["rx_packets"] * 3
    (probe,) = result.requests
    assert (probe.body.probe.probe_id, probe.tx_timestamp) == (0x577, 0x1300)


def test_routing_headers():
    """Each one before D1, and D1 with a plain tunnel after it."""
    cases = {
        "H1": "rx_packets",
        "X2": "rx_srh_unsupported",
        "X-RED": "rx_srh_unsupported",
        "X-SL2": "rx_bad_srh",
        "X-LE2": "rx_bad_srh",
        "X-RT0": "rx_packets",
        "X-PAD1": "rx_packets",
        "X-PADN": "rx_packets",
    }
    frames, wanted = [], []
    for name, event in cases.items():
        frames += [tunnel(PACKETS["D1"], PACKETS[name]), tunnel(PACKETS["D1"])]
        wanted += [event, "rx_packets"]
    # Pad1, PadN(3), Pad1, Pad1; a type that is not ours, with a segment left; inner TCP.
    more = {
        "29030400000000005f0000012401280124022c05000000000004030000000000": "rx_packets",
        "29020001000000005f0000012401280124022c0500000000": "rx_bad_srh",
        "06020400000000005f0000012401280124022c0500000000": "rx_bad_next_header",
    }
    for digits, event in more.items():
        frames.append(tunnel(PACKETS["D1"], bytes.fromhex(digits)))
        wanted.append(event)
    result = receive(frames)
    assert result.sequence == wanted
    assert result.payloads == [bytes(range(0x10, 0x20))] * wanted.count("rx_packets")


def test_b026_segments_up_to_eight():
    frames, wanted = [], []
    for segments in range(1, 12):
        srh = bytes([41, 2 * segments, 4, 0, segments - 1, 0, 0, 0]) + bytes(16 * segments)
        frames += [tunnel(PACKETS["D1"], srh), tunnel(PACKETS["D1"])]
        wanted += ["rx_packets" if segments <= 8 else "rx_srh_unsupported", "rx_packets"]
    for units in (24, 25):  # one segment, and a long TLV
        srh = bytes([41, units, 4, 0, 0, 0, 0, 0]) + bytes(8 * units)
        frames += [tunnel(PACKETS["D1"], srh), tunnel(PACKETS["D1"])]
        wanted += ["rx_packets" if units == 24 else "rx_srh_unsupported", "rx_packets"]
    result = receive(frames)
    assert result.sequence == wanted


def test_b001_an_outer_header_that_lies():
    frames = [ethernet(PACKETS["O1BAD"] + PACKETS["D1"]), tunnel(PACKETS["D1"])]
    # The carrier of the vector is that of the first hop, which is for uSID 2401.
    change = -(-len(frames[0]) // 64) + 64 // 64
    frames.insert(1, bytes(64))
    steer = {0: {"port": {"usid": 0x2401}}, change: {}}
    result = receive(frames, steer=steer.get)
    assert result.sequence == ["rx_bad_srh", "rx_not_ipv6", "rx_packets"]


def test_b005_each_packet_has_its_own_verdict():
    usids = [0x5F0000012C05, 0x5F0000012C06, 0x5F0000013C05]
    frames = [tunnel(PACKETS["D1"], destination=usid << 80) for usid in usids]
    frames.append(plain(PACKETS["D1"]))
    result = receive(frames * 3)
    assert result.sequence == ["rx_packets", "rx_not_ours", "rx_not_ours", "rx_packets"] * 3


def test_b025_no_routing_header_is_no_error():
    result = receive([tunnel(PACKETS["D1"])] * 100)
    assert result.events == {"rx_packets": 100}


@pytest.mark.parametrize("beat_octets", [8, 32, 128])
def test_b044_the_same_payload_behind_headers_of_any_length(beat_octets):
    payload = bytes(range(200))
    srhs = [PACKETS["H1"], PACKETS["X-PAD1"]]
    frames = []
    for opcode in (Opcode.WRITE_ONLY, Opcode.WRITE_ONLY_IMM):
        for timestamped in (0, 1) if beat_octets > 8 else (1,):
            inner = write(payload, opcode=opcode, timestamped=timestamped)
            frames += [plain(inner), tunnel(inner), *(tunnel(inner, srh) for srh in srhs)]
    result = receive(frames, beat_octets)
    assert result.events == {"rx_packets": len(frames)}
    assert result.payloads == [payload] * len(frames)
    stamps = [request.tx_timestamp for request in result.requests]
    assert stamps == (([0] * 4 + [0x1234] * 4) * 2 if beat_octets > 8 else [0x1234] * 8)
    immediates = {request.body.write.immediate for request in result.requests[len(frames) // 2 :]}
    assert immediates == {0xCAFEF00D}
    assert {request.body.write.reth.rkey for request in result.requests} == {0x0BADCAFE}


def test_b095_each_flag_alone():
    sack = bytearray(PACKETS["K2"][60:-4])
    marks = []
    frames = []
    for flag in (0x20, 0x40, 0x02, 0x80, 0x01, 0x10, 0x08, 0x04, 0):
        sack[1] = flag
        frames.append(plain(packet(Opcode.SACK, bytes(sack))))
        marks.append((flag >> 5 & 3, flag >> 1 & 1))
    result = receive(frames)
    seths = [response.body.sack.seth for response in result.responses]
    assert [(seth.mark, seth.probe_reply) for seth in seths] == marks

    names = ("ack_request", "retransmission", "timestamped")
    frames = [plain(write(b"", **{"timestamped": 0, name: 1})) for name in names]
    result = receive(frames)
    flags = [(r.ack_request, r.retransmission, r.tx_timestamp) for r in result.requests]
    assert flags == [(1, 0, 0), (0, 1, 0), (0, 0, 0x1234)]


def test_congestion_in_either_header():
    cases = [(2, 2), (3, 2), (2, 3), (3, 3), (1, 1), (0, 0), (3, 1)]
    frames = [tunnel(write(b"", ecn=inner), ecn=outer) for outer, inner in cases]
    frames += [plain(write(b"", ecn=inner)) for inner in range(4)]
    result = receive(frames)
    assert [request.ce for request in result.requests] == [0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 1]


def test_halves_of_the_ev():
    frames = [plain(write(b"", source_port=0xC1AB, flow_label=0xF4321))]
    assert [r.ev for r in receive(frames).requests] == [0xC1AB4321]
    assert [r.ev for r in receive(frames, swap_ev=1).requests] == [0x4321C1AB]


def test_what_the_icrc_does_not_cover():
    """Any change to it on the way, and any outer header, leaves the packet good."""
    d1 = bytearray(PACKETS["D1"])
    d1[0] |= 0x0F  # traffic class
    d1[1:4] = b"\xff\xff\xff"
    d1[7] = 1  # hop limit
    d1[46:48] = b"\x12\x34"  # UDP checksum
    d1[52] = 0xFF  # variant reserved
    frames = [tunnel(bytes(d1), hop_limit=1, dscp=63, flow_label=0xFFFFF)]
    result = receive(frames)
    assert result.events == {"rx_packets": 1}
    assert result.requests[0].ev == 0xC005FFFF


def test_both_udp_ports():
    frames = [plain(write(b"", destination_port=port)) for port in (4791, 4971, 4792, 0)]
    result = receive(frames)
    assert result.sequence == ["rx_packets", "rx_packets", "rx_bad_port", "rx_bad_port"]
