"""EV states of a QP in one plane."""

from amaranth.lib import data, enum

from mrcnic.hdl.config import NicConfig

__all__ = ["TIERS", "EvCase", "EvRow", "Hits", "Tier"]


class EvRow(data.StructLayout):
    """EVs of a QP in one plane, a bit for each.

    An EV that is neither GOOD, SKIP, ASSUMED_BAD nor DENIED is not there. Active EVs are what
    packets take in turn; all are GOOD or SKIP, and all SKIP ones are active. The GOOD ones that
    are not active are backups.

    Members
    -------
    good, skip, bad, denied : states
    active : in use
    left : active ones whose turn in this rotation is still to come; of ASSUMED_BAD ones, those
        that failed, or were tried, in an earlier round than the others
    in_use, ready : how many are active; how many of these are GOOD
    usable, failed : how many are GOOD or SKIP, and ASSUMED_BAD
    places, least : how many should be active, and how many of these GOOD
    """

    def __init__(self, config: NicConfig):
        evs = config.evs_per_plane
        counts = ("in_use", "ready", "usable", "failed", "places")
        super().__init__({
            **dict.fromkeys(("good", "skip", "bad", "denied", "active", "left"), evs),
            **dict.fromkeys(counts, range(evs + 1)),
            "least": 8,
        })


class Tier(enum.Enum):
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
    #: ASSUMED_BAD, from an earlier round than others: something must be tried.
    OLD = 5
    #: ASSUMED_BAD; a new round of tries begins.
    FLOOR = 6
    #: GOOD or SKIP, but it takes a link that is masked: for lack of any that does not.
    MASKED = 7


#: How many they are.
TIERS = len(Tier)


class Hits(data.StructLayout):
    """What is known of the target: its state, a bit for each, and whether it is active."""

    def __init__(self):
        super().__init__(dict.fromkeys(("good", "skip", "bad", "denied", "active"), 1))


class EvCase(data.StructLayout):
    """A row, and what an operation has found there.

    Members
    -------
    row : :class:`EvRow`
    target : EV that the operation is about, as a mask
    masked : EVs that a packet should not take, because of their links
    hits : :class:`Hits`
    masks : 1
        The target is among these.
    old, waiting : 1
        An ASSUMED_BAD EV is from an earlier round; a SKIP EV's turn is to come.
    short, full, low, lower : 1
        Fewer are active than should be; no more are; fewer of the active are GOOD than should be;
        no more are.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "row": EvRow(config),
            "target": config.evs_per_plane,
            "masked": config.evs_per_plane,
            "hits": Hits(),
            "masks": 1,
            "old": 1,
            "waiting": 1,
            **dict.fromkeys(("short", "full", "low", "lower"), 1),
        })
