import re
from pathlib import Path

import pytest

from mrcnic.hdl.config import PRESETS, TICK_NS
from mrcnic.hdl.descriptor.settings import Settings
from mrcnic.hdl.host.register import Access
from mrcnic.hdl.host.register_reference import register_reference
from mrcnic.hdl.host.registers import (
    ADDRESS_BITS,
    MAX_COUNTERS,
    names_checksum,
    register_map,
)
from mrcnic.sim.report.registers import reference

REFERENCE = Path(__file__).parents[3] / "docs" / "registers.md"
WIDEST = PRESETS["8x100g"]


def names():
    return [f"event_{n}" for n in range(MAX_COUNTERS)]


def test_registers_do_not_overlap_and_fit():
    registers = register_map(WIDEST, names())
    end = 0
    for register in registers:
        assert register.address >= end, register.name
        assert register.address % 4 == 0
        end = register.address + 4 * register.words
    assert end <= 1 << ADDRESS_BITS
    assert len({register.name for register in registers}) == len(registers)
    assert all(register.doc and field.doc for register in registers for field in register.fields)


def test_map_is_the_same_whatever_the_sizes():
    """A register keeps its address in all configurations, or is not there."""
    widest = {register.name: register.address for register in register_map(WIDEST, names())}
    for config in PRESETS.values():
        for register in register_map(config, names()[:3]):
            assert widest[register.name] == register.address


def test_every_setting_has_a_register_of_its_width():
    config = PRESETS["sim"]
    registers = {register.name: register for register in register_map(config)}
    for name, field in Settings(config):
        if name == "dscp":
            dscps = [register for register in registers if register.startswith("dscp_")]
            assert len(dscps) == field.shape.length
        elif name == "port":
            for port in range(config.lanes):
                for member, inner in field.shape.elem_shape:
                    assert registers[f"port{port}_{member}"].width == inner.width
        else:
            assert registers[name].width == field.width
            assert registers[name].access == Access.RW


@pytest.mark.parametrize(
    ("name", "reset"),
    [
        ("udp_port", 4791),
        ("udp_port_alternative", 4971),
        ("block", 0xFCBBBBBB),
        ("hop_limit", 64),
        ("dscp_control", 46),
        ("dscp_trimmable", 8),
        ("dscp_trimmable_retx", 10),
        ("dscp_no_trim", 0),
        ("dscp_trimmed", 16),
        ("dscp_trimmed_lasthop", 18),
        ("sack_threshold", 16384),
        ("reorder_packets", 3),
    ],
)
def test_defaults(name, reset):
    (register,) = (r for r in register_map(PRESETS["sim"]) if r.name == name)
    assert register.reset == reset


@pytest.mark.parametrize(
    ("name", "time_ns"),
    [
        ("base_rtt", 12_000),
        ("target_delay", 9_000),
        ("flush_delay", 2_000),
        ("retire_delay", 100_000),
        ("retire_delay_max", 10_000_000),
        ("hold_off", 10_000_000),
    ],
)
def test_default_times(name, time_ns):
    (register,) = (r for r in register_map(PRESETS["sim"]) if r.name == name)
    assert abs(register.reset * TICK_NS - time_ns) <= 2 * TICK_NS


def test_fields_are_packed_and_checked():
    (status,) = (r for r in register_map(PRESETS["sim"]) if r.name == "table_status")
    assert status.pack({"done": 1, "refused": 1}) == 0b110
    assert status.unpack(0b101) == {"busy": 1, "done": 0, "refused": 1}
    with pytest.raises(ValueError, match=r"^register table_status has no field x$"):
        status.pack({"x": 1})
    with pytest.raises(ValueError, match=r"^table_status.busy must be from 0 to 0x1, not 0x2$"):
        status.pack({"busy": 2})


def test_names_of_counters_are_checked():
    with pytest.raises(ValueError, match=r"^the name of a counter is there twice$"):
        register_map(WIDEST, ["a", "b", "a"])
    with pytest.raises(ValueError, match=r"^there is room for 1024 counters in the register map"):
        register_map(WIDEST, [*names(), "more"])
    assert names_checksum(["a", "b"]) != names_checksum(["b", "a"])


def test_reference_is_current():
    """To renew it: ``python -m mrcnic.sim.report.registers > docs/registers.md``."""
    assert REFERENCE.read_text() == reference()


def test_reference_tells_every_register():
    text = register_reference(WIDEST, ["rx_icrc_error"])
    for register in register_map(WIDEST, ["rx_icrc_error"]):
        if not re.match("port[1-7]_", register.name):
            assert f"| 0x{register.address:04x} | `{register.name}" in text
