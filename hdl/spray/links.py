"""Layouts inside the room."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, enum

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import LINKS
from mrcnic.hdl.descriptor.outwards import TxRequest
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.wire.layout import HeaderLayout
from mrcnic.hdl.wire.srv6 import CARRIER, USID, USID_SLOTS

from .ev_row import Hits

__all__ = [
    "SITE_BITS",
    "SUSPECTS",
    "Failure",
    "LinkPath",
    "MaskedEvs",
    "MaskedLink",
    "News",
    "Operation",
    "OperationKind",
    "Outcome",
    "PeerRow",
    "PeerWrite",
    "Placed",
    "PlaneFlags",
    "ProfileRow",
    "join_ev",
    "site_of",
    "split_ev",
]


#: Links of each kind that may be under suspicion at a time.
SUSPECTS = LINKS // 2

#: Bits that tell the last switches of paths apart: the index of a uSID.
SITE_BITS = 10


class OperationKind(enum.Enum, shape=4):
    """What is done to the EV states of a QP."""

    #: Pick an EV for a packet; the target is to be avoided.
    PICK = 0
    #: The target met congestion.
    SKIP = 1
    #: The target lost a packet.
    BAD = 2
    #: All EVs are as their profile says.
    START = 3
    #: A probe of the target was answered, without or with a mark, or not in time.
    ANSWERED = 4
    ANSWERED_MARKED = 5
    UNANSWERED = 6
    #: The host takes the target out of use, or gives it back.
    DENY = 7
    ALLOW = 8
    #: The target has another value, or none any more.
    PLACE = 9
    #: Only look at the target.
    QUERY = 10


class Operation(data.StructLayout):
    """An operation on the EV states of a QP.

    Members
    -------
    kind : :class:`OperationKind`
    qp : whose states
    plane, local : the target
    targeted : 1
        There is a target; without one, ``plane`` and ``local`` mean nothing.
    fixed : 1
        Of a PICK: the target itself is the path, and nothing changes.
    there, active, was_active : 1
        Of a PLACE: the target has a value; it is active from the start, as its new row says;
        its old row said so.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "kind": OperationKind,
            "qp": index_bits(config.qps),
            "plane": index_bits(config.lanes),
            "local": index_bits(config.evs_per_plane),
            "targeted": 1,
            "fixed": 1,
            "there": 1,
            "active": 1,
            "was_active": 1,
        })


class LinkPath(data.StructLayout):
    """Links that an EV of a QP takes.

    Members
    -------
    named : 1
        The EV names them; otherwise the rest means nothing.
    uplink : of the first switch
    site : 10
        The last switch, where the path ends.
    peer : row of the remote NIC there
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "named": 1,
            "uplink": index_bits(config.uplinks),
            "site": SITE_BITS,
            "peer": index_bits(config.peers),
        })


class MaskedLink(data.StructLayout):
    """A link that is masked, if ``masked`` is set.

    Members
    -------
    masked : 1
    plane, uplink : where it is
    single, site : 1, 10
        Only paths to this last switch take it.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "masked": 1,
            "plane": index_bits(config.lanes),
            "uplink": index_bits(config.uplinks),
            "single": 1,
            "site": SITE_BITS,
        })


class MaskedEvs(data.StructLayout):
    """EVs of a QP, in one plane, that take a masked link.

    Members
    -------
    evs : a bit for each
    all : 1
        There is no other in this plane.
    """

    def __init__(self, config: NicConfig):
        super().__init__({"evs": config.evs_per_plane, "all": 1})


class News(data.StructLayout):
    """What was learnt of an EV.

    Members
    -------
    operation : :class:`Operation`
        What is to be done about it.
    lost : 1
        A packet was lost on it.
    path : :class:`LinkPath`
        Links that it takes.
    """

    def __init__(self, config: NicConfig):
        super().__init__({"operation": Operation(config), "lost": 1, "path": LinkPath(config)})


class Failure(data.StructLayout):
    """An EV of a QP."""

    def __init__(self, config: NicConfig):
        super().__init__({"qp": index_bits(config.qps), "ev_index": index_bits(config.evs)})


class Outcome(data.StructLayout):
    """An operation has been done.

    Members
    -------
    valid : 1
    operation : :class:`Operation`
    hits : :class:`~.ev_row.Hits`
        What its target was before.
    good_answers : 3
        Probes of the target that had been answered.
    enough : 1
        With this operation, if it tells of an answer, there are enough of them.
    places : how many EVs should be active in the target's plane
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": 1,
            "operation": Operation(config),
            "hits": Hits(),
            "good_answers": 3,
            "enough": 1,
            "places": range(config.evs_per_plane + 1),
        })


class PeerRow(data.StructLayout):
    """Where the packets of a QP go; as in :data:`~mrcnic.hdl.rows.QP_ROW`."""

    def __init__(self, config: NicConfig):
        super().__init__({
            "remote_qpn": 24,
            "ipv4": 1,
            "destination": 128,
            "srv6": 1,
            "carrier": 128,
            "plane_slots": 6,
            "uplink_slots": 6,
            "segments": 4,
            "reduced": 1,
            "route": index_bits(config.routes),
            "profile": index_bits(config.profiles),
        })


class PeerWrite(data.StructLayout):
    """A QP has a peer."""

    def __init__(self, config: NicConfig):
        super().__init__({"valid": 1, "qp": index_bits(config.qps), "row": PeerRow(config)})


class Placed(data.StructLayout):
    """A packet that has a path.

    Members
    -------
    valid : 1
    request : :class:`~mrcnic.hdl.descriptor.outwards.TxRequest`
    plane, ev_index : the path
    none : 1
        The QP has no EV at all on any port that is up.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": 1,
            "request": TxRequest(config),
            "plane": index_bits(config.lanes),
            "ev_index": index_bits(config.evs),
            "none": 1,
        })


class PlaneFlags(data.StructLayout):
    """What the choice of a plane has to know of its EVs.

    Members
    -------
    some, several : 1
        At least one, at least two EVs are GOOD or SKIP.
    bad : 1
        At least one is ASSUMED_BAD.
    """

    def __init__(self):
        super().__init__({"some": 1, "several": 1, "bad": 1})


class ProfileRow(data.StructLayout):
    """EVs of a profile in one plane.

    Members
    -------
    valid : which there are
    active : which of these are in use at first; the others are backups
    count, places : how many there are, and how many of them are active
    least : 8
        GOOD active EVs below which a backup becomes active, whatever ``places`` says.
    """

    def __init__(self, config: NicConfig):
        evs = config.evs_per_plane
        super().__init__({
            "valid": evs,
            "active": evs,
            "count": range(evs + 1),
            "places": range(evs + 1),
            "least": 8,
        })


def site_of(m: Module, row: data.View) -> tuple[Signal, Signal]:
    """Return whether paths of a :class:`PeerRow` name their links, and their last switch.

    That is the switch after the one that takes the uplink.
    """
    named, site = Signal(), Signal(SITE_BITS)
    carrier = data.View(HeaderLayout(CARRIER), row.carrier)
    for n in range(USID_SLOTS - 1):
        with m.If(row.uplink_slots[n]):
            usid = data.View(HeaderLayout(USID), carrier[f"usid_{n + 1}"])
            m.d.comb += [named.eq(row.srv6), site.eq(usid.index)]
    return named, site


def split_ev(m: Module, config: NicConfig, ev_index: Value) -> tuple[Signal, Signal]:
    """Return the plane of an EV, and its place there."""
    plane = Signal(range(max(2, config.lanes)))
    local = Signal(index_bits(config.evs_per_plane))
    if config.evs_per_plane.bit_count() == 1:  # the plane stands in the upper bits
        bits = config.evs_per_plane.bit_length() - 1
        m.d.comb += [local.eq(ev_index[:bits]), plane.eq(ev_index[bits:])]
        return plane, local
    m.d.comb += local.eq(ev_index)
    for p in range(1, config.lanes):
        with m.If(ev_index >= p * config.evs_per_plane):
            m.d.comb += plane.eq(p)
            m.d.comb += local.eq(ev_index - p * config.evs_per_plane)
    return plane, local


def join_ev(m: Module, config: NicConfig, plane: Value, local: Value) -> Signal:
    """Return the index of an EV: the inverse of :func:`split_ev`."""
    ev_index = Signal(index_bits(config.evs))
    m.d.comb += ev_index.eq(local)
    for p in range(1, config.lanes):
        with m.If(plane == p):
            m.d.comb += ev_index.eq(local + p * config.evs_per_plane)
    return ev_index
