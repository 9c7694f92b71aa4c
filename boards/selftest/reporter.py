"""Counters as lines of text."""

from collections.abc import Sequence
from operator import index

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Reporter"]

_NIBBLES = 8


class Reporter(wiring.Component):
    """Write a line ``name=00000000 name=00000000 ...`` now and then, with counters in hexadecimal.

    Counters of one line are those of one cycle. A character is made in 2 cycles.

    Parameters
    ----------
    names : sequence of :class:`str`
        Names of the counters.
    period : :class:`int`
        Cycles from one line to the next; longer if the text is not taken so soon.

    Members
    -------
    values : ``In(32).array(len(names))``
        Counters.
    o : ``Out(stream.Signature(8))``
        Text in ASCII; lines end in CR LF.

    Raises
    ------
    ValueError
        If there is no name, or ``period`` is not positive.
    """

    def __init__(self, names: Sequence[str], *, period: int):
        self.names = tuple(names)
        self.period = index(period)
        if not self.names:
            raise ValueError("names must not be empty")
        if self.period < 1:
            raise ValueError(f"period must be at least 1, not {period}")
        super().__init__({
            "values": In(32).array(len(self.names)),
            "o": Out(stream.Signature(8)),
        })

    def elaborate(self, platform):
        m = Module()

        # A text with holes: each is a nibble of what is left of the counters, highest first.
        hole = 0
        text = []
        for n, name in enumerate(self.names):
            text += [*(b" " if n else b""), *name.encode(), ord("="), *[hole] * _NIBBLES]
        text += b"\r\n"
        at = Signal(range(len(text)))
        left = Signal(32 * len(self.names))
        character = Signal(8)
        with m.Switch(at):
            for n, each in enumerate(text):
                with m.Case(n):
                    m.d.comb += character.eq(Const(each, 8))

        waited = Signal(range(self.period))
        nibble = left[-4:]
        digit = Mux(nibble < 10, ord("0") + nibble, ord("A") - 10 + nibble)
        with m.If(waited != self.period - 1):
            m.d.sync += waited.eq(waited + 1)
        with m.FSM():
            with m.State("Wait"), m.If(waited == self.period - 1):
                m.d.sync += waited.eq(0)
                for n, value in enumerate(reversed(list(self.values))):
                    m.d.sync += left[32 * n : 32 * n + 32].eq(value)
                m.next = "Make"
            with m.State("Make"):
                m.d.sync += self.o.payload.eq(character)
                with m.If(character == hole):
                    m.d.sync += self.o.payload.eq(digit)
                    m.d.sync += left.eq(left << 4)
                m.d.sync += self.o.valid.eq(1)
                m.next = "Show"
            with m.State("Show"), m.If(self.o.ready):
                m.d.sync += self.o.valid.eq(0)
                m.d.sync += at.eq(at + 1)
                m.next = "Make"
                with m.If(at == len(text) - 1):
                    m.d.sync += at.eq(0)
                    m.next = "Wait"

        return m
