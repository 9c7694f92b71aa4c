"""The cumulative acknowledgement: where the first gap is."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import index_bits

from .arrival_bitmap import ArrivalBitmap, BitmapRow
from .slot import Clear, Outcome, Slot, SlotOp

__all__ = ["Advance", "Passed"]

_GROUP = 8


class Passed(data.StructLayout):
    """PSNs that cack has passed in a step: ``start`` to ``stop - 1`` of a row.

    Members
    -------
    valid : 1
    qp : index of the QP
    start, stop : 6, 7
    last, ack_request : 64
        Of the whole row.
    nak : 1
        The QP has failed, and cack will not move any more: its NAK is due.
    expected : 24
        First PSN that cack has not passed.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "valid": 1,
            "qp": index_bits(config.qps),
            "start": 6,
            "stop": 7,
            "last": 64,
            "ack_request": 64,
            "nak": 1,
            "expected": 24,
        })


class Advance(wiring.Component):
    """Step cack over what has arrived, for each slot up to the end of a bitmap row.

    What is kept is the PSN expected next, cack + 1. A slot moves it by at most 64; if it stops at
    the end of a row and more has been received, the QP is visited again in the background. So is a
    QP that is to send a NAK: that is due when cack has passed all that it ever will.

    A slot takes three cycles. The new value can be read a cycle after the slot has moved on, and
    a slot always sees what the one before it did.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    bitmap : :class:`ArrivalBitmap`
        Whose rows these are.
    readers : :class:`int`
        How many others read.

    Members
    -------
    phase : ``In(2)``
    i, i_outcome : ``In(Slot(config))``, ``In(Outcome())``
        Slot and outcome, from phase 1 on.
    o, o_outcome : ``Out(Slot(config))``, ``Out(Outcome())``
        The same, three cycles later.
    read_address, row : towards the bitmap: asked in phase 2, answered in phase 0
    passed : ``Out(Passed(config))``
        What the slot at ``o`` has passed, from phase 2 on.
    again : ``Out(StructLayout({"valid": 1, "index": ...}))``
        QP to be visited again.
    ask, expected : ``array(readers)``
        PSN that a QP expects, a cycle after it was asked for.
    clear : ``In(Clear(config))``
    """

    def __init__(self, config: NicConfig, *, bitmap: ArrivalBitmap, readers: int):
        self.config = config
        self.bitmap = bitmap
        self.readers = readers
        qp_bits = index_bits(config.qps)
        super().__init__({
            "phase": In(2),
            "i": In(Slot(config)),
            "i_outcome": In(Outcome()),
            "o": Out(Slot(config)),
            "o_outcome": Out(Outcome()),
            "read_address": Out(bitmap.address_bits),
            "row": In(BitmapRow()),
            "passed": Out(Passed(config)),
            "again": Out(data.StructLayout({"valid": 1, "index": qp_bits})),
            "ask": In(qp_bits).array(readers),
            "expected": Out(24).array(readers),
            "clear": In(Clear(config)),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.psns = psns = Memory(shape=24, depth=self.config.qps, init=[])
        write = psns.write_port()
        read = psns.read_port(transparent_for=[write])
        m.d.comb += read.addr.eq(self.i.qp)
        for ask, expected in zip(self.ask, self.expected, strict=True):
            port = psns.read_port()
            m.d.comb += [port.addr.eq(ask), expected.eq(port.data)]

        # Phase 2: which row the expected PSN is in.
        expected = Signal(24)
        m.d.comb += self.read_address.eq(self.bitmap.row_address(self.i.qp, read.data))
        with m.If(self.phase == 2):
            m.d.sync += expected.eq(read.data)

        # Phase 0: the first gap of each group of eight.
        lap = self.bitmap.lap(expected)
        filled = (self.row.marks ^ lap.replicate(64)) | ((1 << expected[:6]) - 1)[:64]
        whole = Signal(64 // _GROUP)
        gaps = Signal(data.ArrayLayout(3, 64 // _GROUP))
        base, above = Signal(18), Signal(18)
        arrived = Signal()
        with m.If(self.phase == 0):
            m.d.sync += [
                arrived.eq((self.row.marks >> expected[:6])[0] ^ lap),
                self.o.eq(self.i),
                self.o_outcome.eq(self.i_outcome),
                base.eq(expected[6:]),
                above.eq(expected[6:] + 1),
                self.passed.qp.eq(self.i.qp),
                self.passed.start.eq(expected[:6]),
                self.passed.last.eq(self.row.last),
                self.passed.ack_request.eq(self.row.ack_request),
            ]
            for n in range(64 // _GROUP):
                group = filled[n * _GROUP :][:_GROUP]
                m.d.sync += whole[n].eq(group.all())
                for bit in reversed(range(_GROUP)):
                    with m.If(~group[bit]):
                        m.d.sync += gaps[n].eq(bit)

        # Phase 1: the first gap of all.
        stop = Signal(7, init=64)
        for n in reversed(range(64 // _GROUP)):
            with m.If(~whole[n]):
                m.d.comb += stop.eq(Cat(gaps[n], Const(n, 3)))
        following = Signal(24)
        with m.If(stop[6]):
            m.d.comb += following.eq(above << 6)
        with m.Else():
            m.d.comb += following.eq(Cat(stop[:6], base))
        moves = self.o.valid & self.o_outcome.known & arrived
        received = self.o_outcome.state.following
        more = (self.o.op == SlotOp.ADVANCE) | (received != (above << 6)[:24])
        decided = self.phase == 1
        goes_on = moves & whole.all() & more
        visits = self.o.valid & (self.o.op == SlotOp.ADVANCE)
        m.d.comb += [
            write.en.eq(decided & moves),
            write.addr.eq(self.o.qp),
            write.data.eq(following),
            self.again.valid.eq(decided & (goes_on | (self.o.valid & self.o_outcome.nak))),
            self.again.index.eq(self.o.qp),
        ]
        with m.If(decided):
            m.d.sync += [
                self.passed.valid.eq(moves),
                self.passed.nak.eq(visits & self.o_outcome.failed & ~goes_on),
                self.passed.stop.eq(stop),
                self.passed.expected.eq(following),
            ]

        with m.If(self.clear.valid):
            m.d.comb += [
                write.en.eq(1),
                write.addr.eq(self.clear.qp),
                write.data.eq(self.clear.psn),
            ]

        return m
