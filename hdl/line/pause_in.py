"""A MAC's pauses, seen by the engine."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

__all__ = ["PAUSES", "PauseIn"]

#: Pauses of priorities 0 to 7 (IEEE 802.1Q, priority-based flow control), and that of the link
#: (IEEE 802.3, annex 31B) on top.
PAUSES = 9


class PauseIn(wiring.Component):
    """Bring the levels of a MAC's pauses to the clock of the engine, each on its own.

    Latency is two to three cycles. A level must hold for at least one cycle of the engine to be
    seen; the shortest pause that a MAC can be told lasts for 512 bit times.

    Members
    -------
    i : ``In(9)``
        Levels: priorities 0 to 7, and that of the link in bit 8. Registers of any clock domain.
    o : ``Out(9)``
        The same, in ``sync``.
    """

    def __init__(self):
        super().__init__({"i": In(PAUSES), "o": Out(PAUSES)})

    def elaborate(self, platform):
        m = Module()

        m.submodules.synchronizer = FFSynchronizer(self.i, self.o)

        return m
