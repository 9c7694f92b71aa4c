"""VLAN tags, IPv4, endpoint packets, and frames for the host."""

import pytest
from received import IPV4_A, PACKETS, A, ethernet, packet, plain, receive, tagged, tunnel, write

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.ingress.endpoint_queue import ENDPOINTS
from mrcnic.hdl.ingress.host_path import host_beats
from mrcnic.hdl.wire.opcodes import Opcode

D1 = tunnel(PACKETS["D1"])
DATA = bytes(range(0x10, 0x20))
ARP = ethernet(bytes(46), ether_type=0x0806)

SIZES = pytest.mark.parametrize("beat_octets", [8, 64])

#: Tags of frames, and with which settings of the port they are the right ones.
TAGGED = {
    (): {0},
    ((0x8100, 0xE000),): {0},
    ((0x8100, 0x0005),): {1},
    ((0x88A8, 0xF005),): {1},
    ((0x8100, 0x0006),): set(),
    ((0x88A8, 0x0007), (0x8100, 0x6005)): {2},
    ((0x8100, 0x0007), (0x8100, 0x0005)): {2},
    ((0x88A8, 0x0005), (0x8100, 0x0007)): set(),
    ((0x88A8, 0x0007), (0x8100, 0x0000)): set(),
}


@pytest.mark.parametrize("tags", [0, 1, 2])
@SIZES
def test_vlan_tags(beat_octets, tags):
    """By number and identifier, whatever priority they have; other VLANs are the host's."""
    inner = write(DATA), write(DATA, ipv4=True)
    frames, wanted = [], []
    for with_tags, right in TAGGED.items():
        for frame in (tunnel(inner[0], PACKETS["H1"]), plain(inner[0]), plain(inner[1])):
            frames.append(tagged(frame, *with_tags))
            wanted.append("rx_packets" if tags in right else "rx_other_vlan")
    port = {"tags": tags, "outer_tag": 0x9007, "inner_tag": 0xA005}
    result = receive(frames, beat_octets, port=port)
    assert result.sequence == wanted
    assert result.payloads == [DATA] * wanted.count("rx_packets")
    pairs = zip(frames, wanted, strict=True)
    assert result.host == [frame for frame, event in pairs if event == "rx_other_vlan"]


@SIZES
def test_ipv4(beat_octets):
    """The source port alone makes the EV; the class comes from the only header there is."""
    payload = bytes(range(100))
    cases = [
        write(payload, ipv4=True, source_port=0xC1AB),
        write(payload, ipv4=True, opcode=Opcode.WRITE_ONLY_IMM, timestamped=0, ecn=3),
        packet(Opcode.PROBE, PACKETS["P1"][60:-4], ipv4=True),
        packet(Opcode.ACK, bytes([0x1F, 0, 0, 7]), ipv4=True),
        write(payload, ipv4=True, dscp=18)[:64],
    ]
    result = receive([plain(case) for case in cases], beat_octets)
    assert result.sequence == ["rx_packets"] * 4 + ["rx_trimmed"]
    first, second, probe, cut = result.requests
    assert (first.ev, first.ce, first.octets, first.tx_timestamp) == (0xC1AB0000, 0, 100, 0x1234)
    assert (second.ce, second.body.write.immediate, second.octets) == (1, 0xCAFEF00D, 100)
    assert probe.body.probe.probe_id == 0x577
    assert (cut.trimmed, cut.last_hop, cut.payload, cut.octets) == (1, 1, 0, 0)
    assert (cut.body.write.meth.msn, cut.tx_timestamp) == (0x21, 0x1234)
    assert [response.body.ack.msn for response in result.responses] == [7]
    assert result.payloads == [payload] * 2
    swapped = receive([plain(cases[0])], beat_octets, swap_ev=1)
    assert swapped.requests[0].ev == 0xC1AB


def test_what_the_icrc_does_not_cover_of_ipv4():
    """Type of service, time to live, both checksums, and the reserved octet of the BTH."""
    right = write(DATA, ipv4=True)
    frames = []
    for place in range(len(right) - 4):
        octets = bytearray(right)
        octets[place] ^= 0x02
        if place < 20:  # the header's own sum stays right
            words = int.from_bytes(octets[:10] + b"\0\0" + octets[12:20], "big")
            octets[10:12] = (0xFFFF - words % 0xFFFF).to_bytes(2, "big")
        frames.append(plain(bytes(octets)))
    result = receive(frames)
    taken = [place for place, event in enumerate(result.sequence) if event == "rx_packets"]
    # The type of service at place 1; places 10 and 11 were put right again.
    assert taken == [1, 8, 10, 11, 26, 27, 32]


def test_b038_sum_that_carries_twice():
    """A header whose plain sum has a carry, and whose checksum is 0xFFFF or close to it."""
    numbers = [*range(0, 0x10000, 0x555), 0xFFFE, 0xFFFF]
    result = receive([plain(write(DATA, ipv4=True, identification=n)) for n in numbers])
    assert set(result.sequence) == {"rx_packets"}


@SIZES
def test_endpoint_packets(beat_octets):
    request = packet(
        Opcode.ENDPOINT_REQUEST,
        bytes.fromhex("00010000 000000fb 00000000 14000001"),
        dqp=2,
        psn=0x340009,
        ecn=3,
    )
    response = packet(
        Opcode.ENDPOINT_RESPONSE,
        bytes([0, 0x04]) + bytes(26) + b"\x12\x34" + bytes(6),
        dqp=2,
        psn=9,
        ipv4=True,
    )
    result = receive([tunnel(request), plain(response)], beat_octets)
    assert result.events == {"rx_packets": 2}
    assert not result.requests
    assert not result.responses
    asks, answers = result.endpoints
    assert (asks.source, asks.response, asks.operation, asks.identifier) == (A, 0, 1, 9)
    assert (asks.port_status_mask, asks.tx_timestamp, asks.ce) == (0xFB, 0x1400, 1)
    assert asks.ev == 0xC0052010
    assert (answers.source, answers.response) == (0xFFFF << 32 | IPV4_A, 1)
    assert (answers.operation, answers.identifier) == (1, 9)
    assert (answers.port_status_mask, answers.tx_timestamp, answers.ce) == (0, 0x1234, 0)


def test_endpoint_packets_without_room():
    """Nobody reads them at first: those that find no room are counted."""
    frames = [plain(PACKETS["E9"])] * (ENDPOINTS + 5)
    result = receive(frames, ready=lambda cycle: cycle > 100)
    taken = len(result.endpoints)
    assert ENDPOINTS <= taken <= ENDPOINTS + 1
    assert result.events == {"rx_packets": taken, "rx_endpoint_no_room": len(frames) - taken}


@pytest.mark.parametrize("beat_octets", [8, 32, 128])
def test_frames_for_the_host_leave_as_they_came(beat_octets):
    """In order, with ours and bad ones between them."""
    lengths = [*range(60, 60 + 2 * beat_octets + 2, 1 if beat_octets < 64 else 7), 300]
    foreign = [ethernet(bytes(n & 0xFF for n in range(length - 14)), 0x88B5) for length in lengths]
    frames = []
    for number, frame in enumerate(foreign):
        frames += [frame, *[(D1,), ((frame, 1),), (D1[:100],), ()][number % 4]]
    result = receive(frames, beat_octets)
    assert result.host == foreign
    assert result.events["rx_to_host"] == len(foreign)
    assert result.payloads == [DATA] * frames.count(D1)


def test_shortest_frames_for_the_host_at_line_rate():
    """One beat each, one in each cycle, and none is lost."""
    frames = [ethernet(bytes([n % 256]) * 50, 0x88B5) for n in range(600)]
    result = receive(frames)
    assert result.host == frames
    assert result.events["rx_to_host"] == 600


def test_short_frames_for_the_host_next_to_ours():
    """Each goes by its own verdict, whether that comes in the cycle of its end or a cycle later."""
    ack = plain(packet(Opcode.ACK, bytes(4)))
    frames, foreign = [], []
    for length in range(60, 80):
        foreign += [ethernet(bytes([length + n]) * (length - 14), 0x88B5) for n in range(3)]
        frames += [ack, foreign[-3], ack, *foreign[-2:]]
    result = receive(frames)
    assert result.host == foreign
    assert len(result.responses) == frames.count(ack)


@pytest.mark.parametrize("length", [64, 9216])
def test_no_host(length):
    """Its buffer fills, frames are dropped whole and counted, and our packets do not notice."""
    count = host_beats(NicConfig()) * 64 // length + 4
    foreign = ethernet(bytes(length - 14), 0x88B5)
    ours = count // 20 + 1
    frames = ([foreign] * (count // ours + 1) + [D1]) * ours
    result = receive(frames, host_ready=False)
    assert result.events["rx_packets"] == ours
    assert result.payloads == [DATA] * ours
    assert result.events["rx_host_no_room"] > 0
    kept, dropped = result.events["rx_to_host"], result.events["rx_host_no_room"]
    assert kept + dropped == frames.count(foreign)
    assert kept >= 2


def test_host_that_starts_late():
    """What was kept comes out whole, and nothing of what was dropped."""
    frames = [ethernet(bytes([n % 256]) * 986, 0x88B5) for n in range(40)]
    result = receive([*frames, ARP], ready=lambda cycle: cycle > 700)
    kept = result.events["rx_to_host"]
    assert 0 < result.events["rx_host_no_room"] < 40
    assert len(result.host) == kept
    assert result.host[: kept - 1] == frames[: kept - 1]
    assert result.host[-1] in (ARP, frames[kept - 1])
