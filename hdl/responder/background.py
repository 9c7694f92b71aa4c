"""Work that is no packet."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.pending_set import PendingSet
from mrcnic.hdl.packet.stream_arbiter import StreamArbiter

from .slot import SlotOp, WorkItem

__all__ = ["Background"]

#: Cycles after which a failure that was taken has left its mark.
_SETTLE = 15


class Background(wiring.Component):
    """Collect work for QPs, each kind once per QP however often it is asked for; offer it in turn.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    advance, flush, remain : ``In(StructLayout({"valid": 1, "index": ...}))``
        QP that needs it.
    fail : ``In(StructLayout({"valid": 1, "index": ...})).array(lanes)``
        QPs whose write was refused.
    o : ``Out(stream.Signature(WorkItem(config)))``
        Work. Failures go first.
    failing : ``Out(1)``
        A refused write has not yet left its mark on its QP.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        wanted = data.StructLayout({"valid": 1, "index": index_bits(config.qps)})
        super().__init__({
            "advance": In(wanted),
            "flush": In(wanted),
            "remain": In(wanted),
            "fail": In(wanted).array(config.lanes),
            "o": Out(stream.Signature(WorkItem(config))),
            "failing": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        shape = WorkItem(self.config)
        m.submodules.fair = fair = StreamArbiter(shape, inputs=3)
        m.submodules.urgent = urgent = StreamArbiter(shape, inputs=2, priority=True)

        def collect(name, op, adds, to):
            waiting = PendingSet(count=self.config.qps, adders=len(adds))
            m.submodules[name] = waiting
            for add, wanted in zip(waiting.add, adds, strict=True):
                m.d.comb += add.eq(wanted)
            m.d.comb += [
                to.valid.eq(waiting.o.valid),
                waiting.o.ready.eq(to.ready),
                to.p.op.eq(op),
                to.p.qp.eq(waiting.o.payload),
            ]
            return waiting

        failures = collect("failures", SlotOp.FAIL, list(self.fail), urgent.i[0])
        collect("advances", SlotOp.ADVANCE, [self.advance], fair.i[0])
        collect("flushes", SlotOp.FLUSH, [self.flush], fair.i[1])
        collect("remains", SlotOp.REMAIN, [self.remain], fair.i[2])
        wiring.connect(m, fair.o, urgent.i[1])
        wiring.connect(m, urgent.o, wiring.flipped(self.o))

        left = Signal(range(_SETTLE + 1))
        refused = Signal()
        offered = self.o.valid & (self.o.p.op == SlotOp.FAIL)
        m.d.comb += [
            refused.eq(
                failures.o.valid | offered | sum((fail.valid for fail in self.fail), start=0).any()
            ),
            self.failing.eq(left != 0),
        ]
        with m.If(refused):
            m.d.sync += left.eq(_SETTLE)
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)

        return m
