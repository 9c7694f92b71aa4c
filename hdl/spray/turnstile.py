"""Which operation begins next."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import TxRequest
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory

from .links import Operation, OperationKind, split_ev

__all__ = ["Turnstile", "Waiting"]

#: Packets that may wait for room. No more than five can ever have begun before the first of them
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

    Packets and other operations take turns if both could begin. Each begins two cycles after it
    was taken, at the earliest. Packets that come back go before new ones.

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

        head_leaves, other_leaves = Signal(), Signal()
        head, head_valid, peer = self._head(m, head_leaves)
        other, other_valid = self._other(m, other_leaves)
        waiting = self._waiting(m)

        # Whose turn it is, among those whose QP has nothing under way.
        back = data.View(Waiting(config), waiting.r_data)
        chosen = Signal(Operation(config))
        busy = [
            Signal(data.StructLayout({"valid": 1, "qp": len(head.qp)}), name=f"busy_{n}")
            for n in range(2)
        ]
        begins = Signal()
        m.d.sync += [busy[0].valid.eq(begins), busy[0].qp.eq(chosen.qp), busy[1].eq(busy[0])]

        def idle(qp):
            return ~Cat(last.valid & (last.qp == qp) for last in busy).any()

        back_may, head_may, other_may = Signal(), Signal(), Signal()
        packet_may, other_begins, others_turn = Signal(), Signal(), Signal()
        m.d.comb += [
            back_may.eq(waiting.r_rdy & idle(back.request.qp)),
            head_may.eq(head_valid & (waiting.level == 0) & idle(head.qp)),
            other_may.eq(other_valid & idle(other.qp)),
            packet_may.eq(back_may | head_may),
            other_begins.eq(other_may & (others_turn | ~packet_may)),
            begins.eq(packet_may | other_may),
            other_leaves.eq(other_begins),
            waiting.r_en.eq(back_may & ~other_begins),
            head_leaves.eq(head_may & ~other_begins),
        ]
        with m.If(begins):
            m.d.sync += others_turn.eq(~other_begins)

        # What begins, in the next cycle.
        fresh = Signal(Waiting(config))
        plane, local = split_ev(m, config, head.avoid_ev)
        m.d.comb += [
            fresh.request.eq(head),
            fresh.peer.eq(peer),
            fresh.plane.eq(plane),
            fresh.local.eq(local),
        ]
        packet = Mux(waiting.r_rdy, waiting.r_data, fresh.as_value())
        m.d.comb += chosen.eq(Mux(other_begins, other.as_value(), self._pick(m, packet).as_value()))
        m.d.sync += [self.valid.eq(begins), self.operation.eq(chosen), self.packet.eq(packet)]

        return m

    def _head(self, m, leaves):
        """Return the newest packet, whether there is one, and its peer, which comes with it."""
        head, valid = Signal(TxRequest(self.config)), Signal()
        m.submodules.peers = peers = DeepMemory(
            index_bits(self.config.peers), depth=self.config.qps
        )
        m.d.comb += [
            self.i.ready.eq(self.enable & (~valid | leaves)),
            peers.write.valid.eq(self.peer_valid),
            peers.write.row.eq(self.peer_qp),
            peers.write.data.eq(self.peer),
            peers.row[0].eq(self.i.payload.qp),
            peers.enable[0].eq(self.i.ready),
        ]
        with m.If(self.i.ready):
            m.d.sync += [head.eq(self.i.payload), valid.eq(self.i.valid)]
        return head, valid, peers.data[0]

    def _other(self, m, leaves):
        """Return another operation, and whether there is one."""
        other, valid = Signal(Operation(self.config)), Signal()
        m.d.comb += self.others.ready.eq(~valid)
        with m.If(~valid):
            m.d.sync += [other.eq(self.others.payload), valid.eq(self.others.valid)]
        with m.Elif(leaves):
            m.d.sync += valid.eq(0)
        return other, valid

    def _waiting(self, m):
        """Return the queue of packets that have found no room."""
        width = Waiting(self.config).size
        m.submodules.waiting = waiting = SyncFIFOBuffered(width=width, depth=_WAITING)
        again = Signal(Waiting(self.config))
        given_up = self.again_packet.request.fixed & (self.again_packet.tries == _TRIES)
        m.d.comb += [
            again.eq(self.again_packet),
            again.tries.eq(self.again_packet.tries + (self.again_packet.tries != _TRIES)),
            waiting.w_data.eq(again),
            waiting.w_en.eq(self.again & ~given_up),
            self.dropped.eq(self.again & given_up),
        ]
        return waiting

    def _pick(self, m, packet):
        """Return the operation that finds a path for a packet."""
        pick, whole = Signal(Operation(self.config)), Signal(Waiting(self.config))
        request = whole.request
        m.d.comb += [
            whole.eq(packet),
            pick.kind.eq(OperationKind.PICK),
            pick.qp.eq(request.qp),
            pick.plane.eq(whole.plane),
            pick.local.eq(whole.local),
            pick.targeted.eq(request.avoid | request.fixed),
            pick.fixed.eq(request.fixed),
        ]
        return pick
