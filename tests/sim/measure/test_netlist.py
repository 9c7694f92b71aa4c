import pytest

from mrcnic.sim.measure.netlist import Area, Depth, area_of, deepest_path


def cell(kind, *, parameters=None, **ports):
    """Return a cell; names of outputs begin with ``O_``, and a port may be a list of bits."""
    bits = {name: value if isinstance(value, list) else [value] for name, value in ports.items()}
    return {
        "type": kind,
        "parameters": parameters or {},
        "connections": {name.removeprefix("O_"): value for name, value in bits.items()},
        "port_directions": {
            name.removeprefix("O_"): "output" if name.startswith("O_") else "input"
            for name in ports
        },
    }


def module(cells, *, inputs=None, outputs=None, nets=None):
    ports = {}
    for direction, named in (("input", inputs or {}), ("output", outputs or {})):
        for name, bits in named.items():
            ports[name] = {"direction": direction, "bits": bits}
    named = {**(nets or {}), **{name: port["bits"] for name, port in ports.items()}}
    return {
        "cells": {f"cell_{n}": each for n, each in enumerate(cells)},
        "ports": ports,
        "netnames": {name: {"bits": bits} for name, bits in named.items()},
    }


def flip_flop(d, q, **more):
    return cell("FDRE", C=1, D=d, O_Q=q, **more)


def test_cells_are_counted_by_kind():
    cells = [
        cell("LUT6", O_O=2), cell("LUT1", O_O=3), cell("INV", O_O=4), cell("FDRE"), cell("FDSE"),
        cell("RAM64M8"), cell("SRL16E"), cell("RAMB18E2"), cell("RAMB36E2"), cell("URAM288"),
        cell("CARRY8"), cell("MUXF7"), cell("DSP48E2"),
    ]  # fmt: skip
    assert area_of(module(cells)) == Area(3, 9, 2, 1.5, 1, 1)


def test_a_sum_may_count_a_block_more_than_once():
    assert Area(luts=1, block_rams=0.5).plus(Area(luts=2, flip_flops=3), times=2) == Area(
        luts=5, flip_flops=6, block_rams=0.5
    )


@pytest.mark.parametrize(
    ("rows", "width", "area"),
    [
        (16384, 512, Area(ultra_rams=32)),  # 8 wide, 4 deep
        (8192, 72, Area(ultra_rams=2)),
        (262144, 1, Area(block_rams=8)),
        (8192, 64, Area(ultra_rams=2)),
        (8192, 12, Area(block_rams=3)),
        (8193, 4, Area(block_rams=2)),
    ],
)
def test_deep_memories_are_counted_by_their_size(rows, width, area):
    parameters = {"DEPTH": f"{rows:032b}", "WIDTH": f"{width:032b}"}
    assert area_of(module([cell("mrcnic_deep_memory", parameters=parameters)])) == area


def test_a_foreign_cell_is_refused():
    for ask in (area_of, deepest_path):
        with pytest.raises(ValueError, match=r"^a cell of unknown type PLLE4_BASE$"):
            ask(module([cell("PLLE4_BASE")]))


def test_luts_between_registers():
    """A longer chain through a register is two shorter ones; the shortest name is shown."""
    cells = [
        flip_flop(9, 2),
        cell("LUT2", I0=2, I1=3, O_O=4),
        cell("LUT1", I0=4, O_O=5),
        flip_flop(5, 6),
        cell("LUT1", I0=6, O_O=7),
    ]
    nets = {"room.count": [9, 2], "count_of_all": [9, 2], r"\$1": [2], "next": [8, 6]}
    found = deepest_path(module(cells, inputs={"i": [3]}, outputs={"o": [7]}, nets=nets))
    assert found == Depth(2, 0, 0, "room.count[1]", "next[1].D")


def test_paths_from_inputs_and_to_outputs_and_enables():
    chain = [cell("LUT1", I0=n, O_O=n + 1) for n in (10, 11)]
    found = deepest_path(module(chain, inputs={"i": [10]}, outputs={"o": ["0", 12]}))
    assert found == Depth(2, 0, 0, "i", "o[1]")
    register = flip_flop(10, 20, CE=12)
    found = deepest_path(module([*chain, register], inputs={"i": [10]}, nets={"held": [20]}))
    assert found == Depth(2, 0, 0, "i", "held.CE")


def test_carries_and_wide_multiplexers_are_no_luts():
    cells = [
        cell("LUT2", I0=2, O_O=3),
        cell("CARRY8", S=[3, "0"], CI="0", O_CO=[4, 5]),
        cell("CARRY8", S=["0", "0"], CI=5, O_CO=[6, 7]),
        cell("MUXF7", I0=7, S=2, O_O=8),
    ]
    found = deepest_path(module(cells, inputs={"i": [2]}, outputs={"o": [8]}))
    assert found == Depth(1, 2, 1, "i", "o[0]")


def test_a_memory_ends_a_path_and_starts_one():
    """Of a distributed RAM, the read address goes through, and what is written does not."""
    ram = {"ADDRA": 2, "ADDRB": 3, "DIA": 4, "WE": 5}
    cells = [
        cell("LUT1", I0=2, O_O=4),
        cell("LUT1", I0=4, O_O=5),
        cell("RAM64M", **ram, O_DOA=6, O_DOB=7),
        cell("LUT1", I0=6, O_O=8),
        cell("RAMB36E2", ADDRARDADDR=7, O_DOUTADOUT=9),
        cell("LUT1", I0=9, O_O=10),
    ]
    found = deepest_path(module(cells, inputs={"a": [2], "b": [3]}, outputs={"o": [8]}))
    assert (found.luts, found.start) == (2, "a")
    found = deepest_path(module(cells[3:], outputs={"o": [10]}, nets={"read": [9]}))
    assert found == Depth(1, 0, 0, "read", "o[0]")


def test_a_loop_of_logic_is_refused():
    cells = [cell("LUT1", I0=2, O_O=3), cell("LUT1", I0=3, O_O=2)]
    with pytest.raises(ValueError, match=r"^logic feeds itself: that, this$"):
        deepest_path(module(cells, nets={"this": [2], "that": [3]}))


def test_a_block_without_logic():
    assert deepest_path(module([], inputs={"i": [2]}, outputs={"o": [2]})) == Depth(
        0, 0, 0, "i", "o[0]"
    )
    assert deepest_path(module([])) == Depth(0, 0, 0, "a constant", "")
