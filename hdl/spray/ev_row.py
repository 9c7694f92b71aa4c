"""EV states of a QP in one plane."""

from amaranth.lib import data, enum

from mrcnic.hdl.config import NicConfig

__all__ = ["EvRow", "Tier"]


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
