"""The clock on the wall."""

from math import gcd
from operator import index

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from mrcnic.hdl.config import TICK_NS
from mrcnic.hdl.descriptor.sizes import NOW_BITS

__all__ = ["TickCounter"]

#: Ticks per second.
_TICK_HZ = 1_000_000_000 // TICK_NS


class TickCounter(wiring.Component):
    """Count ticks of 128 ns with any clock.

    The rate is exact in the long run, whatever the clock: the remainder of each division is
    carried on, never rounded off. A tick comes at most one cycle late and never early.

    Parameters
    ----------
    clk_hz : :class:`int`
        Frequency of the clock, in Hz.

    Members
    -------
    now : ``Out(NOW_BITS)``
        Time, in ticks since reset. Wraps around.

    Raises
    ------
    ValueError
        If ``clk_hz`` is not positive.
    """

    def __init__(self, *, clk_hz: int):
        self.clk_hz = index(clk_hz)
        if self.clk_hz < 1:
            raise ValueError(f"clk_hz must be at least 1, not {clk_hz}")
        super().__init__({"now": Out(NOW_BITS)})

    def elaborate(self, platform):
        m = Module()

        common = gcd(_TICK_HZ, self.clk_hz)
        cycles = self.clk_hz // common
        whole, part = divmod(_TICK_HZ // common, cycles)

        # Fraction of a tick that has passed, in 1/cycles, less a cycle's part of the next tick:
        # the sign alone says whether this cycle completes a tick.
        short = Signal(range(-cycles, cycles), init=part - cycles)
        due = Signal()
        m.d.comb += due.eq(short >= 0)
        with m.If(due):
            m.d.sync += short.eq(short + (part - cycles))
        with m.Else():
            m.d.sync += short.eq(short + part)
        m.d.sync += self.now.eq(self.now + whole + due)

        return m
