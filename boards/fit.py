"""Whether a preset fits a board, before an hour of place and route tells."""

from mrcnic.hdl.config import PRESETS, NicConfig

from .catalogue import Board, Flow
from .parts import Size

__all__ = ["TOPS", "fit_problems", "nics_of"]

#: What can be built: the on-chip test, and the NIC with MACs and PCIe.
TOPS = ("selftest", "nic")

#: What a NIC of each preset may take, in LUTs of six inputs; ``mrcnic bench area`` measures.
_ALLOWANCES = {
    "tiny": Size(luts=20_000, block_rams=48),
    "sim": Size(luts=70_000, block_rams=200),
    "100g": Size(luts=50_000, block_rams=250, ultra_rams=64),
    "2x100g": Size(luts=100_000, block_rams=500, ultra_rams=128),
    "8x100g": Size(luts=400_000, block_rams=2000, ultra_rams=512),
}

#: The same in ECP5, with LUTs of four inputs and block RAMs of 18 Kib.
_ALLOWANCES_ECP5 = {"tiny": Size(luts=30_000, block_rams=90)}

#: What is around it: switch, generators and checkers; PCIe bridge and MAC glue.
_AROUND = {
    "selftest": Size(luts=6_000, block_rams=10),
    "nic": Size(luts=60_000, block_rams=120),
}

_WORDS = {"luts": "LUTs", "block_rams": "block RAMs", "ultra_rams": "ultra RAMs"}

#: Octets that a 100G MAC takes in a cycle.
_MAC_OCTETS = 64


def nics_of(board: Board) -> int:
    """Return how many NICs the self-test of a board has: where one fits, it talks to itself."""
    allowances = _ALLOWANCES_ECP5 if board.flow is Flow.OPEN else _ALLOWANCES
    return 2 if 2 * allowances["tiny"].luts <= board.size.luts else 1


def fit_problems(board: Board, *, cages: int, top: str, preset: str) -> list[str]:
    """Return why a preset cannot be built for a board, each reason in a sentence.

    Parameters
    ----------
    cages : :class:`int`
        QSFP28 cages with a hard MAC.
    top : :class:`str`
        One of :data:`TOPS`.
    preset : :class:`str`
        Name of the preset.
    """
    config = PRESETS[preset]
    found = _shape_problems(config, cages=cages, top=top, preset=preset, board=board)
    if found:
        return found
    allowances = _ALLOWANCES_ECP5 if board.flow is Flow.OPEN else _ALLOWANCES
    if preset not in allowances:
        return [f"{preset} does not fit {board.part}: only {', '.join(allowances)} does"]
    nics = nics_of(board) if top == "selftest" else 1
    for name, word in _WORDS.items():
        needed = nics * getattr(allowances[preset], name) + getattr(_AROUND[top], name)
        there = getattr(board.size, name)
        if needed > there:
            found.append(
                f"{preset} does not fit {board.part}: {top} takes up to {needed:,} {word}, "
                f"and there are {there:,}"
            )
    return found


def _shape_problems(config: NicConfig, *, cages: int, top: str, preset: str, board: Board):
    if top == "selftest":
        if config.lanes != 1 or config.beat_octets != PRESETS["tiny"].beat_octets:
            return [f"selftest is made of NICs of the preset tiny, not of {preset}"]
        return []
    if not cages:
        return [f"{board.name} has no cage with a hard 100G MAC: build --top selftest"]
    if config.lanes > cages:
        return [f"{preset} has {config.lanes} ports, and {board.name} {cages}"]
    if config.beat_octets != _MAC_OCTETS:
        octets = config.beat_octets
        return [f"a 100G MAC takes {_MAC_OCTETS} octets a cycle, and {preset} has {octets}"]
    return []
