"""EV states of a QP in one plane."""

from amaranth.lib import data, enum

from mrcnic.hdl.config import NicConfig

__all__ = ["EvCase", "EvRow", "Tier"]


class EvRow(data.StructLayout):
    """EVs of a QP in one plane, a bit for each.

    An EV that is neither GOOD, SKIP nor ASSUMED_BAD is not there; so a DENIED one would look.
    SKIP EVs are active, ASSUMED_BAD ones are not. Active EVs are what packets take in turn; the
    GOOD ones that are not active are backups.

    Members
    -------
    good, skip, bad : states
    active : in use
    left : active ones whose turn in this rotation is still to come
    vacant : active places that no EV could be found for
    usable, failed : how many are GOOD or SKIP, and ASSUMED_BAD
    """

    def __init__(self, config: NicConfig):
        evs = config.evs_per_plane
        super().__init__({
            **dict.fromkeys(("good", "skip", "bad", "active", "left"), evs),
            **dict.fromkeys(("vacant", "usable", "failed"), range(evs + 1)),
        })


class Tier(enum.Enum, shape=3):
    """Where the EV of a packet comes from, best first."""

    #: GOOD, active, and its turn.
    LEFT = 0
    #: GOOD and active; a new rotation begins.
    FRESH = 1
    #: SKIP.
    SKIPPED = 2
    #: A backup, which becomes active.
    BACKUP = 3
    #: The very one that is to be avoided, because there is no other that is GOOD or SKIP.
    SAME = 4
    #: ASSUMED_BAD: something must be tried.
    FLOOR = 5
    #: The QP has no EV here.
    NONE = 6


class EvCase(data.StructLayout):
    """A row, and what an operation has found there.

    Members
    -------
    row : :class:`EvRow`
    target : EV that the operation is about, as a mask
    tier : :class:`Tier`
        The best that has an EV.
    hit_good, hit_usable, hit_bad, hit_active : 1
        The target is GOOD and active; GOOD or SKIP; ASSUMED_BAD; active.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "row": EvRow(config),
            "target": config.evs_per_plane,
            "tier": Tier,
            "hit_good": 1,
            "hit_usable": 1,
            "hit_bad": 1,
            "hit_active": 1,
        })
