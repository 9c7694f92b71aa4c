"""Counters of events."""

from functools import reduce
from operator import index, or_

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In

from .register import WORD_BITS
from .register_port import RegisterPort
from .registers import COUNTERS, MAX_COUNTERS

__all__ = ["CounterBank"]

#: Small counters that one choice is made among, in a cycle.
_GROUP = 16

#: A walk around takes more cycles than a total takes from its reading to its writing.
_SHORTEST_LAP = 8


class CounterBank(wiring.Component):
    """Count pulses in totals of 64 bits that no pulse is ever lost from.

    A small counter per event is wide enough for the cycles until a walker comes by and adds it to
    its total, which lies in memory. A total is at most :attr:`delay` cycles behind. Totals are zero
    after reset. Reading the low word of a total keeps the high word as it was then, to be read
    next, so the two fit together.

    Parameters
    ----------
    count : :class:`int`
        Number of events, from 1 to 1,024.

    Attributes
    ----------
    delay : :class:`int`
        Cycles after which a pulse is in its total.

    Members
    -------
    events : ``In(count)``
        Each bit that is set counts one event.
    port : ``In(RegisterPort())``
        Reads.

    Raises
    ------
    ValueError
        If there are too few or too many events.
    """

    def __init__(self, *, count: int):
        self.count = index(count)
        if self.count not in range(1, MAX_COUNTERS + 1):
            raise ValueError(f"count must be from 1 to {MAX_COUNTERS}, not {count}")
        self._lap = max(self.count, _SHORTEST_LAP)
        self.delay = self._lap + 6
        self._totals = memory.MemoryData(shape=64, depth=self._lap, init=[])
        super().__init__({"events": In(self.count), "port": In(RegisterPort())})

    def elaborate(self, platform):
        m = Module()

        m.submodules.totals = totals = memory.Memory(self._totals)
        writer = totals.write_port()
        reader = totals.read_port()

        # The walk. Totals of an earlier life are not added to.
        walk = Signal(range(self._lap))
        visits = Signal(self._lap, init=1)  # the same, as one bit of many
        is_old = Signal()
        m.d.sync += walk.eq(walk + 1)
        m.d.sync += visits.eq(visits.rotate_left(1))
        with m.If(walk == self._lap - 1):
            m.d.sync += walk.eq(0)
            m.d.sync += is_old.eq(1)

        # Small counters, which start again when the walker looks at them.
        events = Signal.like(self.events)
        m.d.sync += events.eq(self.events)
        counters = [Signal(range(self._lap + 1), name=f"counter_{n}") for n in range(self.count)]
        for n, counter in enumerate(counters):
            m.d.sync += counter.eq(Mux(visits[n], 0, counter) + events[n])

        # First cycle: choose in each group.
        parts = []
        for start in range(0, self.count, _GROUP):
            part = Signal.like(counters[0], name=f"part_{start}")
            parts.append(part)
            m.d.sync += part.eq(0)
            with m.Switch(walk[4:]), m.Case(start // _GROUP), m.Switch(walk[:4]):
                for place, counter in enumerate(counters[start : start + _GROUP]):
                    with m.Case(place):
                        m.d.sync += part.eq(counter)
        walks = [Signal.like(walk, name=f"walk_{n}") for n in range(3)]
        olds = [Signal(name=f"is_old_{n}") for n in range(3)]
        for n in range(3):
            m.d.sync += walks[n].eq((walk, *walks)[n])
            m.d.sync += olds[n].eq((is_old, *olds)[n])

        # Second: choose a group, and read the total. Third: add. Fourth: write.
        addend = Signal.like(counters[0])
        total = Signal(64)
        started = Signal(3)  # the first three cycles after reset have nothing to write
        m.d.comb += reader.addr.eq(walks[0])
        m.d.sync += addend.eq(reduce(or_, parts))
        m.d.sync += total.eq(Mux(olds[1], reader.data, 0) + addend)
        m.d.sync += started.eq(started << 1 | 1)
        m.d.comb += writer.addr.eq(walks[2])
        m.d.comb += writer.data.eq(total)
        m.d.comb += writer.en.eq(started[2] & (walks[2] < self.count))

        self._read(m, totals.read_port(), olds[2])
        return m

    def _read(self, m, total, is_valid):
        word = self.port.read_address - COUNTERS // 4
        is_here = Signal()
        is_high = Signal()
        is_read = Signal()
        high = Signal(WORD_BITS)
        m.d.comb += total.addr.eq(word[1:])
        m.d.sync += is_high.eq(word[0])
        m.d.sync += is_here.eq(
            (self.port.read_address >= COUNTERS // 4)
            & (self.port.read_address < COUNTERS // 4 + 2 * self.count)
            & is_valid  # the walker has been everywhere since reset
        )
        m.d.sync += is_read.eq(self.port.read)
        with m.If(is_read & ~is_high & is_here):
            m.d.sync += high.eq(total.data[WORD_BITS:])
        m.d.sync += self.port.read_data.eq(
            Mux(is_here, Mux(is_high, high, total.data[:WORD_BITS]), 0)
        )
