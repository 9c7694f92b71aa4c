"""From a path to a descriptor in a lane."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import TxDescriptor
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory
from mrcnic.hdl.wire.usid_expander import UsidExpander

from .lane_queue import LaneQueue
from .links import PeerRow, PeerWrite, Placed
from .scheduler import CREDITS

__all__ = ["Dispatcher"]


class Dispatcher(wiring.Component):
    """Add EV value, peer and carrier to packets that have a path, and queue them for their lanes.

    A packet reaches its lane 2 cycles after ``placed``, if those before it have been taken; one
    per cycle passes. The number of packets in each queue is for the scheduler to limit.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    placed : ``In(Placed(config))``
        Packets. ``request.qp`` has to be there a cycle before
        ``valid``, as ``qp``.
    qp : ``In``
        QP of the packet that is placed in the next cycle.
    peer_write : ``In(PeerWrite(config))``
        Peers of QPs.
    profile, ev_index, ev : ``Out``, ``Out``, ``In(32)``
        Read port of the EV table; the value comes a cycle later.
    o : ``Out(stream.Signature(TxDescriptor(config))).array(lanes)``
        Descriptors for the lanes.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "placed": In(Placed(config)),
            "qp": In(index_bits(config.qps)),
            "peer_write": In(PeerWrite(config)),
            "profile": Out(index_bits(config.profiles)),
            "ev_index": Out(index_bits(config.evs)),
            "ev": In(32),
            "o": Out(stream.Signature(TxDescriptor(config))).array(config.lanes),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        m.submodules.peers = peers = DeepMemory(PeerRow(config), depth=config.qps)
        m.d.comb += [
            peers.write.valid.eq(self.peer_write.valid),
            peers.write.row.eq(self.peer_write.qp),
            peers.write.data.eq(self.peer_write.row),
            peers.row[0].eq(self.qp),
            self.profile.eq(peers.data[0].profile),
            self.ev_index.eq(self.placed.ev_index),
        ]

        # The value of the EV comes a cycle after the peer.
        placed = Signal(Placed(config))
        peer = Signal(PeerRow(config))
        m.d.sync += placed.eq(self.placed)
        m.d.sync += peer.eq(peers.data[0])

        m.submodules.expander = expander = UsidExpander()
        m.d.comb += [
            expander.template.eq(peer.carrier),
            expander.plane_slots.eq(peer.plane_slots),
            expander.uplink_slots.eq(peer.uplink_slots),
            expander.ev.eq(self.ev),
        ]
        descriptor = Signal(TxDescriptor(config))
        for name in (
            "opcode", "psn", "ack_request", "retransmission", "role", "body", "slot", "octets",
        ):  # fmt: skip
            m.d.comb += descriptor[name].eq(placed.request[name])
        for name in ("ipv4", "destination", "srv6", "segments", "reduced", "route"):
            m.d.comb += descriptor[name].eq(peer[name])
        m.d.comb += [
            descriptor.dqp.eq(peer.remote_qpn),
            descriptor.ev.eq(self.ev),
            descriptor.carrier.eq(expander.carrier),
        ]

        for p in range(config.lanes):
            m.submodules[f"queue_{p}"] = queue = LaneQueue(TxDescriptor(config), depth=CREDITS)
            m.d.comb += queue.i.eq(descriptor)
            m.d.comb += queue.valid.eq(placed.valid & (placed.plane == p))
            connect(m, queue.o, flipped(self.o[p]))

        return m
