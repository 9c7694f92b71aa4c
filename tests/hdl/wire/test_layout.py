from amaranth.hdl import Module, Signal
from hypothesis import given
from hypothesis import strategies as st

from mrcnic.hdl.wire.headers import IPV6
from mrcnic.hdl.wire.layout import HeaderLayout
from mrcnic.sim.bench.streams import simulate


@given(st.binary(min_size=64, max_size=64))
def test_gateware_reads_what_python_reads(packet):
    layout = HeaderLayout(IPV6)
    octets = Signal(64 * 8)
    header = layout.from_octets(octets)

    async def bench(ctx):
        ctx.set(octets, int.from_bytes(packet, "little"))
        assert {name: ctx.get(header[name]) for name, _ in layout} == IPV6.unpack(packet)
        assert ctx.get(layout.to_octets(header)) == int.from_bytes(packet[:40], "little")

    m = Module()
    m.d.sync += Signal().eq(0)  # a clock, for the simulator
    simulate(m, bench)
