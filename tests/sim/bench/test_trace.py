import struct

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from mrcnic.sim.bench.convert import to_verilog
from mrcnic.sim.bench.runner import compile_design, find_simulator, run_design
from mrcnic.sim.cli.waveforms import is_whole_fst


class Counter(wiring.Component):
    count: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.count.eq(self.count + 1)
        return m


def test_waveforms_are_recorded_if_asked_for(tmp_path):
    if not find_simulator("icarus"):
        pytest.skip("icarus is not installed")
    source = tmp_path / "dut.v"
    source.write_text(to_verilog(Counter(), name="dut"))
    design = {"top": "dut", "simulator": "icarus", "build_dir": tmp_path}
    compile_design([source], trace=True, **design)

    run_design("tb_trace", env={}, **design)
    assert not list(tmp_path.rglob("*.fst"))

    trace = tmp_path / "a folder" / "trace.fst"
    trace.parent.mkdir()
    run_design("tb_trace", env={}, trace=trace, **design)
    assert list(trace.parent.iterdir()) == [trace]
    assert is_whole_fst(trace)
    scopes, signals = struct.unpack_from(">QQ", trace.read_bytes(), 9 + 32)
    assert scopes >= 1
    assert signals >= 3  # clock, reset, count
