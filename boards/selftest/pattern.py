"""Host memory that is none: what is read follows from the address, and is checked when written."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.host.axi import axi4_read_signature, axi4_write_signature

__all__ = ["OCTETS", "PatternSink", "PatternSource", "pattern"]

#: Octets of a word.
OCTETS = 8

#: Bits of a word's number that count.
_WORD_BITS = 27
_HALF = 32
_SALT = 0x9E37_79B9_7F4A_7C15


def pattern(address: int) -> int:
    """Return the word of 64 bits at ``address``.

    Examples
    --------
    >>> hex(pattern(0)), hex(pattern(8))
    ('0x9e3779b97f4a7c15', '0x9e3779b07f4a7c34')
    """
    word = address // OCTETS % (1 << _WORD_BITS)
    return ((word ^ word << 3) << _HALF | word ^ word << 5) ^ _SALT


def _pattern_of(address) -> Value:
    word = Value.cast(address)[3 : 3 + _WORD_BITS]
    halves = [(word ^ (word << shift))[:_HALF] for shift in (5, 3)]
    return Cat(*halves) ^ _SALT


class PatternSource(wiring.Component):
    """Answer reads with the pattern.

    One burst at a time; its first word follows the address by a cycle, and then one comes in each.

    Members
    -------
    axi : ``In(axi4_read_signature(8))``
    """

    axi: In(axi4_read_signature(OCTETS))

    def elaborate(self, platform):
        m = Module()

        axi = self.axi
        address = Signal(64)
        left = Signal(8)
        m.d.comb += axi.arready.eq(~axi.rvalid)
        m.d.comb += axi.rdata.eq(_pattern_of(address))
        m.d.comb += axi.rlast.eq(left == 0)
        with m.If(axi.arvalid & axi.arready):
            m.d.sync += axi.rvalid.eq(1)
            m.d.sync += axi.rid.eq(axi.arid)
            m.d.sync += address.eq(axi.araddr)
            m.d.sync += left.eq(axi.arlen)
        with m.Elif(axi.rvalid & axi.rready):
            m.d.sync += axi.rvalid.eq(left != 0)
            m.d.sync += address.eq(address + OCTETS)
            m.d.sync += left.eq(left - 1)

        return m


class PatternSink(wiring.Component):
    """Take writes, and compare each octet with the pattern.

    One burst at a time, a word per cycle.

    Members
    -------
    axi : ``In(axi4_write_signature(8))``
    octets : ``Out(4)``
        Octets that came in this cycle and were right.
    wrong : ``Out(1)``
        An octet that came in this cycle was not.
    """

    axi: In(axi4_write_signature(OCTETS))
    octets: Out(range(OCTETS + 1))
    wrong: Out(1)

    def elaborate(self, platform):
        m = Module()

        axi = self.axi
        address = Signal(64)
        busy = Signal()
        m.d.comb += axi.awready.eq(~busy & ~axi.bvalid)
        m.d.comb += axi.wready.eq(busy)
        with m.If(axi.awvalid & axi.awready):
            m.d.sync += busy.eq(1)
            m.d.sync += axi.bid.eq(axi.awid)
            m.d.sync += address.eq(axi.awaddr)
        taken = axi.wvalid & axi.wready
        with m.If(taken):
            m.d.sync += address.eq(address + OCTETS)
            with m.If(axi.wlast):
                m.d.sync += busy.eq(0)
                m.d.sync += axi.bvalid.eq(1)
        with m.If(axi.bvalid & axi.bready):
            m.d.sync += axi.bvalid.eq(0)

        # Compared a cycle later, so that the comparison is in no other path.
        seen = Signal(64)
        wanted = Signal(64)
        strobe = Signal(OCTETS)
        m.d.sync += seen.eq(axi.wdata)
        m.d.sync += wanted.eq(_pattern_of(address))
        m.d.sync += strobe.eq(axi.wstrb & taken.replicate(OCTETS))
        different = Cat(seen.word_select(n, 8) != wanted.word_select(n, 8) for n in range(OCTETS))
        m.d.sync += self.wrong.eq((strobe & different).any())
        m.d.sync += self.octets.eq(sum((strobe & ~different)[n] for n in range(OCTETS)))

        return m
