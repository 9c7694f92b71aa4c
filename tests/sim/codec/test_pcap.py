import contextlib
import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.l2 import Ether
from scapy.utils import PcapNgReader, PcapNgWriter
from scapy.utils import PcapWriter as ScapyPcapWriter

from mrcnic.sim.codec.pcap import CapturedFrame, PcapWriter, read_pcap
from mrcnic.sim.codec.pcap_formats import read_frames

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
            writer.write(*frame[:3])
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
    with pytest.raises(ValueError, match=r"^text is not a capture in the pcapng or pcap format$"):
        list(read_pcap(path))


@pytest.mark.parametrize("missing", [1, 4, 10, 4200])
def test_cut(capture, missing):
    octets = capture.read_bytes()
    capture.write_bytes(octets[:-missing])
    with pytest.raises(ValueError, match=r"^capture.pcapng ends in the middle of a block$"):
        list(read_pcap(capture))


def test_other_resolution(capture):
    """A microsecond is no power of two: the time is rounded down."""
    octets = capture.read_bytes()
    for code, parts in ((6, 10**6), (0x80 | 20, 2**20), (12, 10**12)):
        new = bytes([9, 0, 1, 0, code])
        capture.write_bytes(octets.replace(b"\x09\x00\x01\x00\x09", new))
        times = [frame.time_ns for frame in read_pcap(capture)]
        assert times == [frame.time_ns * 10**9 // parts for frame in FRAMES]


# ---- captures of other tools ---------------------------------------------------------------------


def block(order, kind, body):
    length = struct.pack(f"{order}I", 12 + len(body))
    return struct.pack(f"{order}I", kind) + length + body + length


def pcapng(order, *blocks):
    section = block(order, 0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))
    return section + b"".join(block(order, *one) for one in blocks)


def interface(order, link=1, longest=0, options=b""):
    return 1, struct.pack(f"{order}HHI", link, 0, longest) + options


def enhanced(order, number, time, frame, octets=None):
    fixed = struct.pack(f"{order}IIIII", number, time >> 32, time & 0xFFFFFFFF, len(frame),
                        octets or len(frame))  # fmt: skip
    return 6, fixed + frame + bytes(-len(frame) % 4)


@pytest.fixture
def read(tmp_path):
    def read_octets(octets):
        path = tmp_path / "c"
        path.write_bytes(octets)
        return list(read_pcap(path))

    return read_octets


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcapng_of_other_tools(read, order):
    """Without names and resolutions, with blocks of no interest, cut frames, and two sections."""
    simple = (3, struct.pack(f"{order}I", 70) + bytes(60))
    octets = pcapng(
        order,
        interface(order, longest=60),
        (5, bytes(12)),
        enhanced(order, 0, 7, bytes(61), 1000),
        simple,
        (0x80000001, b"what is this"),
    )
    # The other section has its own byte order, interfaces and offset of times, in seconds.
    other = "<" if order == ">" else ">"
    name = struct.pack(f"{other}HH", 2, 3) + b"a1\0\0"
    offset = struct.pack(f"{other}HHq", 14, 8, 100)
    octets += pcapng(
        other, interface(other, options=name + offset), enhanced(other, 0, 2, bytes(62))
    )
    assert read(octets) == [
        CapturedFrame("", 7000, bytes(61), 1000),
        CapturedFrame("", 0, bytes(60), 70),
        CapturedFrame("a1", 100 * 10**9 + 2000, bytes(62)),
    ]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "unit"), [(0xA1B2C3D4, 1000), (0xA1B23C4D, 1)])
def test_pcap(read, order, magic, unit):
    octets = struct.pack(f"{order}IHHIIII", magic, 2, 4, 0, 0, 65535, 1)
    octets += struct.pack(f"{order}IIII", 3, 5, 61, 61) + bytes(61)
    octets += struct.pack(f"{order}IIII", 4, 6, 60, 1500) + bytes(60)
    first, second = 3 * 10**9 + 5 * unit, 4 * 10**9 + 6 * unit
    assert read(octets) == [
        CapturedFrame("", first, bytes(61)),
        CapturedFrame("", second, bytes(60), 1500),
    ]
    with pytest.raises(ValueError, match=r"^c ends in the middle of a packet$"):
        read(octets[:-1])
    with pytest.raises(ValueError, match=r"^c ends in the middle of a packet$"):
        read(octets[: 24 + 16 + 61 + 15])
    with pytest.raises(ValueError, match=r"^c ends in the middle of a header$"):
        read(octets[:20])


def test_what_scapy_writes(tmp_path):
    frames = [bytes(range(n)) for n in range(60, 70)]
    for writer, name in ((PcapNgWriter, "s.pcapng"), (ScapyPcapWriter, "s.pcap")):
        with writer(str(tmp_path / name)) as file:
            for n, frame in enumerate(frames):
                one = Ether(frame)
                one.time = n
                file.write(one)
        found = list(read_pcap(tmp_path / name))
        assert [frame.frame for frame in found] == frames
        assert [frame.time_ns for frame in found] == [n * 10**9 for n in range(10)]


@pytest.mark.parametrize(
    ("octets", "sentence"),
    [
        (b"", "c is not a capture"),
        (b"\x0a", "c is not a capture"),
        (pcapng("<")[:11], "c ends in the middle of a block"),
        (pcapng("<").replace(b"\x4d\x3c", b"\x4d\x3d"), "a section with byte order 4d3d2b1a"),
        (pcapng("<") + b"\6\0\0", "c ends in the middle of a block"),
        (pcapng("<") + struct.pack("<II", 6, 8), "c is damaged: a block of 8 octets"),
        (pcapng("<") + struct.pack("<II", 6, 34), "c is damaged: a block of 34 octets"),
        (pcapng("<") + struct.pack("<II", 6, 1 << 31), "c is damaged: a block of 21474"),
        (pcapng("<", (5, b"")) + struct.pack("<III", 5, 12, 13), "a block with two lengths"),
        (pcapng("<", (1, b"")), "c is damaged: a block with a body of 0 octets"),
        (pcapng("<", enhanced("<", 0, 0, bytes(60))), "of interface 0, which it does not describe"),
        (pcapng("<", interface("<"), (6, struct.pack("<IIIII", 0, 0, 0, 60, 60))), "60 octets of"),
        (pcapng("<", interface("<", link=113)), "c is not read: it has link type 113"),
        (pcapng("<", interface("<", 101, options=struct.pack("<HH4s", 2, 3, b"any"))),
         "its interface any has link type 101, not Ethernet"),
        (struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 9, 276), "it has link type 276"),
    ],
)  # fmt: skip
def test_damage_is_one_sentence(read, octets, sentence):
    with pytest.raises(ValueError) as caught:
        read(octets)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=80), st.sampled_from("<>"), st.data())
def test_noise_is_refused(noise, order, data):
    good = pcapng(order, interface(order), enhanced(order, 0, 7, bytes(61)))
    place = data.draw(st.integers(0, len(good)))
    octets = good[:place] + noise + good[place + len(noise) :]
    with contextlib.suppress(ValueError):
        list(read_frames(io.BytesIO(octets), "c"))
