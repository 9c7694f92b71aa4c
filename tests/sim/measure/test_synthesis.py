import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import PRESETS
from mrcnic.hdl.packet.deep_memory import DEEP_ROWS, DeepMemory
from mrcnic.sim.bench.convert import to_verilog
from mrcnic.sim.measure import synthesis
from mrcnic.sim.measure.area import measure_areas
from mrcnic.sim.measure.blocks import PARTS, block_verilog, room_counts
from mrcnic.sim.measure.netlist import Area
from mrcnic.sim.measure.synthesis import synthesise


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("MRCNIC_CACHE", str(tmp_path))


class Deep(wiring.Component):
    """A register behind a sum of bits, and a deep memory."""

    bits: In(30)
    o: Out(1)
    read: Out(64)

    def elaborate(self, platform):
        m = Module()
        held = Signal(30)
        m.d.sync += held.eq(self.bits)
        m.d.sync += self.o.eq(held.xor())
        m.submodules.memory = memory = DeepMemory(64, depth=2 * DEEP_ROWS)
        m.d.comb += [memory.row[0].eq(held), self.read.eq(memory.data[0])]
        return m


def test_a_block_is_synthesised_once(monkeypatch):
    verilog = to_verilog(Deep(), name="block")
    found = synthesise(verilog)
    assert found.area == Area(luts=found.area.luts, flip_flops=31, ultra_rams=2)
    assert found.area.luts in range(6, 12)
    assert found.depth.luts in (2, 3)
    assert found.depth.start.startswith("held[")
    assert found.depth.end == "o.D"
    monkeypatch.setattr(synthesis, "_run", None)
    assert synthesise(verilog) == found


def test_what_yosys_says_is_told():
    with pytest.raises(RuntimeError, match=r"ERROR: syntax error"):
        synthesise("module block(; endmodule")


def test_a_block_that_fails_is_named():
    with pytest.raises(RuntimeError, match=r"^nothing: "):
        measure_areas(["nothing"], PRESETS["tiny"], progress=print)


def test_rooms_and_parts_of_each_preset():
    for name, config in PRESETS.items():
        counts = room_counts(config)
        assert counts["egress.lane"] == counts["ingress.lane"] == config.lanes, name
        assert counts["requester"] == counts["responder"] == 1
        assert counts.get("line.line_in") == (config.lanes if config.crossing else None)
        assert set(PARTS.values()) <= set(counts)
        assert not [room for room in counts if room.startswith("hdl.")]


def test_parts_are_found_in_their_rooms():
    for name in PARTS:
        assert "module block(" in block_verilog(name, PRESETS["tiny"].override(routes=4))
