"""What a synthesised netlist is made of, and the longest way through its logic."""

import re
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import NamedTuple

__all__ = ["Area", "Depth", "area_of", "deepest_path"]

_LUT = re.compile(r"LUT[1-6]|INV")
_CARRY = re.compile(r"CARRY[48]")
_MUX = re.compile(r"MUXF[789]")
_FLIP_FLOP = re.compile(r"FD[RSCP]E(_1)?|LD[CP]E")
_SHIFT_REGISTER = re.compile(r"SRL(C?16E?|C32E)(_1)?")

#: LUTs that distributed RAMs take.
_LUT_RAM = {
    "RAM32X1S": 1, "RAM64X1S": 1, "RAM128X1S": 2, "RAM256X1S": 4, "RAM512X1S": 8,
    "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM256X1D": 8,
    "RAM32M": 4, "RAM64M": 4, "RAM32M16": 8, "RAM64M8": 8, "RAM32X16DR8": 8, "RAM64X8SW": 8,
}  # fmt: skip

#: RAMs with registers at their ports, in block RAMs of 36 Kib, and in ultra RAMs.
_BLOCK_RAM = {"RAMB18E2": 0.5, "RAMB36E2": 1.0}
_ULTRA_RAM = {"URAM288": 1, "URAM288_BASE": 1}

#: The memory that is left out of the synthesis, and shapes of a block RAM: rows, and bits of each.
DEEP_MEMORY = "mrcnic_deep_memory"
_BLOCK_RAM_SHAPES = (
    (512, 72),
    (1024, 36),
    (2048, 18),
    (4096, 9),
    (8192, 4),
    (16384, 2),
    (32768, 1),
)
_ULTRA_RAM_SHAPE = (4096, 72)


class Area(NamedTuple):
    """What a block takes.

    Attributes
    ----------
    luts : :class:`int`
        LUTs of logic.
    ram_luts : :class:`int`
        LUTs that are memory or shift registers.
    flip_flops : :class:`int`
    block_rams : :class:`float`
        In units of 36 Kib.
    ultra_rams, multipliers : :class:`int`
    """

    luts: int = 0
    ram_luts: int = 0
    flip_flops: int = 0
    block_rams: float = 0.0
    ultra_rams: int = 0
    multipliers: int = 0

    def plus(self, other: "Area", *, times: int = 1) -> "Area":
        """Return the sum with ``times`` as much as ``other``."""
        return Area(*(mine + times * theirs for mine, theirs in zip(self, other, strict=True)))


class Depth(NamedTuple):
    """The path with the most LUTs, from a register, memory or input to one or an output.

    Attributes
    ----------
    luts : :class:`int`
        LUTs one after another; the read of a distributed RAM is one.
    carries, muxes : :class:`int`
        Carry cells and wide multiplexers (``MUXF7`` to ``MUXF9``) on the way, which are no LUTs.
    start, end : :class:`str`
        Names of its ends.
    """

    luts: int
    carries: int
    muxes: int
    start: str
    end: str


def area_of(module: dict) -> Area:
    """Count the cells of a module, as Yosys writes it into JSON.

    Raises
    ------
    ValueError
        If there is a cell of an unknown type.
    """
    area = Area()
    for cell in module["cells"].values():
        area = area.plus(_area(cell))
    return area


def _area(cell: dict) -> Area:
    kind = cell["type"]
    if _LUT.fullmatch(kind):
        return Area(luts=1)
    if _FLIP_FLOP.fullmatch(kind):
        return Area(flip_flops=1)
    if _SHIFT_REGISTER.fullmatch(kind):
        return Area(ram_luts=1)
    if _CARRY.fullmatch(kind) or _MUX.fullmatch(kind) or kind == "$scopeinfo":
        return Area()
    if kind == DEEP_MEMORY:
        return _deep_area(*(int(cell["parameters"][name], 2) for name in ("DEPTH", "WIDTH")))
    if kind.startswith("DSP48"):
        return Area(multipliers=1)
    if kind not in {**_LUT_RAM, **_BLOCK_RAM, **_ULTRA_RAM}:
        raise ValueError(f"a cell of unknown type {kind}")
    return Area(
        ram_luts=_LUT_RAM.get(kind, 0),
        block_rams=_BLOCK_RAM.get(kind, 0.0),
        ultra_rams=_ULTRA_RAM.get(kind, 0),
    )


def _deep_area(rows: int, width: int) -> Area:
    """Return what a deep memory takes: ultra RAMs, if it fills half of them; or block RAMs."""
    depth, bits = _ULTRA_RAM_SHAPE
    ultra = -(-rows // depth) * -(-width // bits)
    if 2 * rows * width >= ultra * depth * bits:
        return Area(ultra_rams=ultra)
    block = min(-(-rows // depth) * -(-width // bits) for depth, bits in _BLOCK_RAM_SHAPES)
    return Area(block_rams=float(block))


def deepest_path(module: dict) -> Depth:
    """Return the path with the most LUTs, and among those the most carry cells.

    Raises
    ------
    ValueError
        If logic feeds itself without a register, or there is a cell of an unknown type.
    """
    names = _names(module)
    source = {}  # of a bit that logic makes: its cell's weight, and the bits it is made of
    ends = []  # bits that go into something else than logic, each with its name
    for name, cell in module["cells"].items():
        _area(cell)  # refuses what is unknown
        inside = set()
        for made, needed in _arcs(cell):
            inside.update(needed)
            for bit in made:
                source[bit] = (_weight(cell["type"]), needed)
        owner = _owner(name, cell, names)
        for port, bits in _ports(cell, "input"):
            ends += [(bit, f"{owner}.{port}") for bit in bits if bit not in inside]
    for name, port in module["ports"].items():
        if port["direction"] == "output":
            ends += [(bit, f"{name}[{n}]") for n, bit in enumerate(port["bits"])]

    best = {}  # by bit: the greatest weight up to it, and the bit before
    try:
        order = list(
            TopologicalSorter({bit: needed for bit, (_, needed) in source.items()}).static_order()
        )
    except CycleError as error:
        loop = ", ".join(sorted({names.get(bit, "?") for bit in error.args[1]}))
        raise ValueError(f"logic feeds itself: {loop}") from None
    for bit in order:
        weight, needed = source.get(bit, ((0, 0, 0), ()))
        before = max(needed, key=lambda other: best[other][0], default=None)
        reached = best[before][0] if needed else (0, 0, 0)
        best[bit] = (tuple(map(sum, zip(reached, weight, strict=True))), before)

    none = ((0, 0, 0), None)
    bit, end = max(ends, key=lambda item: best.get(item[0], none)[0], default=(None, ""))
    weight = best.get(bit, none)[0]
    while best.get(bit, none)[1] is not None:
        bit = best[bit][1]
    return Depth(*weight, names.get(bit, "a constant"), end)


def _weight(kind: str) -> tuple[int, int, int]:
    if _CARRY.fullmatch(kind):
        return (0, 1, 0)
    if _MUX.fullmatch(kind):
        return (0, 0, 1)
    return (1, 0, 0)


def _ports(cell: dict, direction: str) -> Iterator[tuple[str, list]]:
    for port, bits in cell["connections"].items():
        if cell["port_directions"][port] == direction:
            yield port, [bit for bit in bits if isinstance(bit, int)]  # constants are text


def _arcs(cell: dict) -> Iterator[tuple[list, list]]:
    """Give bits that a cell makes without a clock, and the bits that they are made of."""
    kind = cell["type"]
    outputs = dict(_ports(cell, "output"))
    inputs = dict(_ports(cell, "input"))
    if _LUT.fullmatch(kind) or _CARRY.fullmatch(kind) or _MUX.fullmatch(kind):
        yield [*chain(*outputs.values())], [*chain(*inputs.values())]
    elif _SHIFT_REGISTER.fullmatch(kind) or kind in _LUT_RAM:
        for port, bits in outputs.items():
            yield bits, [bit for name in inputs for bit in inputs[name] if _reads(name, port)]


def _reads(address: str, output: str) -> bool:
    """Return whether a port is the address of what is read at an output of a distributed RAM."""
    if match := re.fullmatch(r"ADDR([A-H])", address):
        return output.endswith(match[1])
    if match := re.fullmatch(r"DPRA\d*", address):
        return output == "DPO"
    return bool(re.fullmatch(r"A\d*", address)) and output != "DPO"


def _names(module: dict) -> dict[int, str]:
    """Return the shortest name that the source has for each bit, or else any."""
    names = defaultdict(list)
    for name, net in module["netnames"].items():
        # Of several names, one that people have given, even if the netlist was Verilog before.
        rank = (name.lstrip("\\").startswith("$"), len(name), name)
        for n, bit in enumerate(net["bits"]):
            if isinstance(bit, int):
                names[bit].append((rank, f"{name}[{n}]" if len(net["bits"]) > 1 else name))
    return {bit: min(known)[1] for bit, known in names.items()}


def _owner(name: str, cell: dict, names: dict) -> str:
    """Return what a cell is called: a register by what it holds, others by their own name."""
    if _FLIP_FLOP.fullmatch(cell["type"]):
        return names[cell["connections"]["Q"][0]]
    return name
