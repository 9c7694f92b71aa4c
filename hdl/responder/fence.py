"""Order towards the host: what must wait until payload is in memory."""

from operator import index

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.inwards import ReceiveCompletion
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.wire.serial import ahead

from .arrival import Failure
from .slot import TICKET_BITS

__all__ = ["Fence", "FenceCounts", "FenceEvent"]


class FenceEvent(data.StructLayout):
    """Something that is true once some writes are in memory.

    Members
    -------
    qp : index of the QP
    with_immediate, immediate, octets : an immediate is to be delivered, and which
    acknowledge, msn : so many messages are to be acknowledged
    nak : the QP has failed, and its peer is to be told
    tickets : one per lane
        Writes that must be in memory.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "qp": index_bits(config.qps),
            "with_immediate": 1,
            "immediate": 32,
            "octets": 32,
            "acknowledge": 1,
            "msn": 24,
            "nak": 1,
            "tickets": data.ArrayLayout(TICKET_BITS, config.lanes),
        })


class FenceCounts(data.StructLayout):
    """Events that were dropped because one of their writes may have been refused."""

    def __init__(self):
        super().__init__({"rx_message_lost": 1})


class Fence(wiring.Component):
    """Hold events back until the writes that they depend on are in memory; release them in order.

    When the fence is full, ``i`` waits. What it waits for never depends on it: writes that were
    issued are carried out whatever happens here. Only an immediate that the host does not take
    stops it for good.

    An event leaves at the earliest 3 cycles after it came, and one leaves every other cycle.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    depth : :class:`int`
        Events that may wait, at least 2.

    Members
    -------
    i : ``In(stream.Signature(FenceEvent(config)))``
        Events.
    retired : ``In(TICKET_BITS).array(lanes)``
        Writes in memory, per lane.
    hold : ``In(1)``
        Release nothing: a write was refused, and its QP is not yet marked.
    failure_qp, failure : ``Out``, ``In(Failure())``
        Whether a QP has failed, a cycle after it was asked for.
    o : ``Out(stream.Signature(ReceiveCompletion(config)))``
        Immediates.
    acknowledge, msn : ``Out(StructLayout({"valid": 1, "index": ...}))``, ``Out(24)``
        Messages of a QP to be acknowledged.
    nak : ``Out(StructLayout({"valid": 1, "index": ...}))``
        QP whose peer is to be told that it has failed: nothing more of it will be acknowledged.
    idle : ``Out(1)``
        Nothing waits, but perhaps an immediate that was released.
    events : ``rx_message_lost``
        An event was dropped because one of its writes may have been refused.

    Raises
    ------
    ValueError
        If ``depth`` is below 2.
    """

    def __init__(self, config: NicConfig, *, depth: int = 128):
        self.config = config
        self.depth = index(depth)
        if self.depth < 2:
            raise ValueError(f"depth must be at least 2, not {depth}")
        qp_bits = index_bits(config.qps)
        super().__init__({
            "i": In(stream.Signature(FenceEvent(config))),
            "retired": In(TICKET_BITS).array(config.lanes),
            "hold": In(1),
            "failure_qp": Out(qp_bits),
            "failure": In(Failure()),
            "o": Out(stream.Signature(ReceiveCompletion(config))),
            "acknowledge": Out(data.StructLayout({"valid": 1, "index": qp_bits})),
            "msn": Out(24),
            "nak": Out(data.StructLayout({"valid": 1, "index": qp_bits})),
            "idle": Out(1),
            "events": Out(FenceCounts()),
        })

    def elaborate(self, platform):
        m = Module()

        layout = FenceEvent(self.config)
        m.submodules.queue = queue = SyncFIFOBuffered(width=layout.size, depth=self.depth)
        head = data.View(layout, queue.r_data)
        m.d.comb += [
            queue.w_data.eq(self.i.payload),
            queue.w_en.eq(self.i.valid),
            self.i.ready.eq(queue.w_rdy),
            self.idle.eq(queue.level == 0),
            self.failure_qp.eq(head.qp),
        ]

        # The head is compared in the cycle before it may leave.
        compared = Signal()
        done = Signal(self.config.lanes)
        m.d.sync += compared.eq(queue.r_rdy & ~queue.r_en)
        for lane, retired in enumerate(self.retired):
            m.d.sync += done[lane].eq(ahead(retired, head.tickets[lane]) >= 0)

        o_free = ~self.o.valid | self.o.ready
        lost = self.failure.poisoned
        m.d.comb += queue.r_en.eq(
            compared & done.all() & ~self.hold & (o_free | ~head.with_immediate)
        )
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(queue.r_en), m.If(head.with_immediate & ~lost):
            m.d.sync += [
                self.o.valid.eq(1),
                self.o.p.qp.eq(head.qp),
                self.o.p.immediate.eq(head.immediate),
                self.o.p.octets.eq(head.octets),
            ]
        m.d.comb += [
            self.acknowledge.valid.eq(queue.r_en & (head.acknowledge | head.nak) & ~lost),
            self.nak.valid.eq(queue.r_en & head.nak),
            self.nak.index.eq(head.qp),
            self.acknowledge.index.eq(head.qp),
            self.msn.eq(head.msn),
            self.events.rx_message_lost.eq(
                queue.r_en & lost & (head.acknowledge | head.with_immediate)
            ),
        ]

        return m
