"""Captures of other tools: pcapng (draft-ietf-opsawg-pcapng) and pcap (draft-ietf-opsawg-pcap)."""

import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

__all__ = [
    "BYTE_ORDER_MAGIC",
    "ENHANCED_PACKET",
    "ETHERNET_LINK",
    "INTERFACE",
    "OPTION_END",
    "OPTION_NAME",
    "OPTION_RESOLUTION",
    "SECTION",
    "read_frames",
]

SECTION = 0x0A0D0D0A
INTERFACE = 1
_SIMPLE_PACKET = 3
ENHANCED_PACKET = 6

BYTE_ORDER_MAGIC = 0x1A2B3C4D
ETHERNET_LINK = 1

OPTION_END = 0
OPTION_NAME = 2
OPTION_RESOLUTION = 9
_OPTION_OFFSET = 14

#: Parts of a second that a time counts, by the number at the start of a pcap file.
_PCAP_MAGIC = {0xA1B2C3D4: 10**6, 0xA1B23C4D: 10**9}

#: More than any block has: a length beyond it is no length.
_LONGEST = 1 << 26

#: Interface, time in nanoseconds, what was captured, and how long the frame was.
_Frame = tuple[str, int, bytes, int]


class _Interface(NamedTuple):
    """What a capture says of an interface: its name, parts of a second, start in seconds."""

    name: str
    parts: int
    offset: int
    longest: int

    def time_ns(self, count: int) -> int:
        """Return the time at which the interface's clock stood at ``count``."""
        return self.offset * 10**9 + count * 10**9 // self.parts


def read_frames(file: BinaryIO, name: str) -> Iterator[_Frame]:
    """Read the frames of a capture in either format and byte order, one after the other.

    Raises
    ------
    ValueError
        If it is none, is damaged, ends early, or is not of Ethernet: one sentence, with ``name``.
    """
    start = file.read(4)
    number = int.from_bytes(start, "big")
    for order in (">", "<"):
        magic = int.from_bytes(start, "big" if order == ">" else "little")
        if magic in _PCAP_MAGIC and len(start) == 4:
            yield from _Pcap(file, name, order, _PCAP_MAGIC[magic]).frames()
            return
    if number != SECTION:
        raise ValueError(f"{name} is not a capture in the pcapng or pcap format")
    yield from _PcapNg(file, name).frames()


class _Reader:
    """What the formats share: octets that must be there."""

    def __init__(self, file: BinaryIO, name: str):
        self._file = file
        self._name = name

    def _read(self, octets: int, what: str) -> bytes:
        if octets not in range(_LONGEST):
            raise ValueError(f"{self._name} is damaged: a {what} of {octets} octets")
        read = self._file.read(octets)
        if len(read) < octets:
            raise ValueError(f"{self._name} ends in the middle of a {what}")
        return read

    def _check_link(self, link: int, interface: str) -> None:
        if link != ETHERNET_LINK:
            named = f"its interface {interface}" if interface else "it"
            raise ValueError(
                f"{self._name} is not read: {named} has link type {link}, not Ethernet"
            )


class _Pcap(_Reader):
    """File of pcap behind its magic number."""

    def __init__(self, file: BinaryIO, name: str, order: str, parts: int):
        super().__init__(file, name)
        self._order = order
        self._parts = parts

    def frames(self) -> Iterator[_Frame]:
        """Read the rest of the file."""
        *_, link = struct.unpack(f"{self._order}HHIIII", self._read(20, "header"))
        self._check_link(link & 0xFFFF, "")  # the upper half is about frame check sequences
        while head := self._file.read(16):
            if len(head) < 16:
                raise ValueError(f"{self._name} ends in the middle of a packet")
            seconds, part, captured, octets = struct.unpack(f"{self._order}IIII", head)
            time_ns = seconds * 10**9 + part * 10**9 // self._parts
            yield "", time_ns, self._read(captured, "packet"), octets


class _PcapNg(_Reader):
    """File of pcapng behind the type of its first block."""

    def __init__(self, file: BinaryIO, name: str):
        super().__init__(file, name)
        self._order = "<"
        self._interfaces: list[_Interface] = []

    def frames(self) -> Iterator[_Frame]:
        """Read the rest of the file."""
        self._begin_section()
        while head := self._file.read(4):
            if len(head) < 4:
                raise ValueError(f"{self._name} ends in the middle of a block")
            if int.from_bytes(head, "big") == SECTION:  # the same in either order
                self._begin_section()
                continue
            (kind,) = struct.unpack(f"{self._order}I", head)
            body = self._body(self._read(4, "block"))
            if kind == INTERFACE:
                self._interfaces.append(self._interface(body))
            elif kind in (ENHANCED_PACKET, _SIMPLE_PACKET):
                yield self._packet(kind, body)

    def _damaged(self, how: str) -> ValueError:
        return ValueError(f"{self._name} is damaged: {how}")

    def _unpack(self, fmt: str, body: bytes) -> tuple[int, ...]:
        if len(body) < struct.calcsize(f"={fmt}"):
            raise self._damaged(f"a block with a body of {len(body)} octets")
        return struct.unpack_from(f"{self._order}{fmt}", body)

    def _body(self, length: bytes) -> bytes:
        """Return the body of a block whose type and length have been read."""
        (octets,) = struct.unpack(f"{self._order}I", length)
        if octets < 12 or octets % 4:
            raise self._damaged(f"a block of {octets} octets")
        rest = self._read(octets - 8, "block")
        if rest[-4:] != length:
            raise self._damaged("a block with two lengths")
        return rest[:-4]

    def _begin_section(self) -> None:
        length, magic = self._read(4, "block"), self._read(4, "block")
        for order in ("<", ">"):
            if struct.unpack(f"{order}I", magic) == (BYTE_ORDER_MAGIC,):
                self._order = order
                break
        else:
            raise self._damaged(f"a section with byte order {magic.hex()}")
        (octets,) = struct.unpack(f"{self._order}I", length)
        if octets < 28 or octets % 4:
            raise self._damaged(f"a section header of {octets} octets")
        self._read(octets - 12, "block")
        self._interfaces = []

    def _interface(self, body: bytes) -> _Interface:
        link, _, longest = self._unpack("HHI", body)
        name, parts, offset = "", 10**6, 0
        at = 8
        while at + 4 <= len(body):
            code, octets = self._unpack("HH", body[at:])
            value = body[at + 4 : at + 4 + octets]
            if code == OPTION_END:
                break
            if code == OPTION_NAME:
                name = value.rstrip(b"\0").decode(errors="replace")
            elif code == OPTION_RESOLUTION and value:
                # The top bit says whether it is a power of 2 or of 10.
                parts = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
            elif code == _OPTION_OFFSET and len(value) == 8:
                (offset,) = struct.unpack(f"{self._order}q", value)
            at += 4 + octets + -octets % 4
        self._check_link(link, name)
        return _Interface(name, parts, offset, longest)

    def _packet(self, kind: int, body: bytes) -> _Frame:
        if kind == ENHANCED_PACKET:
            number, high, low, captured, octets = self._unpack("IIIII", body)
            start = 20
        else:
            number, high, low = 0, 0, 0
            (octets,) = self._unpack("I", body)
            captured, start = octets, 4
        if number >= len(self._interfaces):
            raise self._damaged(f"a packet of interface {number}, which it does not describe")
        interface = self._interfaces[number]
        if kind == _SIMPLE_PACKET and interface.longest:
            captured = min(captured, interface.longest)
        if start + captured > len(body):
            raise self._damaged(f"{captured} octets of a packet in a block of {len(body)}")
        time_ns = interface.time_ns(high << 32 | low)
        return interface.name, time_ns, body[start : start + captured], octets
