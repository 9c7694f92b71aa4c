"""A set of indices that wait for service."""

from functools import reduce
from operator import index, or_

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["PendingSet"]

#: Indices are served a group at a time, which keeps the search for the next one shallow; and of
#: groups there are at most so many.
_GROUP = 32
_GROUPS_MAX = 16


class PendingSet(wiring.Component):
    """Remember which indices wait, each once however often it is added, and serve them in turn.

    An index that is added while it is offered, or in the very cycle in which it is taken, waits
    again. Every index that waits is served before any other is served twice. An index added to
    an empty set is offered three cycles later, four if another group was served last. One is served
    per cycle; a new turn costs a cycle.

    Parameters
    ----------
    count : :class:`int`
        Number of indices, at least 1.
    adders : :class:`int`
        Number of places that add indices, at least 1.

    Attributes
    ----------
    waiting : list of :class:`~amaranth.hdl.Signal`
        For each group, who waits for its next turn.
    left, served : :class:`~amaranth.hdl.Signal`
        Who is still to be served in this turn, and who has been.
    turn, number, later : :class:`~amaranth.hdl.Signal`
        Which group's turn it is: one bit, its number, and all bits above it. For proofs.

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
        everybody = 1 << (self.count - 1).bit_length()
        size = min(max(_GROUP, everybody // _GROUPS_MAX), everybody)
        self.waiting = [Signal(size, name=f"waiting_{n}") for n in range(-(-self.count // size))]
        self.left = Signal(size)
        self.served = Signal(size)
        self.turn = Signal(len(self.waiting), init=1)
        self.number = Signal(range(max(2, len(self.waiting))))
        self.later = Signal(len(self.waiting), init=(1 << len(self.waiting)) - 2)
        super().__init__({
            "add": In(data.StructLayout({"valid": 1, "index": self.index_bits})).array(self.adders),
            "o": Out(stream.Signature(self.index_bits)),
        })

    def elaborate(self, platform):
        m = Module()

        groups, left, served = self.waiting, self.left, self.served
        low = (len(left) - 1).bit_length()  # bits of an index within its group
        some = Signal(len(groups))  # something waits in the group, or did

        # The group whose turn is next is chosen before that is needed, and anew when it has begun.
        pick = Signal(len(groups))
        after = Signal(len(groups))
        m.d.comb += after.eq(some & self.later)
        m.d.sync += pick.eq(Mux(after.any(), _lowest_bit(after), _lowest_bit(some)))

        # A turn ends when nobody is left.
        free = Signal()
        ends = Signal()
        chosen = Signal(len(groups))
        m.d.comb += free.eq(self.o.ready | ~self.o.valid)
        m.d.comb += ends.eq(~left.any() & free)
        m.d.comb += chosen.eq(Mux(pick.any(), pick, self.turn))
        with m.If(ends & pick.any()):
            m.d.sync += pick.eq(0)
            m.d.sync += self.turn.eq(pick)
            m.d.sync += self.number.eq(_number(pick))
            m.d.sync += self.later.eq(_any_below(pick))

        moved = Mux(free, _lowest_bit(left), 0)
        with m.If(free):
            m.d.sync += self.o.valid.eq(left.any())
            m.d.sync += self.o.payload.eq(Cat(_lowest(left), self.number) if low else self.number)
        with m.If(ends):
            m.d.sync += left.eq(_choose(chosen, groups))
            m.d.sync += served.eq(0)
        with m.Else():
            # Who comes in time is served in this turn, unless for the second time.
            m.d.sync += left.eq((left & ~moved) | (_choose(self.turn, groups) & ~served & ~left))
            m.d.sync += served.eq(served | moved)

        for n, waiting in enumerate(groups):
            with m.If(ends & chosen[n]):
                m.d.sync += waiting.eq(0)
                m.d.sync += some[n].eq(0)
            with m.Elif(self.turn[n] & ~ends):
                m.d.sync += waiting.eq(waiting & served)
            for add in self.add:
                with m.If(add.valid & ((add.index >> low) == n)):
                    m.d.sync += waiting.bit_select(add.index[:low] if low else 0, 1).eq(1)
                    m.d.sync += some[n].eq(1)

        return m


def _choose(bit, words):
    """Return the word whose bit is set, or 0."""
    return reduce(or_, (Mux(mine, word, 0) for mine, word in zip(bit, words, strict=True)))


def _lowest_bit(word):
    """Return the lowest bit that is set, alone."""
    return Cat(bit & ~below for bit, below in zip(word, _any_below(word), strict=True))


def _any_below(word):
    """Return for each bit whether a lower one is set."""
    return Cat(word[:n].any() if n else 0 for n in range(len(word)))


def _number(bit):
    """Return the number of the only bit that is set."""
    bits = max(1, (len(bit) - 1).bit_length())
    return Cat(
        Cat(bit[n] for n in range(len(bit)) if n >> k & 1).any() if len(bit) > 1 << k else 0
        for k in range(bits)
    )


def _lowest(word):
    """Return the number of the lowest bit that is set; the length is a power of two."""
    number = []
    if len(word) > 1:
        half = len(word) // 2
        lower = word[:half].any()
        if half > 1:
            number.append(Mux(lower, _lowest(word[:half]), _lowest(word[half:])))
        number.append(~lower)
    return Cat(number)
