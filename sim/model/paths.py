"""EV states of a QP in one plane (docs/protocol.md, "EV state machine")."""

from collections.abc import Iterable, Sequence, Set
from enum import Enum

__all__ = ["GOOD_ANSWERS", "EvState", "Paths"]

#: Answers in a row that bring an ASSUMED_BAD EV back.
GOOD_ANSWERS = 3


class EvState(Enum):
    """What is thought of an EV."""

    GOOD = 0
    DENIED = 1
    SKIP = 2
    ASSUMED_BAD = 3


class Paths:
    """EVs of a QP in one plane: their states, which are in use, and whose turn it is.

    Active EVs are what packets take in turn, each once in a rotation; they are GOOD or SKIP. The
    other GOOD ones are backups. An order, which is new for each packet, is a sequence of groups
    of EVs: the search goes from group to group, and takes the first EV of a group that will do.

    Parameters
    ----------
    evs : iterable of :class:`int`
        All EVs of the plane.
    active : iterable of :class:`int`
        Those in use at first.
    least : :class:`int`
        A backup becomes active when fewer of the active EVs than these are GOOD.
    """

    def __init__(self, evs: Iterable[int], active: Iterable[int], *, least: int = 0):
        self.state = dict.fromkeys(evs, EvState.GOOD)
        self.active = set(active)
        self.places = len(self.active)
        self.least = least
        self.left = set(self.active)
        #: ASSUMED_BAD ones that failed, or were tried, in an earlier round than the others.
        self.old: set[int] = set()
        self.answers: dict[int, int] = {}

    def having(self, *states: EvState) -> set[int]:
        """Return the EVs that are in one of some states."""
        return {ev for ev, state in self.state.items() if state in states}

    @property
    def usable(self) -> set[int]:
        """EVs that are GOOD or SKIP."""
        return self.having(EvState.GOOD, EvState.SKIP)

    @property
    def bad(self) -> set[int]:
        """EVs that are ASSUMED_BAD."""
        return self.having(EvState.ASSUMED_BAD)

    @property
    def ready(self) -> set[int]:
        """Active EVs that are GOOD."""
        return self.active & self.having(EvState.GOOD)

    def pick(
        self,
        order: Sequence[Sequence[int]],
        *,
        avoid: int | None = None,
        masked: Set[int] = frozenset(),
    ) -> int | None:
        """Return the EV for a packet, or None if there is none at all.

        Parameters
        ----------
        order : sequence of sequences of :class:`int`
            See above.
        avoid : :class:`int`, optional
            EV that is taken only if no other is usable, or else ASSUMED_BAD.
        masked : set of :class:`int`
            EVs whose links seem dead: they are taken only if no other is usable, and stay as they
            are then.
        """
        skipped = self.having(EvState.SKIP)
        barred = {avoid} | masked
        if (ev := _first(order, self.left & self.ready - barred)) is not None:
            self._pass_over(order, before=ev)
            self.left.discard(ev)
        elif (ev := _first(order, self.ready - barred)) is not None:
            self._pass_over(order)  # one that was left when the rotation ended had its turn, too
            self.left = self.active - {ev}
        elif (ev := _first(order, skipped - barred)) is not None:
            self.state[ev] = EvState.GOOD
            self.left.discard(ev)
        elif (ev := _first(order, self._backups() - barred)) is not None:
            self.active.add(ev)
        elif avoid in self.usable - masked:
            ev = avoid
        elif (ev := _first(order, self.usable & masked - {avoid})) is not None:
            pass
        elif avoid in self.usable:
            ev = avoid
        elif (ev := _first(order, self.old - {avoid})) is not None:
            self.old.discard(ev)
        elif (ev := _first(order, self.bad - {avoid})) is not None:
            self.old = self.bad - {ev}
        elif avoid in self.bad:
            ev = avoid
        return ev

    def mark(self, ev: int, order: Sequence[Sequence[int]]):
        """Note that congestion was met on ``ev``. A backup has no turn that it could lose."""
        if ev in self.ready:
            self.state[ev] = EvState.SKIP
            if len(self.ready) < self.least:
                self._promote(order)

    def blame(self, ev: int, order: Sequence[Sequence[int]]) -> bool:
        """Note that a packet was lost on ``ev``; return whether that takes it out of use."""
        self.answers[ev] = 0
        if ev not in self.usable:
            return False
        if not self.old:
            self.old = self.bad
        self._leave(ev, EvState.ASSUMED_BAD, order)
        return True

    def answer(self, ev: int, *, marked: bool = False):
        """Note that a probe of ``ev`` was answered."""
        self.answers[ev] = self.answers.get(ev, 0) + 1
        if self.answers[ev] < GOOD_ANSWERS:
            return
        self.answers[ev] = 0
        if ev in self.bad:
            self._return(ev, join=marked)
            if marked:
                self.state[ev] = EvState.SKIP

    def miss(self, ev: int):
        """Note that a probe of ``ev`` was not answered."""
        self.answers[ev] = 0

    def deny(self, ev: int, order: Sequence[Sequence[int]]):
        """Take ``ev`` out of use, until it is allowed again."""
        if ev in self.usable | self.bad:
            self._leave(ev, EvState.DENIED, order)

    def allow(self, ev: int):
        """Give back an EV that was denied."""
        if self.state.get(ev) is EvState.DENIED:
            self._return(ev)

    def replace(
        self,
        ev: int,
        order: Sequence[Sequence[int]],
        *,
        there: bool,
        active: bool,
        was_active: bool,
    ):
        """Give ``ev`` another value, or none; its row says whether it is active, and said so."""
        active = there and active
        self.places += active - was_active
        leaves = ev in self.active
        for evs in (self.active, self.left, self.old):
            evs.discard(ev)
        self.state.pop(ev, None)
        if active:
            self.active.add(ev)
            self.left.add(ev)
        elif leaves and len(self.active) < self.places:
            self._promote(order)
        if there:
            self.state[ev] = EvState.GOOD

    def _backups(self):
        return self.having(EvState.GOOD) - self.active

    def _pass_over(self, order, *, before=None):
        """Restore a SKIP EV whose turn comes earlier."""
        waiting = self.left & self.having(EvState.SKIP)
        for group in order:
            if before in group:
                return
            if there := waiting & set(group):
                ev = min(there)
                self.state[ev] = EvState.GOOD
                self.left.discard(ev)
                return

    def _leave(self, ev, state, order):
        """Take an EV out of use; a backup takes its place, if it had one."""
        was_active = ev in self.active
        self.state[ev] = state
        for evs in (self.active, self.left, self.old):
            evs.discard(ev)
        if was_active and (len(self.active) < self.places or len(self.ready) < self.least):
            self._promote(order)

    def _promote(self, order):
        if (ev := _first(order, self._backups())) is not None:
            self.active.add(ev)
            self.left.add(ev)

    def _return(self, ev, *, join=False):
        """Make an EV GOOD again: active if there are too few of them, else a backup."""
        join = join or len(self.active) < self.places or len(self.ready) < self.least
        self.state[ev] = EvState.GOOD
        self.old.discard(ev)
        if join:
            self.active.add(ev)
            self.left.add(ev)


def _first(order, evs):
    """Return the first of ``evs`` in an order, or None."""
    return next((ev for group in order for ev in group if ev in evs), None)
