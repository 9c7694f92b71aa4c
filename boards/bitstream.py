"""What is in a bitstream file: for which part it is, and whether it is whole."""

from dataclasses import dataclass

from .catalogue import Board, Flow

__all__ = ["Bitstream", "BitstreamError", "check_bitstream", "read_bitstream"]

_ECP5_PREAMBLE = bytes.fromhex("ffffbdb3")
_AMD_PREAMBLE = bytes.fromhex("00090ff00ff00ff00ff0000001")

#: Octets of operands behind the code of each ECP5 command that stands before the frames.
_OPERANDS = {0x3B: 3, 0xE2: 7, 0x22: 7, 0x46: 3, 0x02: 11}
_NOTHING, _RESET_CRC, _VERIFY_ID, _FRAMES, _COMPRESSED = 0xFF, 0x3B, 0xE2, 0x82, 0xB8

#: IDCODE without the version, which is in its upper bits.
_WITHOUT_VERSION = 0x0FFF_FFFF

#: Octets of an ECP5 frame, by IDCODE without version.
_FRAME_OCTETS = {0x1112043: 106, 0x1113043: 142}

#: CRC-16 with the polynomial 0x8005, most significant bit first, over all that follows its reset;
#: each octet's remainder.
_CRC_POLYNOMIAL = 0x8005


class BitstreamError(Exception):
    """The file is no bitstream for the board, or a damaged one."""


@dataclass(frozen=True, kw_only=True)
class Bitstream:
    """A bitstream.

    Attributes
    ----------
    part : :class:`str`
        Part that an AMD bitstream names, in lower case and without ``-``; empty for others.
    idcode : :class:`int`, optional
        IDCODE that an ECP5 bitstream asks for, without its version.
    """

    part: str = ""
    idcode: int | None = None


def check_bitstream(data: bytes, board: Board):
    """Refuse what must not be loaded into a board.

    Raises
    ------
    BitstreamError
        If it is for another part, or damaged.
    """
    found = read_bitstream(data)
    # Of 7-series parts Vivado leaves the speed out.
    names = (_flat(board.part), _flat(board.part.rpartition("-")[0]))
    if board.flow is Flow.OPEN:
        if found.idcode is None:
            raise BitstreamError(f"it is for {found.part}, and {board.name} has a {board.part}")
        if found.idcode != board.loader.idcode:
            raise BitstreamError(
                f"it is for a part with IDCODE {found.idcode:#010x}, and that of {board.part} "
                f"is {board.loader.idcode:#010x}"
            )
    elif found.part not in names:
        there = found.part or "an ECP5"
        raise BitstreamError(f"it is for {there}, and {board.name} has a {board.part}")


def read_bitstream(data: bytes) -> Bitstream:
    """Return what a ``.bit`` file says of itself.

    ECP5: everything up to the end of the frames is checked by its CRCs, unless it is compressed;
    what fills block RAMs is not. AMD: the length is checked.

    Raises
    ------
    BitstreamError
        If it is damaged, or neither.
    """
    if data.startswith(_AMD_PREAMBLE):
        return _read_amd(data)
    if data.startswith(b"\xff\x00") and _ECP5_PREAMBLE in data[:4096]:
        return _read_ecp5(data)
    raise BitstreamError("it is no bitstream of ECP5 or AMD")


def _flat(part: str) -> str:
    return part.lower().replace("-", "")


def _read_amd(data: bytes) -> Bitstream:
    part = ""
    at = len(_AMD_PREAMBLE)
    while at + 3 <= len(data):
        key = data[at : at + 1]
        if key == b"e":
            octets = int.from_bytes(data[at + 1 : at + 5])
            if len(data) - at - 5 != octets:
                raise BitstreamError(
                    f"it is damaged: {octets:,} octets should follow its header, "
                    f"and {len(data) - at - 5:,} do"
                )
            return Bitstream(part=_flat(part))
        length = int.from_bytes(data[at + 1 : at + 3])
        if key == b"b":
            # Vivado leaves the family's "xc" out.
            name = data[at + 3 : at + 3 + length].rstrip(b"\0").decode("ascii", "replace")
            part = name if name.startswith("xc") else f"xc{name}"
        at += 3 + length
    raise BitstreamError("it is damaged: its header does not end")


def _read_ecp5(data: bytes) -> Bitstream:
    at = data.index(_ECP5_PREAMBLE) + len(_ECP5_PREAMBLE)
    crc_from = at
    idcode = None
    while at < len(data):
        command = data[at]
        if command in (_FRAMES, _COMPRESSED):
            if idcode is None:
                raise BitstreamError("it is damaged: it does not say for which part it is")
            if command == _FRAMES:
                _check_frames(data, crc_from, at + 4, idcode)
            return Bitstream(idcode=idcode)
        if command == _NOTHING:
            at += 1
            continue
        if command not in _OPERANDS:
            raise BitstreamError(f"it is damaged: there is no command {command:#04x}")
        operands = data[at + 1 : at + 1 + _OPERANDS[command]]
        at += 1 + _OPERANDS[command]
        if command == _RESET_CRC:
            crc_from = at
        elif command == _VERIFY_ID:
            idcode = int.from_bytes(operands[3:]) & _WITHOUT_VERSION
    raise BitstreamError("it is damaged: it has no frames")


def _check_frames(data: bytes, crc_from: int, at: int, idcode: int):
    frames = int.from_bytes(data[at - 2 : at])
    octets = _FRAME_OCTETS.get(idcode)
    if octets is None:
        return
    for frame in range(frames):
        end = at + octets
        if _crc(data[crc_from:end]) != int.from_bytes(data[end : end + 2]):
            raise BitstreamError(f"it is damaged: frame {frame} of {frames} has a wrong CRC")
        crc_from = end + 2
        at = end + 3  # one octet lies between frames
    if len(data) < at:
        raise BitstreamError(f"it is damaged: it ends within its {frames} frames")


def _crc(data: bytes) -> int:
    crc = 0
    for octet in data:
        crc = (crc << 8 & 0xFFFF) ^ _REMAINDERS[crc >> 8 ^ octet]
    return crc


def _remainder(octet: int) -> int:
    crc = octet << 8
    for _ in range(8):
        crc = (crc << 1 ^ _CRC_POLYNOMIAL if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


_REMAINDERS = tuple(_remainder(octet) for octet in range(256))
