"""Every reason to drop a frame: counted as itself alone, and the next frame intact."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from received import (
    IPV4_A,
    OWN,
    PACKETS,
    RULES,
    A,
    B,
    config_of,
    ethernet,
    packet,
    plain,
    receive,
    tagged,
    tunnel,
    write,
)

from mrcnic.hdl.ingress.frame import MAX_FRAME_OCTETS
from mrcnic.hdl.ingress.reasons import EVENTS
from mrcnic.hdl.wire.headers import IPV6
from mrcnic.hdl.wire.opcodes import Opcode
from mrcnic.sim.bench.judge import TO_HOST, judge

D1 = tunnel(PACKETS["D1"])
DATA = bytes(range(0x10, 0x20))
T1 = PACKETS["T1"]

#: Frames for uSID 2C05 with one thing wrong, and the event of each.
WRONG = [
    ("rx_bad_frame", (D1, 1)),
    ("rx_runt", D1[:59]),
    ("rx_runt", D1[:1]),
    ("rx_runt", D1[:14]),
    ("rx_oversize", bytes(MAX_FRAME_OCTETS + 1)),
    ("rx_oversize", tunnel(write(bytes(1028)))),
    ("rx_not_ipv6", ethernet(PACKETS["D1"], ether_type=0x0806)),
    ("rx_not_ipv6", bytes(60)),
    ("rx_not_ipv6", tagged(ethernet(PACKETS["D1"], ether_type=0x9100), (0x8100, 0))),
    ("rx_other_vlan", tagged(D1, (0x8100, 1))),
    ("rx_other_vlan", tagged(D1, (0x88A8, 0), (0x8100, 0))),
    ("rx_bad_version", ethernet(PACKETS["D1"], ether_type=0x0800)),
    ("rx_bad_version", tunnel(PACKETS["D1"], version=4)),
    ("rx_bad_version", tunnel(write(DATA, version=5))),
    ("rx_bad_version", plain(write(DATA, version=7))),
    ("rx_not_ours", tunnel(PACKETS["D1"], destination=0x5F0000012C06 << 80)),
    ("rx_not_ours", tunnel(PACKETS["D1"], destination=0x5F0000022C05 << 80)),
    ("rx_not_ours", tunnel(write(DATA, destination=A))),
    ("rx_not_ours", plain(write(DATA, destination=B ^ 1))),
    ("rx_not_ours", plain(write(DATA, destination=B ^ 1 << 127))),
    ("rx_bad_srh", tunnel(PACKETS["D1"], PACKETS["X-LE2"])),
    ("rx_srh_unsupported", tunnel(PACKETS["D1"], PACKETS["X2"])),
    ("rx_bad_next_header", tunnel(PACKETS["D1"], b"\x06" + PACKETS["H1"][1:])),
    ("rx_not_udp", plain(write(DATA, next_header=6))),
    ("rx_not_udp", tunnel(write(DATA, next_header=58))),
    ("rx_not_udp", plain(write(DATA, ipv4=True, protocol=6))),
    ("rx_not_ours", plain(write(DATA, ipv4=True, destination=IPV4_A))),
    ("rx_ipv4_options", plain(write(DATA, ipv4=True, header_length=6))),
    ("rx_ipv4_fragment", plain(write(DATA, ipv4=True, more_fragments=1))),
    ("rx_ipv4_fragment", plain(write(DATA, ipv4=True, fragment_offset=1))),
    ("rx_bad_checksum", plain(write(DATA, ipv4=True, checksum=0x1234))),
    ("rx_bad_port", plain(write(DATA, ipv4=True, destination_port=53))),
    ("rx_bad_length", plain(write(DATA, ipv4=True, total_length=85))),
    ("rx_bad_ecn", tunnel(write(DATA, ecn=0), ecn=3)),
    ("rx_bad_port", tunnel(write(DATA, destination_port=4790))),
    # Trimmed: without METH, without the TSETH that there was, drawn out, and not a write.
    ("rx_bad_length", tunnel(PACKETS["D1"][:67], dscp=16, payload_length=104)),
    ("rx_bad_length", plain(write(DATA, dscp=18, timestamped=0))[:77]),
    ("rx_bad_length", tunnel(PACKETS["D1"], dscp=16) + b"\0"),
    ("rx_bad_opcode", tunnel(packet(Opcode.SACK, bytes(36)), dscp=16)),
    # Lengths: each header against the frame and the others; frames cut short and drawn out.
    ("rx_bad_length", tunnel(PACKETS["D1"], payload_length=0x69)),
    ("rx_bad_length", tunnel(PACKETS["D1"])[:-1]),
    ("rx_bad_length", tunnel(PACKETS["D1"]) + b"\0"),
    ("rx_bad_length", plain(PACKETS["D1"])[:82]),
    ("rx_bad_length", plain(PACKETS["D1"])[:60]),
    ("rx_bad_length", tunnel(PACKETS["D1"])[:60]),
    ("rx_bad_length", tunnel(PACKETS["D1"], PACKETS["H1"])[:61]),
    ("rx_bad_length", tunnel(PACKETS["D1"])[:100]),
    ("rx_bad_length", plain(write(DATA, length=63))),
    ("rx_bad_length", plain(write(DATA, payload_length=65))),
    ("rx_bad_length", plain(packet(Opcode.SACK, bytes(40)))),
    ("rx_bad_length", plain(packet(Opcode.NACK, bytes(16)))),
    ("rx_bad_length", plain(packet(Opcode.WRITE_ONLY, bytes(16)))),
    (
        "rx_bad_length",
        ethernet(IPV6.pack(version=6, next_header=17, destination=B)).ljust(60, b"\0"),
    ),
    ("rx_bad_tver", tunnel(write(DATA, tver=1))),
    ("rx_bad_pkey", tunnel(write(DATA, p_key=0x7FFF))),
    ("rx_bad_opcode", tunnel(write(DATA, opcode=0xCC))),
    ("rx_bad_opcode", tunnel(write(DATA, opcode=0xC5))),
    ("rx_bad_opcode", tunnel(packet(0x0A, bytes(24)))),
    ("rx_bad_opcode", tunnel(packet(0x9C, bytes(36)))),
    # B041: a pad and no payload; a pad that leaves no whole word; a pad of a SACK.
    ("rx_bad_pad", tunnel(write(b"", pad=3))),
    ("rx_bad_pad", tunnel(packet(Opcode.SACK, bytes(36), pad=1))),
    ("rx_bad_pad", tunnel(packet(Opcode.WRITE_ONLY, bytes(20 + 13)))),
    ("rx_icrc_error", tunnel(write(DATA, good=False))),
    ("rx_icrc_error", tunnel(packet(Opcode.ACK, bytes(4), good=False))),
    ("rx_icrc_error", plain(write(DATA, ipv4=True, good=False))),
    ("rx_bad_endpoint_qp", tunnel(packet(Opcode.ENDPOINT_REQUEST, bytes(16)))),
    ("rx_bad_endpoint_qp", tunnel(packet(Opcode.ENDPOINT_RESPONSE, bytes(36), dqp=3))),
]


@pytest.mark.parametrize("beat_octets", [8, 64])
def test_b116_each_reason_alone(beat_octets):
    """Also B115, B041: after each bad frame, D1, whose payload is the only one that comes out.

    Frames for others are handed to the host as they came, and none besides.
    """
    frames = [frame for _, wrong in WRONG for frame in (wrong, D1)]
    result = receive(frames, beat_octets)
    assert result.sequence == [event for wrong, _ in WRONG for event in (wrong, "rx_packets")]
    assert result.payloads == [DATA] * len(WRONG)
    assert len(result.requests) == len(WRONG)
    assert result.host == [frame for event, frame in WRONG if event in TO_HOST]
    # Those that depend on more than the frame have tests of their own.
    others = {
        "rx_port_disabled", "rx_no_descriptor", "rx_endpoint_no_room", "rx_packets", "rx_trimmed",
        "rx_no_room", "rx_to_host", "rx_host_no_room",
    }  # fmt: skip
    assert {event for event, _ in WRONG} == set(EVENTS) - others


def test_wrong_frames_are_wrong_to_the_reference():
    for event, wrong in WRONG:
        frame, bad = wrong if isinstance(wrong, tuple) else (wrong, 0)
        assert judge(frame, RULES, bad=bool(bad)).event == event


def test_b035_every_bit_of_d1():
    """A flipped bit is only accepted where switches may change it."""
    frames, wanted = [], []
    for bit in range(8 * len(PACKETS["D1"])):
        octets = bytearray(PACKETS["D1"])
        octets[bit // 8] ^= 1 << bit % 8
        frames.append(plain(bytes(octets)))
        event, payload = judge(frames[-1], RULES)[:2]
        place = bit // 8
        masked = place in (1, 2, 3, 7, 46, 47, 52) or (place == 0 and bit % 8 < 4)
        # Trimmed ones differ in their class, which the ICRC does not cover.
        assert (event in ("rx_packets", "rx_trimmed")) == masked
        assert payload in (None, DATA)
        wanted.append(event)
    result = receive(frames)
    assert result.sequence == wanted
    assert set(result.payloads) == {DATA}


def test_b077_trimmed_by_the_outermost_header():
    """DSCP 17 is no role of trimmed packets: such a cut packet is just too short."""
    t1 = IPV6.unpack(T1)
    frames, wanted = [], []
    for dscp, event in ((16, "rx_trimmed"), (18, "rx_trimmed"), (17, "rx_bad_length")):
        for length in (t1["payload_length"], 0x44):
            outer = {**t1, "dscp": dscp, "destination": OWN << 80}
            outer["payload_length"] = length
            frames.append(ethernet(IPV6.pack(**outer) + T1[40:]))
            wanted.append(event)
    # B031: the inner class does not make a packet trimmed.
    frames.append(tunnel(write(DATA, dscp=16), dscp=46))
    result = receive(frames)
    assert result.sequence == [*wanted, "rx_packets"]
    assert not any(request.payload or request.octets for request in result.requests[:-1])
    assert [(r.trimmed, r.last_hop) for r in result.requests] == [(1, 0)] * 2 + [(1, 1)] * 2 + [
        (0, 0)
    ]
    cut = result.requests[0]
    assert (cut.psn, cut.ev, cut.tx_timestamp) == (0x105, 0xC0052010, 0x1234)
    assert (cut.body.write.meth.msn, cut.body.write.reth.rkey) == (0x21, 0)
    assert result.payloads == [DATA]


def test_b128_long_frames():
    sizes = [2047, 2048, 2049, 4096, 4097, 8192, 16384, 40]
    frames = [tunnel(write(bytes(n % 251 for n in range(size)))) for size in sizes]
    result = receive(frames, config=config_of(64, mtu=4096))
    assert result.sequence == ["rx_packets"] * 4 + ["rx_oversize"] * 3 + ["rx_packets"]
    assert [len(payload) for payload in result.payloads] == [2047, 2048, 2049, 4096, 40]
    assert {payload[:40] for payload in result.payloads} == {bytes(range(40))}


@pytest.mark.parametrize("beat_octets", [8, 64])
def test_b043_frames_of_one_beat(beat_octets):
    frames = [D1[:length] for length in (1, 14, 60, 63, 64)] * 2 + [D1]
    result = receive(frames, beat_octets)
    wanted = ["rx_runt", "rx_runt", "rx_bad_length", "rx_bad_length", "rx_bad_length"] * 2
    assert result.sequence == [*wanted, "rx_packets"]
    assert result.payloads == [DATA]


@pytest.mark.parametrize(
    ("beat_octets", "lengths"),
    [
        (8, range(60, 69)),
        (64, range(60, len(D1))),
        (128, range(100, 158, 3)),
    ],
)
def test_frames_cut_anywhere(beat_octets, lengths):
    """Exactly one verdict for each, whatever is left in whichever beat."""
    frames = [frame for length in lengths for frame in (D1[:length], plain(PACKETS["D1"]))]
    result = receive(frames, beat_octets)
    assert result.sequence == ["rx_bad_length", "rx_packets"] * len(lengths)
    assert result.payloads == [DATA] * len(lengths)


def test_b124_enable_changes_at_each_beat():
    """A frame is taken as a whole or not at all, by the state of its first beat."""
    frames, wanted, changes = [], [], {}
    number = 0
    for frame in (D1, tunnel(write(bytes(1000)))):
        beats = -(-len(frame) // 64)
        for off in range(beats):
            changes[number + off] = 0
            changes[number + beats + off] = 1  # in the second frame
            frames += [frame, frame]
            taken = ["rx_packets", "rx_port_disabled"]
            wanted += taken if off else taken[::-1]
            number += 2 * beats

    def steer(number):
        enable = changes.get(number)
        return None if enable is None else {"enable": enable}

    result = receive(frames, steer=steer)
    assert result.sequence == wanted
    assert len(result.payloads) == len(frames) // 2


def test_b028_enable_flickers():
    def steer(number):
        return {"enable": number // 10 % 2} if number % 10 == 0 else None

    frames = [tunnel(PACKETS["D1"], PACKETS["H1"])] * 60
    beats = -(-len(frames[0]) // 64)
    result = receive(frames, steer=steer)
    enabled = [number * beats // 10 % 2 for number in range(60)]
    assert result.sequence == ["rx_packets" if on else "rx_port_disabled" for on in enabled]
    assert result.payloads == [DATA] * sum(enabled)


ODD = st.one_of(
    st.sampled_from([frame for _, frame in WRONG if not isinstance(frame, tuple)]),
    st.builds(
        lambda outer, *args, **kwargs: outer(write(*args, **kwargs)),
        st.sampled_from([plain, tunnel, lambda inner: tunnel(inner, PACKETS["H1"])]),
        st.binary(max_size=200),
        opcode=st.sampled_from([Opcode.WRITE_ONLY, Opcode.WRITE_LAST_IMM]),
        timestamped=st.integers(0, 1),
        good=st.booleans(),
    ),
    st.builds(lambda frame, length: frame[:length], st.just(D1), st.integers(1, 158)),
    st.binary(min_size=1, max_size=100),
)


@settings(max_examples=4)
@given(st.lists(ODD, min_size=4, max_size=25), st.sampled_from([8, 64, 64]), st.integers(0, 99))
def test_agrees_with_the_reference(frames, beat_octets, seed):
    rng = random.Random(seed)
    gap = (lambda: rng.random() < 0.2) if seed % 2 else lambda: 0
    verdicts = [judge(frame, RULES)[:2] for frame in frames]
    result = receive(frames, beat_octets, gap=gap, ready=lambda cycle: rng.random() < 0.7)
    assert result.sequence == [event for event, _ in verdicts]
    assert result.payloads == [payload for _, payload in verdicts if payload]
