"""Captures in the pcapng format (IETF draft-ietf-opsawg-pcapng), which Wireshark and scapy read."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .pcap_formats import (
    BYTE_ORDER_MAGIC,
    ENHANCED_PACKET,
    ETHERNET_LINK,
    INTERFACE,
    OPTION_END,
    OPTION_NAME,
    OPTION_RESOLUTION,
    SECTION,
    read_frames,
)

__all__ = ["CapturedFrame", "PcapWriter", "read_pcap"]

#: Resolution of times, as a negative power of ten.
_NANOSECONDS = 9


class CapturedFrame(NamedTuple):
    """One frame of a capture.

    Attributes
    ----------
    interface : :class:`str`
        Name of the port.
    time_ns : :class:`int`
        When it passed.
    frame : :class:`bytes`
        From the Ethernet header on, without frame check sequence.
    octets : :class:`int`, optional
        How long it was, if not all of it was captured.
    """

    interface: str
    time_ns: int
    frame: bytes
    octets: int | None = None


class PcapWriter:
    """Capture of Ethernet frames, with an interface of its own for each port.

    To be used in a ``with`` statement.

    Parameters
    ----------
    path : :class:`pathlib.Path`
        File, which is overwritten.
    """

    def __init__(self, path: Path):
        self._file = path.open("wb")
        self._interfaces = {}
        # The length of the section is not known yet: -1.
        self._block(SECTION, struct.pack("<IHHq", BYTE_ORDER_MAGIC, 1, 0, -1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """End the capture."""
        self._file.close()

    def write(self, interface: str, time_ns: int, frame: bytes) -> None:
        """Add a frame; the first one of an interface declares it."""
        number = self._interfaces.get(interface)
        if number is None:
            number = self._interfaces[interface] = len(self._interfaces)
            options = _option(OPTION_NAME, interface.encode())
            options += _option(OPTION_RESOLUTION, bytes([_NANOSECONDS]))
            options += _option(OPTION_END, b"")
            self._block(INTERFACE, struct.pack("<HHI", ETHERNET_LINK, 0, 0) + options)
        fixed = struct.pack(
            "<IIIII", number, time_ns >> 32, time_ns & 0xFFFFFFFF, len(frame), len(frame)
        )
        self._block(ENHANCED_PACKET, fixed + _padded(frame))

    def _block(self, kind: int, body: bytes) -> None:
        length = struct.pack("<I", len(body) + 12)
        self._file.write(struct.pack("<I", kind) + length + body + length)


def _padded(octets: bytes) -> bytes:
    return octets + bytes(-len(octets) % 4)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def read_pcap(path: Path) -> Iterator[CapturedFrame]:
    """Read the frames of a capture in the order in which they stand there.

    It may be one of another tool, in the pcapng or the pcap format and in either byte order.

    Raises
    ------
    ValueError
        If the file is no such capture, is damaged, ends early, or is not of Ethernet: one
        sentence.
    """
    with path.open("rb") as file:
        for interface, time_ns, frame, octets in read_frames(file, path.name):
            cut = octets if octets > len(frame) else None
            yield CapturedFrame(interface, time_ns, frame, cut)
