"""Search in a mask, in constant time."""

from operator import index

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
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


class EvSearch(wiring.Component):
    """Find an EV of a mask, in a pseudo-random order, and a SKIP EV on the way to it.

    The order goes by groups, from a group that ``start`` tells and around, and within the group
    from a place that ``start`` tells and around. Since the mask tells who is still to come, each
    rotation is a new permutation that nothing has to store. Two levels of search, the inner one
    in all groups at once: the depth is that of a search among 16. Outputs come one cycle after
    the inputs, and some logic after that.

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
        One bit of ``mask``, if there is any.
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

        chosen_group = self._first(m, "chosen_group", self.mask_groups, start_group)
        passed_group = self._first(m, "passed_group", self.skip_groups, start_group)
        first = self._first(m, "group", self.mask_groups | self.skip_groups, start_group)
        mask_groups = Signal(self.groups)
        m.d.sync += mask_groups.eq(self.mask_groups)
        m.d.comb += self.passes.eq((first & ~mask_groups).any())

        for g in range(self.groups):
            places = range(g, self.evs, self.groups)
            mask, skip = self.mask[g :: self.groups], self.skip[g :: self.groups]
            chosen = self._first(m, f"chosen_{g}", mask, start_inner)
            passed = self._first(m, f"passed_{g}", skip, Const(0, 1))
            for place, a, b in zip(places, chosen, passed, strict=True):
                m.d.comb += self.chosen[place].eq(a & chosen_group[g])
                m.d.comb += self.passed[place].eq(b & passed_group[g])

        return m

    @staticmethod
    def _first(m, name, mask, start):
        """Return, a cycle later, the first bit of ``mask`` from ``start`` on, or else of all.

        Which of both it is, is left to the cycle of the result: so neither has to wait for it.
        """
        width = len(mask)
        among, after = Signal(width, name=f"{name}_among"), Signal(width, name=f"{name}_after")
        later, lowest = Signal(width, name=f"{name}_later"), Signal(width, name=f"{name}_lowest")
        found = Signal(name=f"{name}_found")
        m.d.comb += [among.eq(mask), after.eq(among & (-1 << start)[:width])]
        m.d.sync += [later.eq(after & -after), lowest.eq(among & -among), found.eq(after.any())]
        return Mux(found, later, lowest)
