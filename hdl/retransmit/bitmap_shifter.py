"""Bitmaps put into place over rows of 64 PSNs."""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ROW_PSNS", "BitmapShifter"]

#: PSNs in a row of the scoreboard.
ROW_PSNS = 64


class BitmapShifter(wiring.Component):
    """Shift 64 bits by up to 63 places, into the row they start in and the row after it.

    Radix-4 stages, two of them before and one behind a register. Latency is two cycles, one
    bitmap per cycle.

    Members
    -------
    bitmap : ``In(64)``
        Bit 0 belongs to the PSN at ``place``.
    place : ``In(6)``
        Its place in its row.
    low, high : ``Out(64)``
        Bits in this row, and in the next one.
    """

    bitmap: In(ROW_PSNS)
    place: In(6)
    low: Out(ROW_PSNS)
    high: Out(ROW_PSNS)

    def elaborate(self, platform):
        m = Module()

        coarse = Signal(unsigned(2))
        part = Signal(ROW_PSNS + 15)
        by_one, by_four = Signal(ROW_PSNS + 3), Signal(ROW_PSNS + 15)
        whole = Signal(2 * ROW_PSNS)
        for select, source, target, step in (
            (self.place[0:2], self.bitmap, by_one, 1),
            (self.place[2:4], by_one, by_four, 4),
            (coarse, part, whole, 16),
        ):
            with m.Switch(select):
                for n in range(4):
                    with m.Case(n):
                        m.d.comb += target.eq(source << (n * step))
        m.d.sync += [part.eq(by_four), coarse.eq(self.place[4:6])]
        m.d.sync += [self.low.eq(whole[:ROW_PSNS]), self.high.eq(whole[ROW_PSNS:])]

        return m
