# amaranth: UnusedElaboratable=no
"""What is told of the NIC's ports, on the Python side; the Verilog has its test in `sim/cli`."""

import sys
import warnings
from types import SimpleNamespace

import pytest
from amaranth.hdl import Shape
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import PRESETS, NicConfig
from mrcnic.sim.report.docstrings import Entry, documented_members
from mrcnic.sim.report.interface import describe_interface, nic_interface


class Colour(enum.Enum, shape=2):
    RED = 0
    BLUE = 2


class Paint(data.StructLayout):
    """Something.

    Members
    -------
    litres : 8
        How much.
    colour : which of them

    Raises
    ------
    nothing : at all
    """

    def __init__(self):
        super().__init__({"litres": 8, "colour": Colour})


class Shop(wiring.Component):
    """A component.

    Members
    -------
    clk, rst
        Clock and reset.
    s_axis_order<p>_tdata, tvalid, tready
        Orders (:class:`~shop_of_tests.Paint`)
        of ``port`` p.
    m_axi_*
        Store.
    door, gate_open
        Ways in.
    """

    def __init__(self, **members):
        self.config = NicConfig()
        super().__init__({
            "s_axis_order12_tdata": In(10),
            "s_axis_order12_tvalid": In(1),
            "s_axis_order12_tready": Out(1),
            "m_axi_araddr": Out(64),
            "door": In(1),
            "gate_open": Out(1),
            **members,
        })


@pytest.fixture
def shop(monkeypatch):
    """Let the docstring find its layout."""
    monkeypatch.setitem(sys.modules, "shop_of_tests", SimpleNamespace(Paint=Paint))
    return Shop


def test_all_that_is_told_of_a_port(shop):
    interface = describe_interface(shop(), module="shop")
    ports = {port.pop("name"): port for port in interface["ports"]}
    assert list(ports)[:3] == ["clk", "rst", "s_axis_order12_tdata"]
    assert ports["clk"] == {
        "direction": "input", "width": 1, "group": "clk", "protocol": "clock",
        "meaning": "Clock and reset.",
    }  # fmt: skip
    assert ports["rst"]["protocol"] == "reset"
    assert ports["s_axis_order12_tdata"] == {
        "direction": "input",
        "width": 10,
        "group": "s_axis_order12",
        "protocol": "AXI4-Stream",
        "role": "subordinate",
        "meaning": "Orders (Paint) of port 12. Data; the first octet is lowest.",
        "fields": [
            {"name": "litres", "lowest_bit": 0, "width": 8, "meaning": "How much."},
            {"name": "colour", "lowest_bit": 8, "width": 2, "values": {"RED": 0, "BLUE": 2},
             "meaning": "which of them"},
        ],
    }  # fmt: skip
    assert "fields" not in ports["s_axis_order12_tready"]
    assert (ports["m_axi_araddr"]["protocol"], ports["m_axi_araddr"]["role"]) == ("AXI4", "manager")
    assert ports["m_axi_araddr"]["meaning"] == "Store. Read: address of the first octet."
    assert ports["gate_open"] == {
        "direction": "output", "width": 1, "group": "gate", "protocol": "signals",
        "meaning": "Ways in.",
    }  # fmt: skip
    assert ports["door"]["group"] == "door"


def test_port_that_is_told_nowhere(shop):
    with pytest.raises(ValueError, match=r"^the docstring of Shop does not tell of window$"):
        describe_interface(shop(window=In(1)), module="shop")
    with pytest.raises(ValueError, match="does not tell of s_axis_order1_tlast"):
        describe_interface(shop(s_axis_order1_tlast=In(1)), module="shop")


def test_field_that_is_told_nowhere(shop, monkeypatch):
    monkeypatch.setattr(Paint, "__doc__", "Something.")
    with pytest.raises(ValueError, match=r"^the docstring of Paint does not tell of litres$"):
        describe_interface(shop(), module="shop")


def test_entries():
    names = [entry.names for entry in documented_members(Shop)]
    assert names[1] == ("s_axis_order<p>_tdata", "s_axis_order<p>_tvalid", "s_axis_order<p>_tready")
    assert [entry.names for entry in documented_members(Paint)] == [("litres",), ("colour",)]
    assert documented_members(Colour) == []
    assert Entry((), "See :class:`~a.b.C` and :data:`D` or ``e``.").text == "See C and D or e."
    assert Entry(("a<p>_x",), "").group_of("a_x") is None


@pytest.mark.parametrize("preset", PRESETS)
def test_every_port_of_the_nic_has_a_meaning(preset):
    config = PRESETS[preset]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ports = nic_interface(config, module="nic")["ports"]
    names = [port["name"] for port in ports]
    assert len(names) == len(set(names))
    for port in ports:
        assert port["meaning"], port
        assert "`" not in port["meaning"]
        for field in port.get("fields", ()):
            assert field["meaning"], port
        if fields := port.get("fields"):
            assert fields[-1]["lowest_bit"] + fields[-1]["width"] == port["width"]
    assert sum(port["protocol"] == "clock" for port in ports) >= 1
    for p in range(config.lanes):
        assert f"s_axis_rx{p}_tdata" in names


def test_widths_are_those_of_shapes(shop):
    ports = describe_interface(shop(gate_open=Out(Paint())), module="shop")["ports"]
    assert {port["name"]: port["width"] for port in ports}["gate_open"] == Shape.cast(Paint()).width
