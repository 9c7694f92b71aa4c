"""Events from one clock domain to another."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.packet.gray_crossing import GrayCrossing

__all__ = ["EventCrossing"]

#: Width of the counts that cross.
_BITS = 8


class EventCrossing(wiring.Component):
    """Give each pulse in one clock domain as a pulse of one cycle in another.

    Pulses are counted on one side and made up for on the other, one per cycle, so none is lost when
    they come back to back, nor while either clock stands still, as long as fewer than 256 of a kind
    wait. A reset of ``o_domain`` leaves out the pulses of those cycles; one of ``i_domain``
    changes nothing. Latency is two cycles of ``i_domain`` and four of ``o_domain``.

    Parameters
    ----------
    names : :class:`tuple` of :class:`str`
        Kinds of events.
    i_domain, o_domain : :class:`str`
        Clock domains of ``i`` and ``o``.

    Members
    -------
    i : ``In(StructLayout({...: 1}))``
        Events, set for a cycle each.
    o : ``Out(StructLayout({...: 1}))``
        The same events.
    """

    def __init__(self, names: tuple[str, ...], *, i_domain: str, o_domain: str):
        self.names = tuple(names)
        self.i_domain = i_domain
        self.o_domain = o_domain
        layout = data.StructLayout(dict.fromkeys(self.names, 1))
        super().__init__({"i": In(layout), "o": Out(layout)})

    def elaborate(self, platform):
        m = Module()

        for name in self.names:
            m.submodules[name] = crossing = GrayCrossing(
                bits=_BITS, i_domain=self.i_domain, o_domain=self.o_domain
            )
            # Neither count takes part in a reset: see the crossing.
            happened = Signal(_BITS, reset_less=True, name=f"{name}_happened")
            told = Signal(_BITS, reset_less=True, name=f"{name}_told")
            due = Signal(name=f"{name}_due")
            m.d[self.i_domain] += happened.eq(happened + self.i[name])
            m.d.comb += crossing.i.eq(happened)
            m.d.comb += due.eq(crossing.o != told)
            m.d[self.o_domain] += told.eq(told + due)
            m.d[self.o_domain] += self.o[name].eq(due)

        return m
