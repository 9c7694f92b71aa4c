"""Which operation begins next."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import TxRequest
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory

from .links import Operation, OperationKind, split_ev

__all__ = ["Turnstile", "Waiting"]

#: Packets that may wait for room. No more than four can ever have begun before the first of them
#: is found to have none.
_WAITING = 8

#: Tries of a packet whose path is fixed, before it is dropped.
_TRIES = 255


class Waiting(data.StructLayout):
    """A packet that has no path yet.

    Members
    -------
    request : :class:`~mrcnic.hdl.descriptor.outwards.TxRequest`
    peer : row of the remote NIC
    plane, local : ``request.avoid_ev``, taken apart
    tries : how often it was in vain
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "request": TxRequest(config),
            "peer": index_bits(config.peers),
            "plane": index_bits(config.lanes),
            "local": index_bits(config.evs_per_plane),
            "tries": range(_TRIES + 1),
        })


class Turnstile(wiring.Component):
    """Let an operation begin in each cycle, and those on the same QP 3 cycles apart.

    Packets and other operations take turns if both could begin. A packet begins in the cycle
    after it was taken, at the earliest. Packets that come back go before new ones.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(TxRequest(config)))``, with ``enable : In(1)``
        Packets; none is taken without ``enable``.
    others : ``In(stream.Signature(Operation(config)))``
        Other operations.
    peer_valid, peer_qp, peer : ``In``
        Row of the remote NIC, for a QP.
    valid, operation : ``Out(1)``, ``Out(Operation(config))``
        What begins.
    packet : ``Out(Waiting(config))``
        The packet, if it is a PICK.
    again, again_packet : ``In(1)``, ``In(Waiting(config))``
        A packet that began 3 cycles ago has found no room.
    dropped : ``Out(1)``
        It was dropped: its path is fixed, and has had no room for long.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(TxRequest(config))),
            "enable": In(1),
            "others": In(stream.Signature(Operation(config))),
            "peer_valid": In(1),
            "peer_qp": In(index_bits(config.qps)),
            "peer": In(index_bits(config.peers)),
            "valid": Out(1),
            "operation": Out(Operation(config)),
            "packet": Out(Waiting(config)),
            "again": In(1),
            "again_packet": In(Waiting(config)),
            "dropped": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        # The newest packet; its peer comes in the cycle in which it is here.
        head = Signal(TxRequest(config))
        head_valid = Signal()
        head_leaves = Signal()
        m.submodules.peers = peers = DeepMemory(index_bits(config.peers), depth=config.qps)
        m.d.comb += [
            self.i.ready.eq(self.enable & (~head_valid | head_leaves)),
            peers.write.valid.eq(self.peer_valid),
            peers.write.row.eq(self.peer_qp),
            peers.write.data.eq(self.peer),
            peers.row[0].eq(self.i.payload.qp),
            peers.enable[0].eq(self.i.ready),
        ]
        with m.If(self.i.ready):
            m.d.sync += [head.eq(self.i.payload), head_valid.eq(self.i.valid)]

        # Those that have found no room.
        width = Waiting(config).size
        m.submodules.waiting = waiting = SyncFIFOBuffered(width=width, depth=_WAITING)
        back = Signal(Waiting(config))
        given_up = self.again_packet.request.fixed & (self.again_packet.tries == _TRIES)
        m.d.comb += [
            back.eq(self.again_packet),
            back.tries.eq(self.again_packet.tries + (self.again_packet.tries != _TRIES)),
            waiting.w_data.eq(back),
            waiting.w_en.eq(self.again & ~given_up),
            self.dropped.eq(self.again & given_up),
        ]

        # A packet that could begin.
        packet = Signal(Waiting(config))
        plane, local = split_ev(m, config, head.avoid_ev)
        with m.If(waiting.r_rdy):
            m.d.comb += packet.eq(waiting.r_data)
        with m.Else():
            m.d.comb += [packet.request.eq(head), packet.peer.eq(peers.data[0])]
            m.d.comb += [packet.plane.eq(plane), packet.local.eq(local)]
        pick = Signal(Operation(config))
        request = packet.request
        m.d.comb += [
            pick.kind.eq(OperationKind.PICK),
            pick.qp.eq(request.qp),
            pick.plane.eq(packet.plane),
            pick.local.eq(packet.local),
            pick.targeted.eq(request.avoid | request.fixed),
            pick.fixed.eq(request.fixed),
        ]

        # Whose turn it is, among those whose QP has nothing under way.
        busy = []
        for n in range(2):
            entry = Signal(data.StructLayout({"valid": 1, "qp": len(head.qp)}), name=f"busy_{n}")
            busy.append(entry)
        m.d.sync += [busy[0].valid.eq(self.valid), busy[0].qp.eq(self.operation.qp)]
        m.d.sync += busy[1].eq(busy[0])

        def idle(qp):
            return ~((busy[0].valid & (busy[0].qp == qp)) | (busy[1].valid & (busy[1].qp == qp)))

        packet_may, other_may = Signal(), Signal()
        packet_waits = waiting.r_rdy | (head_valid & (waiting.level == 0))
        other = Signal()
        others_turn = Signal()
        m.d.comb += [
            packet_may.eq(packet_waits & idle(packet.request.qp)),
            other_may.eq(self.others.valid & idle(self.others.payload.qp)),
            other.eq(other_may & (others_turn | ~packet_may)),
            self.others.ready.eq(other),
            self.valid.eq(packet_may | other_may),
            self.operation.eq(Mux(other, self.others.payload.as_value(), pick.as_value())),
            self.packet.eq(packet),
            waiting.r_en.eq(packet_may & ~other),
            head_leaves.eq(packet_may & ~other & ~waiting.r_rdy),
        ]
        with m.If(self.valid):
            m.d.sync += others_turn.eq(~other)

        return m
