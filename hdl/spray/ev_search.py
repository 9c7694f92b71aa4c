"""Search in a mask, in constant time."""

from operator import index

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["EvSearch", "first_from", "group_count", "grouped"]


def group_count(evs: int) -> int:
    """Return how many groups ``evs`` EVs are searched in: a power of two, about the square root."""
    return 1 << max(1, (evs - 1).bit_length()) // 2


def grouped(mask: Signal, groups: int) -> Value:
    """Return which groups have a bit of ``mask`` set; group g has bits g, g + groups, and so on.

    The mask has to be a signal: an expression would be written out for each of its bits.
    """
    return Cat(mask[g::groups].any() for g in range(groups))


def first_from(m: Module, name: str, mask: Value, start: Value) -> Value:
    """Return the first bit of ``mask`` among those of ``start``, or else of all."""
    width = len(mask)
    among, after = Signal(width, name=f"{name}_among"), Signal(width, name=f"{name}_after")
    m.d.comb += [among.eq(mask), after.eq(mask & start)]
    return Mux(after.any(), _lowest(m, f"{name}_later", after), _lowest(m, name, among))


def _lowest(m, name, mask):
    """Return the lowest bit that is set, found by a carry: that is one level, however wide."""
    word, lowest = Signal(len(mask), name=f"{name}_word"), Signal(len(mask), name=f"{name}_lowest")
    m.d.comb += [word.eq(mask), lowest.eq(word & -word)]
    return lowest


class EvSearch(wiring.Component):
    """Find an EV of a mask, in a pseudo-random order, and a SKIP EV on the way to it.

    The order goes by groups, from a group that ``start`` tells and around, and within the group
    from a place that ``start`` tells and around. Since the mask tells who is still to come, each
    rotation is a new permutation that nothing has to store. Two levels of search, the inner one
    in all groups at once: the depth is that of a search among 16. Which groups come first is
    found for each kind of mask at the same time, before it is known which kind it is to be.

    Outputs come one cycle after the masks, and three levels of logic after that.

    Parameters
    ----------
    evs : :class:`int`
        Width of the masks.
    kinds : :class:`int`
        Kinds of masks, at least 1.

    Attributes
    ----------
    groups : :class:`int`
        Number of groups.

    Members
    -------
    start : ``In(16)``
        Pseudo-random number, a cycle before the masks.
    mask, skip : ``In(evs)``
        EVs to choose from; SKIP EVs whose turn is to come.
    kind : ``In(kinds)``
        Which kind of mask it is, a bit for each.
    mask_groups, skip_groups : ``In(groups).array(kinds)``, ``In(groups)``
        Groups by :func:`grouped`, those of the mask for each kind that it could be.
    chosen : ``Out(evs)``
        One bit of ``mask``, if there is any.
    passed : ``Out(evs)``
        One bit of ``skip``, if there is any.
    passes : ``Out(1)``
        With a mask of the first kind, the search has passed it: its group comes before that of
        ``chosen``.
    """

    def __init__(self, evs: int, *, kinds: int = 1):
        self.evs = index(evs)
        self.kinds = index(kinds)
        self.groups = group_count(self.evs)
        super().__init__({
            "start": In(16),
            "mask": In(self.evs),
            "skip": In(self.evs),
            "kind": In(self.kinds),
            "mask_groups": In(self.groups).array(self.kinds),
            "skip_groups": In(self.groups),
            "chosen": Out(self.evs),
            "passed": Out(self.evs),
            "passes": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        groups = self.groups
        size = -(-self.evs // groups)
        bits = groups.bit_length() - 1
        inner_bits = max(1, (size - 1).bit_length())
        # From which group, and which place in it, on.
        from_group, from_inner = Signal(groups), Signal(size)
        m.d.sync += [
            from_group.eq((-1 << self.start[:bits])[:groups]),
            from_inner.eq((-1 << self.start[bits : bits + inner_bits])[:size]),
        ]

        chosen_group, passed_group = Signal(groups), Signal(groups)
        firsts = [
            Mux(self.kind[n], first_from(m, f"group_{n}", self.mask_groups[n], from_group), 0)
            for n in range(self.kinds)
        ]
        m.d.sync += chosen_group.eq(Cat(Cat(f[g] for f in firsts).any() for g in range(groups)))
        m.d.sync += passed_group.eq(first_from(m, "passed_group", self.skip_groups, from_group))
        either = first_from(m, "either", self.mask_groups[0] | self.skip_groups, from_group)
        m.d.sync += self.passes.eq((either & ~self.mask_groups[0]).any())

        inner = Signal(size)
        m.d.sync += inner.eq(from_inner)
        for g in range(groups):
            places = range(g, self.evs, groups)
            mask = Signal(len(places), name=f"mask_{g}")
            skip = Signal(len(places), name=f"skip_{g}")
            m.d.sync += mask.eq(self.mask[g::groups])
            m.d.sync += skip.eq(_lowest(m, f"skipped_{g}", self.skip[g::groups]))
            chosen = first_from(m, f"chosen_{g}", mask, inner[: len(places)])
            for n, place in enumerate(places):
                m.d.comb += self.chosen[place].eq(chosen[n] & chosen_group[g])
                m.d.comb += self.passed[place].eq(skip[n] & passed_group[g])

        return m
