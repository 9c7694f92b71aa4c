"""A set of indices that wait for service."""

from functools import reduce
from operator import index, or_

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["PendingSet"]

#: Indices are searched a group at a time, which keeps the search shallow.
_GROUP = 32


class PendingSet(wiring.Component):
    """Remember which indices wait, each once however often it is added, and serve them in turn.

    An index that is added while it is offered, or in the very cycle in which it is taken, waits
    again. Every index that waits is served before any other is served twice. An index added to
    an empty set is offered two cycles later, three if another group was served last.

    Parameters
    ----------
    count : :class:`int`
        Number of indices, at least 1.
    adders : :class:`int`
        Number of places that add indices, at least 1.

    Members
    -------
    add : ``In(StructLayout({"valid": 1, "index": range(count)})).array(adders)``
        Add ``index`` in each cycle in which ``valid`` is set; all at once may.
    o : ``Out(stream.Signature(range(count)))``
        Indices to be served. Taking one removes it.

    Raises
    ------
    ValueError
        If a parameter is not positive.
    """

    def __init__(self, *, count: int, adders: int = 1):
        self.count = index(count)
        self.adders = index(adders)
        for name in ("count", "adders"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        self.index_bits = max(1, (self.count - 1).bit_length())
        super().__init__({
            "add": In(data.StructLayout({"valid": 1, "index": self.index_bits})).array(self.adders),
            "o": Out(stream.Signature(self.index_bits)),
        })

    def elaborate(self, platform):
        m = Module()

        size = min(_GROUP, 1 << (self.count - 1).bit_length())
        low = size.bit_length() - 1  # bits of an index within its group
        groups = [Signal(size, name=f"waiting_{n}") for n in range(-(-self.count // size))]
        group = Signal(range(max(2, len(groups))))  # never of zero width

        # What is left to serve of this group in this round.
        left = Signal(size)
        live = Signal(size)
        m.d.comb += live.eq(
            left & reduce(or_, (Mux(group == n, waiting, 0) for n, waiting in enumerate(groups)))
        )

        with m.If(self.o.ready | ~self.o.valid):
            m.d.sync += self.o.valid.eq(live.any())
            with m.If(live.any()):
                lowest = Signal(range(size))
                for n in reversed(range(size)):
                    with m.If(live[n]):
                        m.d.comb += lowest.eq(n)
                m.d.sync += self.o.payload.eq(lowest | (group << low))
                m.d.sync += left.eq(left & ~(live & -live))
                with m.Switch(group):
                    for n, waiting in enumerate(groups):
                        with m.Case(n):
                            m.d.sync += waiting.eq(waiting & ~(live & -live))
            with m.Else():
                # The next group in which something waits; the later assignment wins.
                m.d.sync += left.eq(-1)
                for n in reversed(range(len(groups))):
                    with m.If(groups[n].any()):
                        m.d.sync += group.eq(n)
                for n in reversed(range(1, len(groups))):
                    with m.If(groups[n].any() & (n > group)):
                        m.d.sync += group.eq(n)

        for add in self.add:
            with m.If(add.valid):
                for n, waiting in enumerate(groups):
                    with m.If((add.index >> low) == n):
                        m.d.sync += waiting.bit_select(add.index[:low] if low else 0, 1).eq(1)

        return m
