"""A serial line: eight bits, no parity, one stop bit."""

from operator import index

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

__all__ = ["UartReceiver", "UartSender"]


def _check(divisor: int) -> int:
    divisor = index(divisor)
    if not 4 <= divisor <= 65535:
        raise ValueError(f"divisor must be from 4 to 65535, not {divisor}")
    return divisor


class UartSender(wiring.Component):
    """Send octets; each takes ten bits.

    Parameters
    ----------
    divisor : :class:`int`
        Cycles of a bit, 4 to 65535.

    Members
    -------
    i : ``In(stream.Signature(8))``
    line : ``Out(1)``

    Raises
    ------
    ValueError
        If ``divisor`` is out of its limits.
    """

    def __init__(self, *, divisor: int):
        self.divisor = _check(divisor)
        super().__init__({"i": In(stream.Signature(8)), "line": Out(1, init=1)})

    def elaborate(self, platform):
        m = Module()

        bits = Signal(10)  # sent from the lowest on; the highest that is set is the stop bit
        left = Signal(range(self.divisor))
        m.d.comb += self.i.ready.eq((bits == 0) & (left == 0))
        with m.If(left != 0):
            m.d.sync += left.eq(left - 1)
        with m.Elif(bits != 0):
            m.d.sync += self.line.eq(bits[0])
            m.d.sync += bits.eq(bits >> 1)
            m.d.sync += left.eq(self.divisor - 1)
        with m.Elif(self.i.valid):
            m.d.sync += bits.eq(Cat(0, self.i.payload, 1))

        return m


class UartReceiver(wiring.Component):
    """Receive octets. One that has no stop bit is dropped.

    Parameters
    ----------
    divisor : :class:`int`
        Cycles of a bit, 4 to 65535.

    Members
    -------
    line : ``In(1)``
        Asynchronous; two registers are inside.
    octet, valid : ``Out(8)``, ``Out(1)``
        An octet, for a cycle.

    Raises
    ------
    ValueError
        If ``divisor`` is out of its limits.
    """

    def __init__(self, *, divisor: int):
        self.divisor = _check(divisor)
        super().__init__({"line": In(1, init=1), "octet": Out(8), "valid": Out(1)})

    def elaborate(self, platform):
        m = Module()

        line = Signal(init=1)
        m.submodules.synchronizer = FFSynchronizer(self.line, line, init=1)
        bits = Signal(9)  # eight of the octet and the stop bit, filled from above
        count = Signal(range(10))
        left = Signal(range(self.divisor + self.divisor // 2))
        m.d.sync += self.valid.eq(0)
        m.d.comb += self.octet.eq(bits[:8])
        with m.If(count == 0), m.If(~line):
            # To the middle of the first bit behind the start bit.
            m.d.sync += left.eq(self.divisor + self.divisor // 2 - 1)
            m.d.sync += count.eq(9)
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        with m.Else():
            m.d.sync += bits.eq(Cat(bits[1:], line))
            m.d.sync += left.eq(self.divisor - 1)
            m.d.sync += count.eq(count - 1)
            m.d.sync += self.valid.eq((count == 1) & line)

        return m
