"""Counts from one clock to another."""

from operator import index

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

__all__ = ["GrayCrossing", "gray_decode", "gray_encode"]


def gray_encode(count: Value) -> Value:
    """Return ``count`` in Gray code: of a count and the next, codes differ in one bit."""
    return count ^ (count >> 1)[: len(count)]


def gray_decode(code: Value) -> Value:
    """Return the count whose Gray code is ``code``."""
    return Cat(code[place:].xor() for place in range(len(code)))


class GrayCrossing(wiring.Component):
    """Show a count, somewhat late, to another clock domain.

    In Gray code one bit changes at a time, so whatever moment the other clock samples, it reads a
    count that was there. This holds for counts that go up or down by one; one that jumps must not
    be sent through here.

    The registers take no part in any reset, and neither must the one behind ``i``: a jump to zero
    would be such a jump. Latency is one cycle of ``i_domain`` and three of ``o_domain``, the last
    of which leaves the decoded count in a register. Bits of the code must reach ``o_domain``
    within one cycle of ``i_domain`` of each other, which is for timing constraints to say.

    Parameters
    ----------
    bits : :class:`int`
        Width of the count, which wraps around; at least 1.
    i_domain, o_domain : :class:`str`
        Clock domains of ``i`` and ``o``.

    Attributes
    ----------
    code : :class:`~amaranth.hdl.Signal`
        The Gray code that crosses, in ``i_domain``.

    Members
    -------
    i : ``In(bits)``
        Count; each cycle at most one more or one less than in the cycle before.
    o : ``Out(bits)``
        The same count, late. Values may be left out, never invented.

    Raises
    ------
    ValueError
        If ``bits`` is less than 1.
    """

    def __init__(self, *, bits: int, i_domain: str, o_domain: str):
        self.bits = index(bits)
        self.i_domain = i_domain
        self.o_domain = o_domain
        if self.bits < 1:
            raise ValueError(f"bits must be at least 1, not {bits}")
        self.code = Signal(self.bits, reset_less=True)
        super().__init__({"i": In(self.bits), "o": Out(self.bits)})

    def elaborate(self, platform):
        m = Module()

        arrived = Signal(self.bits)
        count = Signal(self.bits, reset_less=True)
        m.d[self.i_domain] += self.code.eq(gray_encode(self.i))
        m.submodules.synchronizer = FFSynchronizer(self.code, arrived, o_domain=self.o_domain)
        m.d[self.o_domain] += count.eq(gray_decode(arrived))
        m.d.comb += self.o.eq(count)

        return m
