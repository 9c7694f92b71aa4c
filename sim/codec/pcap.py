"""Captures in the pcapng format (IETF draft-ietf-opsawg-pcapng), which Wireshark and scapy read."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["CapturedFrame", "PcapWriter", "read_pcap"]

_SECTION = 0x0A0D0D0A
_INTERFACE = 1
_ENHANCED_PACKET = 6

_BYTE_ORDER_MAGIC = 0x1A2B3C4D
_ETHERNET_LINK = 1

_OPTION_END = 0
_OPTION_NAME = 2
_OPTION_RESOLUTION = 9

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
    """

    interface: str
    time_ns: int
    frame: bytes


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
        self._block(_SECTION, struct.pack("<IHHq", _BYTE_ORDER_MAGIC, 1, 0, -1))

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
            options = _option(_OPTION_NAME, interface.encode())
            options += _option(_OPTION_RESOLUTION, bytes([_NANOSECONDS]))
            options += _option(_OPTION_END, b"")
            self._block(_INTERFACE, struct.pack("<HHI", _ETHERNET_LINK, 0, 0) + options)
        fixed = struct.pack(
            "<IIIII", number, time_ns >> 32, time_ns & 0xFFFFFFFF, len(frame), len(frame)
        )
        self._block(_ENHANCED_PACKET, fixed + _padded(frame))

    def _block(self, kind: int, body: bytes) -> None:
        length = struct.pack("<I", len(body) + 12)
        self._file.write(struct.pack("<I", kind) + length + body + length)


def _padded(octets: bytes) -> bytes:
    return octets + bytes(-len(octets) % 4)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def read_pcap(path: Path) -> Iterator[CapturedFrame]:
    """Read the frames of a capture in the order in which they stand there.

    Of what the format allows, this takes what :class:`PcapWriter` writes.

    Raises
    ------
    ValueError
        If the file is not such a capture, or ends in the middle of a block.
    """
    octets = path.read_bytes()
    if octets[:4] != struct.pack("<I", _SECTION):
        raise ValueError(f"{path.name} is not a capture in the pcapng format")
    names = []
    at = 0
    while at < len(octets):
        if at + 12 > len(octets):
            raise ValueError(f"{path.name} ends in the middle of a block")
        kind, length = struct.unpack_from("<II", octets, at)
        if length < 12 or at + length > len(octets):
            raise ValueError(f"{path.name} ends in the middle of a block")
        body = octets[at + 8 : at + length - 4]
        at += length
        if kind == _INTERFACE:
            names.append(_interface_name(body))
        elif kind == _ENHANCED_PACKET:
            number, high, low, captured, _ = struct.unpack_from("<IIIII", body)
            yield CapturedFrame(names[number], high << 32 | low, body[20 : 20 + captured])


def _interface_name(body: bytes) -> str:
    name = ""
    at = 8
    while at + 4 <= len(body):
        code, length = struct.unpack_from("<HH", body, at)
        value = body[at + 4 : at + 4 + length]
        if code == _OPTION_NAME:
            name = value.decode()
        elif code == _OPTION_RESOLUTION and value != bytes([_NANOSECONDS]):
            raise ValueError(f"times of interface {name} are not in nanoseconds")
        at += 4 + len(_padded(value))
    return name
