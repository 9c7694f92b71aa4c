"""States of EVs, for those who watch them. No logic."""

from amaranth.lib import data, enum

from mrcnic.hdl.config import NicConfig

from .sizes import index_bits

__all__ = ["EvAnswer", "EvNews", "EvQuery", "EvStateCode"]


class EvStateCode(enum.Enum, shape=2):
    """State of an EV, as it is told (docs/protocol.md, "EV state machine")."""

    GOOD = 0
    DENIED = 1
    SKIP = 2
    ASSUMED_BAD = 3


class EvNews(data.StructLayout):
    """An EV has changed its state. Between GOOD and SKIP nothing is told: that is daily business.

    Members
    -------
    qp, ev_index : which EV
    old, new : :class:`EvStateCode`
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "qp": index_bits(config.qps),
            "ev_index": index_bits(config.evs),
            "old": EvStateCode,
            "new": EvStateCode,
        })


class EvQuery(data.StructLayout):
    """A question for the state of an EV of a QP.

    Members
    -------
    qp, ev_index : which EV
    """

    def __init__(self, config: NicConfig):
        super().__init__({"qp": index_bits(config.qps), "ev_index": index_bits(config.evs)})


class EvAnswer(data.StructLayout):
    """State of an EV of a QP.

    Members
    -------
    there : 1
        The QP has such an EV; otherwise the rest means nothing.
    state : :class:`EvStateCode`
    active : 1
        Packets take it in turn; otherwise it is a backup, or out of use.
    good_answers : 3
        Of an ASSUMED_BAD one: probes answered in a row.
    """

    def __init__(self):
        super().__init__({"there": 1, "state": EvStateCode, "active": 1, "good_answers": 3})
