import pytest
from scapy.utils import PcapNgReader

from mrcnic.sim.codec.pcap import CapturedFrame, PcapWriter, read_pcap

FRAMES = [
    CapturedFrame("a0", 0, bytes(range(60))),
    CapturedFrame("p1t00-b1", 1, bytes(range(61))),
    CapturedFrame("a0", 5 * 2**32 + 7, bytes(range(62))),
    CapturedFrame("p1t00-b1", 5 * 2**32 + 8, bytes(4238)),
]


@pytest.fixture
def capture(tmp_path):
    path = tmp_path / "capture.pcapng"
    with PcapWriter(path) as writer:
        for frame in FRAMES:
            writer.write(*frame)
    return path


def test_reads_what_it_wrote(capture):
    assert list(read_pcap(capture)) == FRAMES


def test_scapy_reads_the_same(capture):
    with PcapNgReader(str(capture)) as reader:
        packets = list(reader)
    assert [bytes(packet) for packet in packets] == [frame.frame for frame in FRAMES]
    assert [packet.sniffed_on for packet in packets] == [frame.interface for frame in FRAMES]
    assert [int(packet.time * 10**9) for packet in packets] == [frame.time_ns for frame in FRAMES]


def test_no_frames(tmp_path):
    path = tmp_path / "empty.pcapng"
    PcapWriter(path).close()
    assert list(read_pcap(path)) == []


def test_not_a_capture(tmp_path):
    path = tmp_path / "text"
    path.write_text("hello")
    with pytest.raises(ValueError, match=r"^text is not a capture in the pcapng format$"):
        list(read_pcap(path))


@pytest.mark.parametrize("missing", [1, 4, 10, 4200])
def test_cut(capture, missing):
    octets = capture.read_bytes()
    capture.write_bytes(octets[:-missing])
    with pytest.raises(ValueError, match=r"^capture.pcapng ends in the middle of a block$"):
        list(read_pcap(capture))


def test_other_resolution(capture):
    octets = capture.read_bytes()
    capture.write_bytes(octets.replace(b"\x09\x00\x01\x00\x09", b"\x09\x00\x01\x00\x06", 1))
    with pytest.raises(ValueError, match="times of interface a0 are not in nanoseconds"):
        list(read_pcap(capture))
