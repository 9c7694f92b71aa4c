"""Rooms converted side by side make the same design as rooms converted together."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.packet.outline import Outlines, outline
from mrcnic.hdl.packet.skid_buffer import SkidBuffer
from mrcnic.sim.bench.convert import to_verilog
from mrcnic.sim.bench.runner import lint_design


class Street(wiring.Component):
    """Two skid buffers in a row."""

    def __init__(self, kinds=("near", "far")):
        self.kinds = kinds
        buffer = SkidBuffer(8)
        super().__init__({"i": In(buffer.i.signature.flip()), "o": Out(buffer.o.signature)})
        self.rooms = [buffer, SkidBuffer(8)]

    def elaborate(self, platform):
        m = Module()
        near, far = self.rooms
        for name, kind, room in zip(("near", "far"), self.kinds, self.rooms, strict=True):
            m.submodules[name] = outline(room, kind, platform)
        wiring.connect(m, wiring.flipped(self.i), near.i)
        wiring.connect(m, near.o, far.i)
        wiring.connect(m, far.o, wiring.flipped(self.o))
        return m


def test_rooms_become_modules_that_verilator_accepts(tmp_path):
    verilog = to_verilog(Street(), name="street")
    for module in ("street", "street_near", "street_far"):
        assert verilog.count(f"\nmodule {module}(") == 1
    source = tmp_path / "street.v"
    source.write_text(verilog)
    assert lint_design(source, top="street") == ""


def test_the_order_of_modules_is_that_of_the_rooms():
    assert to_verilog(Street(), name="street") == to_verilog(Street(), name="street")


def test_rooms_of_one_name_are_one_module(tmp_path):
    verilog = to_verilog(Street(kinds=("house", "house")), name="street")
    assert verilog.count("\nmodule street_house(") == 1
    assert "street_house near (" in verilog
    assert "street_house far (" in verilog
    source = tmp_path / "street.v"
    source.write_text(verilog)
    assert lint_design(source, top="street") == ""


def test_elsewhere_a_room_is_itself():
    room = SkidBuffer(8)
    assert outline(room, "near", None) is room
    platform = Outlines("street")
    assert outline(room, "near", platform) is not room
    assert platform.rooms["street_near"][0] is room
