"""Search in a mask, in constant time."""

from operator import index

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["EvSearch", "group_count", "grouped"]


def group_count(evs: int) -> int:
    """Return how many groups ``evs`` EVs are searched in: a power of two, about the square root."""
    return 1 << max(1, (evs - 1).bit_length()) // 2


def grouped(mask: Signal, groups: int) -> Value:
    """Return which groups have a bit of ``mask`` set; group g has bits g, g + groups, and so on.

    The mask has to be a signal: an expression would be written out for each of its bits.
    """
    return Cat(mask[g::groups].any() for g in range(groups))


def _from(mask: Value, start: Value) -> Value:
    """Return the first bit of ``mask`` at or after bit ``start``, or else the first of all."""
    after = mask & (-1 << start)[: len(mask)]
    return Mux(after.any(), after & -after, mask & -mask)[: len(mask)]


class EvSearch(wiring.Component):
    """Find an EV of a mask, in a pseudo-random order, and a SKIP EV on the way to it.

    The order goes by groups, from a group that ``start`` tells and around, and within the group
    from a place that ``start`` tells and around. Since the mask tells who is still to come, each
    rotation is a new permutation. Two levels of search, the inner one in all groups at once: the
    depth is that of a search among 16. Outputs come one cycle after the inputs.

    Parameters
    ----------
    evs : :class:`int`
        Width of the masks.

    Attributes
    ----------
    groups : :class:`int`
        Number of groups.

    Members
    -------
    mask, skip : ``In(evs)``
        EVs to choose from; SKIP EVs whose turn is to come.
    mask_groups, skip_groups : ``In(groups)``
        The same by :func:`grouped`.
    start : ``In(16)``
        Pseudo-random number.
    chosen : ``Out(evs)``
        One bit of ``mask``.
    passed : ``Out(evs)``
        One bit of ``skip``, if there is any.
    passes : ``Out(1)``
        The search has passed it: its group comes before that of ``chosen``.
    """

    def __init__(self, evs: int):
        self.evs = index(evs)
        self.groups = group_count(self.evs)
        super().__init__({
            "mask": In(self.evs),
            "skip": In(self.evs),
            "mask_groups": In(self.groups),
            "skip_groups": In(self.groups),
            "start": In(16),
            "chosen": Out(self.evs),
            "passed": Out(self.evs),
            "passes": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        size = -(-self.evs // self.groups)
        bits = self.groups.bit_length() - 1
        start_group = self.start[:bits]
        start_inner = self.start[bits : bits + max(1, (size - 1).bit_length())]

        chosen_group = Signal(self.groups)
        passed_group = Signal(self.groups)
        m.d.sync += chosen_group.eq(_from(self.mask_groups, start_group))
        m.d.sync += passed_group.eq(_from(self.skip_groups, start_group))
        first = _from(self.mask_groups | self.skip_groups, start_group)
        m.d.sync += self.passes.eq(~(first & self.mask_groups).any())

        for g in range(self.groups):
            places = range(g, self.evs, self.groups)
            chosen = Signal(len(places), name=f"chosen_{g}")
            passed = Signal(len(places), name=f"passed_{g}")
            mask, skip = self.mask[g :: self.groups], self.skip[g :: self.groups]
            m.d.sync += chosen.eq(_from(mask, start_inner))
            m.d.sync += passed.eq(skip & -skip)
            for place, a, b in zip(places, chosen, passed, strict=True):
                m.d.comb += self.chosen[place].eq(a & chosen_group[g])
                m.d.comb += self.passed[place].eq(b & passed_group[g])

        return m
