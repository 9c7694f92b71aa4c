"""Random histories of EV states, for a bench that does an operation per cycle."""

import random
from collections import defaultdict

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.spray.links import OperationKind
from mrcnic.sim.model.paths import EvState, Paths

__all__ = ["PLANE", "History", "configuration", "search_order"]

#: Plane of the states that are looked at.
PLANE = 1

_QPS = 4

_KINDS = (
    [OperationKind.PICK] * 8
    + [OperationKind.SKIP] * 3
    + [OperationKind.BAD] * 3
    + [OperationKind.ANSWERED] * 3
    + [OperationKind.QUERY] * 2
    + [
        OperationKind.ANSWERED_MARKED, OperationKind.UNANSWERED, OperationKind.DENY,
        OperationKind.ALLOW, OperationKind.PLACE,
    ]
)  # fmt: skip

_HITS = {
    EvState.GOOD: "good",
    EvState.SKIP: "skip",
    EvState.ASSUMED_BAD: "bad",
    EvState.DENIED: "denied",
}


def configuration(evs):
    """Return sizes for ``evs`` EVs per plane."""
    return NicConfig(
        lanes=2, evs=2 * evs, qps=_QPS, profiles=2, slots=16, window=128, beat_octets=8
    )


def search_order(evs, chance):
    """Return the order in which gateware looks at EVs, by groups."""
    bits = max(1, (evs - 1).bit_length()) // 2
    groups = 1 << bits
    size = -(-evs // groups)
    inner = chance >> bits & (1 << max(1, (size - 1).bit_length())) - 1
    return [
        sorted(
            range((start + chance) % groups, evs, groups), key=lambda ev: (ev // groups < inner, ev)
        )
        for start in range(groups)
    ]


def _mask(evs):
    return sum(1 << ev for ev in evs)


class History:
    """What to do in each cycle, and what is to be seen then.

    Parameters
    ----------
    evs : EVs of the plane
    seed : of everything that is random
    length : operations of a QP before it starts anew
    """

    def __init__(self, evs, *, seed, length):
        self.evs = evs
        self.rng = random.Random(seed)
        self.length = length
        self.sequences = 0
        self.cycle = 0
        self.inputs = defaultdict(dict)  # by cycle
        self.expected = defaultdict(dict)
        self._paths = {}
        self._done = dict.fromkeys(range(_QPS), length)
        self._active_rows = {}
        self._last = dict.fromkeys(range(_QPS), -3)

    def step(self):
        """Return what to put in in the next cycle, and what is to come out of it."""
        rng = self.rng
        qp = rng.choice([qp for qp, last in self._last.items() if self.cycle - last >= 3])
        if rng.random() < 0.9:
            self._last[qp] = self.cycle
            if self._done[qp] >= self.length:
                self._start(qp)
            else:
                self._done[qp] += 1
                self._operate(qp)
        inputs, expected = self.inputs.pop(self.cycle, {}), self.expected.pop(self.cycle, {})
        self.cycle += 1
        return inputs, expected

    def _give(self, qp, kind, **values):
        self.inputs[self.cycle]["i"] = {"qp": qp, "kind": kind, "plane": PLANE} | values

    def _start(self, qp):
        evs = range(self.evs)
        valid = {ev for ev in evs if self.rng.random() < 0.8}
        active = {ev for ev in valid if self.rng.random() < 0.6}
        least = self.rng.choice([0, 0, 1, 2, self.evs])
        self._paths[qp] = Paths(valid, active, least=least)
        self._active_rows[qp] = set(active)
        self._done[qp] = 0
        self.sequences += 1
        self._give(qp, OperationKind.START)
        self.inputs[self.cycle + 3]["profile"] = {
            "valid": _mask(valid),
            "active": _mask(active),
            "count": len(valid),
            "places": len(active),
            "least": least,
        }

    def _operate(self, qp):
        rng, paths = self.rng, self._paths[qp]
        kind = rng.choice(_KINDS)
        chance = rng.getrandbits(16)
        ev = rng.randrange(self.evs)
        order = search_order(self.evs, chance)
        self.inputs[self.cycle + 1]["chance"] = chance
        usable, bad = len(paths.usable), len(paths.bad)
        masked = set()
        if rng.random() < 0.3:
            masked = {ev for ev in range(self.evs) if rng.random() < rng.choice([0.3, 0.8, 1])}
        everything = len(masked) == self.evs
        dark = everything and kind == OperationKind.PICK
        self.inputs[self.cycle + 1]["masked"] = {"evs": _mask(masked), "all": everything}
        self.expected[self.cycle + 1]["flags"] = (
            usable > 0 and not dark, usable > 1, bad > 0 or (usable > 0 and dark)
        )  # fmt: skip
        late = self.expected[self.cycle + 3]
        state, was_active = paths.state.get(ev), ev in paths.active
        if kind == OperationKind.PICK:
            self._pick(qp, None if rng.random() < 0.7 else ev, order, masked)
            return
        late["hits"] = _HITS.get(state), was_active
        operation = {"local": ev, "targeted": 1}
        if rng.random() < 0.1:  # it means another plane
            self._give(qp, kind, **operation | {"plane": 1 - PLANE})
            late["hits"] = None, False
            return
        match kind:
            case OperationKind.SKIP:
                paths.mark(ev, order)
            case OperationKind.BAD:
                paths.blame(ev, order)
            case OperationKind.ANSWERED | OperationKind.ANSWERED_MARKED:
                self.inputs[self.cycle + 3]["enough"] = paths.answers.get(ev, 0) == 2
                paths.answer(ev, marked=kind == OperationKind.ANSWERED_MARKED)
            case OperationKind.UNANSWERED:
                paths.miss(ev)
            case OperationKind.DENY:
                paths.deny(ev, order)
            case OperationKind.ALLOW:
                paths.allow(ev)
            case OperationKind.PLACE:
                rows = self._active_rows[qp]
                row = {"there": rng.random() < 0.8, "active": rng.random() < 0.5}
                row["was_active"] = ev in rows
                paths.replace(ev, order, **row)
                rows.discard(ev)
                if row["there"] and row["active"]:
                    rows.add(ev)
                operation |= row
        self._give(qp, kind, **operation)

    def _pick(self, qp, avoid, order, masked):
        paths = self._paths[qp]
        loses = self.rng.random() < 0.2  # another plane is taken
        fixed = avoid is not None and self.rng.random() < 0.3
        self._give(
            qp, OperationKind.PICK, local=avoid or 0, targeted=avoid is not None, fixed=fixed
        )
        self.inputs[self.cycle + 3]["wins"] = not loses
        if not loses:
            ev = avoid if fixed else paths.pick(order, avoid=avoid, masked=masked)
            self.expected[self.cycle + 4]["local"] = ev or 0
