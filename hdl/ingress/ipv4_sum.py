"""Checksum of IPv4 headers."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.wire import headers

__all__ = ["Ipv4Sum"]

_WORD_BITS = 16
_ONES = (1 << _WORD_BITS) - 1


class Ipv4Sum(wiring.Component):
    """Tell whether the checksum of an IPv4 header without options is right (RFC 791, section 3.1).

    The one's-complement sum of all words has to be all ones. What carried out of the plain sum
    is folded in once; that a carry comes out of this again, no right sum does, since the plain
    sum of a right header is a multiple of 0xFFFF, and not zero.

    Latency is three cycles; one header per cycle.

    Members
    -------
    i : ``In(160)``
        Header, as a number.
    good : ``Out(1)``
        It was right, three cycles ago; combinational from the third register on.
    """

    i: In(8 * headers.IPV4.octets)
    good: Out(1)

    def elaborate(self, platform):
        m = Module()

        # 10, 5, 3, 2 summands; the last sum is compared at once.
        values = [self.i[start : start + _WORD_BITS] for start in range(0, len(self.i), _WORD_BITS)]
        for cycle in range(1, 4):
            sums = [sum(values[n : n + 2]) for n in range(0, len(values), 2)]
            values = [Signal(len(s), name=f"sum_{cycle}_{n}") for n, s in enumerate(sums)]
            m.d.sync += [value.eq(s) for value, s in zip(values, sums, strict=True)]
        total = Signal(20)
        m.d.comb += total.eq(values[0] + values[1])
        m.d.comb += self.good.eq(total[:_WORD_BITS] + total[_WORD_BITS:] == _ONES)

        return m
