"""Layouts inside the room."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, enum

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import TxRequest
from mrcnic.hdl.descriptor.sizes import index_bits

__all__ = [
    "Failure",
    "FlagsWrite",
    "Operation",
    "OperationKind",
    "PathEvent",
    "PeerRow",
    "PeerWrite",
    "Placed",
    "PlaneFlags",
    "ProfileRow",
    "join_ev",
    "split_ev",
]


class OperationKind(enum.Enum, shape=3):
    """What is done to the EV states of a (QP, plane)."""

    #: Pick an EV for a packet; the target is to be avoided.
    PICK = 0
    #: The target met congestion.
    SKIP = 1
    #: The target lost a packet.
    BAD = 2
    #: The target has been out of use for long enough.
    RETURN = 3
    #: All EVs are as their profile says.
    START = 4


class Operation(data.StructLayout):
    """An operation on the EV states of a (QP, plane).

    Members
    -------
    kind : :class:`OperationKind`
    qp, plane : which states
    local : EV within the plane
    targeted : 1
        ``local`` means something.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "kind": OperationKind,
            "qp": index_bits(config.qps),
            "plane": index_bits(config.lanes),
            "local": index_bits(config.evs_per_plane),
            "targeted": 1,
        })


class PathEvent(data.StructLayout):
    """News of an EV that has been found to be true."""

    def __init__(self, config: NicConfig):
        super().__init__({
            "qp": index_bits(config.qps),
            "plane": index_bits(config.lanes),
            "local": index_bits(config.evs_per_plane),
            "bad": 1,
        })


class Failure(data.StructLayout):
    """An EV has gone out of use."""

    def __init__(self, config: NicConfig):
        super().__init__({"qp": index_bits(config.qps), "ev_index": index_bits(config.evs)})


class PeerRow(data.StructLayout):
    """Where the packets of a QP go; as in :data:`~mrcnic.hdl.rows.QP_ROW`."""

    def __init__(self, config: NicConfig):
        super().__init__({
            "remote_qpn": 24,
            "destination": 128,
            "srv6": 1,
            "carrier": 128,
            "plane_slots": 6,
            "uplink_slots": 6,
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
    """What the choice of a plane has to know of its EVs; no pick changes any of it.

    Members
    -------
    some, several : 1
        At least one, at least two EVs are GOOD or SKIP.
    bad : 1
        At least one is ASSUMED_BAD.
    """

    def __init__(self):
        super().__init__({"some": 1, "several": 1, "bad": 1})


class FlagsWrite(data.StructLayout):
    """Flags of a (QP, plane) that may have changed."""

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": 1,
            "qp": index_bits(config.qps),
            "plane": index_bits(config.lanes),
            "flags": PlaneFlags(),
        })


class ProfileRow(data.StructLayout):
    """EVs of a profile in one plane.

    Members
    -------
    valid : which there are
    active : which of these are in use at first; the others are backups
    count : how many there are
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": config.evs_per_plane,
            "active": config.evs_per_plane,
            "count": range(config.evs_per_plane + 1),
        })


def split_ev(m: Module, config: NicConfig, ev_index: Value) -> tuple[Signal, Signal]:
    """Return the plane of an EV, and its place there."""
    plane = Signal(range(max(2, config.lanes)))
    local = Signal(index_bits(config.evs_per_plane))
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
