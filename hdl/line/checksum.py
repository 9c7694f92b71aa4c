"""Checksum of ICMPv6, one word per cycle."""

from operator import index

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .solicitation import ICMPV6

__all__ = ["Icmpv6Sum"]


class Icmpv6Sum(wiring.Component):
    """Add up an ICMPv6 packet and its pseudo-header (RFC 8200, section 8.1).

    ``done`` comes ``octets / 2 + 3`` cycles after ``start``.

    Parameters
    ----------
    octets : :class:`int`
        Octets of a packet from its IPv6 header on, an even number; those it does not have are zero.

    Attributes
    ----------
    words : :class:`int`
        Words that are added up.

    Members
    -------
    start : ``In(1)``
        Begin with the word offered in the next cycle.
    word : ``In(16)``
        First two octets of what is left, the first one in the low bits.
    using : ``Out(1)``
        ``word`` is used up.
    done : ``Out(1)``
        ``sum`` holds.
    sum : ``Out(16)``
        Sum in ones' complement, as a big-endian number: 0xffff if the checksum was in it and good.
    """

    def __init__(self, *, octets: int):
        self.words = index(octets) // 2
        super().__init__({
            "start": In(1),
            "word": In(16),
            "using": Out(1),
            "done": Out(1),
            "sum": Out(16),
        })

    def elaborate(self, platform):
        m = Module()

        end = self.words + 1
        place = Signal(range(end + 1))
        busy = Signal()
        carry = Signal()
        addend = Signal(16)
        m.d.comb += addend.eq(Cat(self.word[8:], self.word[:8]))
        with m.Switch(place):
            with m.Case(0, 1):  # version, traffic class and flow label are not covered
                m.d.comb += addend.eq(0)
            with m.Case(3):
                m.d.comb += addend.eq(ICMPV6)  # without the hop limit
            with m.Case(self.words, end):
                m.d.comb += addend.eq(0)  # for the last carry, and the one that it may make

        m.d.comb += self.using.eq(busy & (place < self.words))
        m.d.sync += self.done.eq(busy & (place == end))
        with m.If(self.start):
            m.d.sync += busy.eq(1)
            m.d.sync += place.eq(0)
            m.d.sync += Cat(self.sum, carry).eq(0)
        with m.Elif(busy):
            m.d.sync += busy.eq(place != end)
            m.d.sync += place.eq(place + 1)
            m.d.sync += Cat(self.sum, carry).eq(self.sum + addend + carry)

        return m
