"""How many probes of a bad EV were answered."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory

from .links import Operation, OperationKind

__all__ = ["GOOD_ANSWERS", "AnswerCounts"]

#: Answers in a row that bring an ASSUMED_BAD EV back (docs/protocol.md, "EV state machine").
GOOD_ANSWERS = 3


class AnswerCounts(wiring.Component):
    """Count answers of probes per EV of a QP.

    An operation per cycle, those of the same QP 3 cycles apart. One that makes an EV ASSUMED_BAD
    starts its count at zero, so nothing has to be cleared before.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(Operation(config))``
        Operation.
    valid : ``In(1)``
        Three cycles later: it is one.
    count : ``Out(3)``
        Then: how many answers there were before it.
    enough : ``Out(1)``
        Then: with the one that it is, there are enough.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "i": In(Operation(config)),
            "valid": In(1),
            "count": Out(3),
            "enough": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config

        local_bits = index_bits(config.evs_per_plane)
        plane_bits = index_bits(config.lanes) if config.lanes > 1 else 0
        m.submodules.counts = memory = DeepMemory(3, depth=config.qps << plane_bits + local_bits)
        written, fresh = Signal(3), Signal()
        row = Cat(self.i.local, self.i.plane[:plane_bits], self.i.qp)
        m.d.comb += memory.row[0].eq(row)
        m.d.sync += written.eq(memory.write.data)
        m.d.sync += fresh.eq(memory.write.valid & (memory.write.row == memory.row[0]))

        kinds, rows = [self.i.kind], [memory.row[0]]
        for n in range(1, 4):
            kind, place = Signal(OperationKind, name=f"kind_{n}"), Signal(len(row), name=f"row_{n}")
            m.d.sync += [kind.eq(kinds[-1]), place.eq(rows[-1])]
            kinds.append(kind)
            rows.append(place)
        count = Signal(3)
        m.d.sync += count.eq(memory.data[0])
        with m.If(fresh):
            m.d.sync += count.eq(written)
        m.d.sync += self.count.eq(count)
        m.d.sync += self.enough.eq(count >= GOOD_ANSWERS - 1)

        kind = kinds[-1]
        answers = (kind == OperationKind.ANSWERED) | (kind == OperationKind.ANSWERED_MARKED)
        others = (kind == OperationKind.BAD) | (kind == OperationKind.UNANSWERED)
        m.d.comb += [
            memory.write.valid.eq(self.valid & (answers | others)),
            memory.write.row.eq(rows[-1]),
            memory.write.data.eq(Mux(answers & ~self.enough, self.count + 1, 0)),
        ]
        return m
