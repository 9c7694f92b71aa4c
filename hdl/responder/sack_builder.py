"""SACKs: what has arrived, in 64 bits."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import TxRequest
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.wire.opcodes import Opcode, Role
from mrcnic.hdl.wire.serial import ahead

from .arrival_bitmap import ArrivalBitmap, BitmapRow
from .qp_table import QpRow
from .sack_triggers import Cause, Causes
from .slot import Clear

__all__ = ["SackBuilder"]

_GROUP = 8


class SackBuilder(wiring.Component):
    """Build the SACKs of the QPs for which one is due.

    The bitmap starts at the lowest PSN received and not yet reported, or so much lower that it
    ends at the highest one received, but always above cack (docs/protocol.md, "Responder
    pipeline", base rule). Where it starts next time is kept per QP: behind what was shown, or,
    when all was shown, above cack again.

    A SACK is there 12 cycles after its QP was taken from ``due``, and the next one can be taken
    after 15. It takes 6 to 12 more, and 6 for each bitmap row without news, if the highest PSN is
    more than 63 above the base. The pipeline does not wait for that. The causes and the state that
    are shown belong to one moment; bits may be later.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    bitmap : :class:`ArrivalBitmap`
        Whose rows these are.

    Members
    -------
    phase : ``In(2)``
    due : ``In(stream.Signature(unsigned))``
        QPs for which a SACK is due.
    qp : ``Out``
        QP that is looked at: ``take`` its causes; ``row`` and ``expected`` come a cycle later.
    take, causes : ``Out(1)``, ``In(Causes())``
    qp_row, expected : ``In(QpRow())``, ``In(24)``
        The QP's row, and its cack + 1.
    read_address, bitmap_row : towards the bitmap: asked in phase 0, answered in phase 1
    remain : ``Out(StructLayout({"valid": 1, "index": ...}))``
        QP whose SACK could not show all.
    o : ``Out(stream.Signature(TxRequest(config)))``
        SACKs.
    clear : ``In(Clear(config))``
    """

    def __init__(self, config: NicConfig, *, bitmap: ArrivalBitmap):
        self.config = config
        self.bitmap = bitmap
        qp_bits = index_bits(config.qps)
        super().__init__({
            "phase": In(2),
            "due": In(stream.Signature(qp_bits)),
            "qp": Out(qp_bits),
            "take": Out(1),
            "causes": In(Causes()),
            "qp_row": In(QpRow()),
            "expected": In(24),
            "read_address": Out(bitmap.address_bits),
            "bitmap_row": In(BitmapRow()),
            "remain": Out(data.StructLayout({"valid": 1, "index": qp_bits})),
            "o": Out(stream.Signature(TxRequest(config))),
            "clear": In(Clear(config)),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.unreported = unreported = Memory(shape=24, depth=self.config.qps, init=[])
        write, read = unreported.write_port(), unreported.read_port()
        m.d.comb += read.addr.eq(self.qp)

        causes = Signal(Causes())
        highest = causes.state.highest
        expected = Signal(24)
        lowest = Signal(24)  # not yet reported
        aligned = Signal(24)  # base of a bitmap that ends at the highest PSN
        pointer = Signal(24)  # PSN whose row is read
        base = Signal(24)
        start = Signal(24)  # lowest that may be worth reporting
        low = Signal(64)
        bitmap = Signal(64)
        wide = Signal(64 + _GROUP - 1)

        arrived = self.bitmap_row.marks ^ self.bitmap.lap(pointer).replicate(64)
        m.d.comb += self.read_address.eq(self.bitmap.row_address(self.qp, pointer))
        next_row = ((pointer[6:] + 1)[:18] << 6)[:24]
        rest = ahead(highest, (base + 64)[:24])  # what this SACK does not show

        m.d.comb += [
            write.addr.eq(self.qp),
            write.data.eq(expected),
            self.remain.index.eq(self.qp),
        ]
        with m.If(rest >= 0):
            m.d.comb += write.data.eq(base + 64)

        with m.FSM() as fsm:
            with m.State("IDLE"), m.If(self.due.valid & self.due.ready):
                m.d.sync += self.qp.eq(self.due.payload)
                m.next = "TAKE"
            with m.State("TAKE"), m.If(self.phase == 0):
                m.next = "RANGE"
            with m.State("RANGE"):  # phase 1
                m.d.sync += [
                    causes.eq(self.causes),
                    expected.eq(self.expected),
                    lowest.eq(read.data),
                    aligned.eq(self.causes.state.highest - 63),
                ]
                m.next = "IDLE"
                with m.If(self.causes.write_due | self.causes.probe_due):
                    m.next = "START"
            with m.State("START"):  # phase 2
                m.d.sync += [start.eq(lowest), base.eq(expected), pointer.eq(expected)]
                with m.If((ahead(lowest, expected) < 0) | (ahead(highest, lowest) < 0)):
                    m.d.sync += start.eq(expected)
                with m.If(ahead(aligned, expected) > 0):
                    m.d.sync += [base.eq(aligned), pointer.eq(aligned)]
                m.next = "CHOOSE"
            with m.State("CHOOSE"):  # phase 0: the row of the base is read just in case
                m.next = "LOW"
                with m.If(ahead(highest, start) > 63):
                    m.d.sync += pointer.eq(start)
                    m.next = "SEEK"
            self._scan(m, arrived, pointer, next_row, base, highest)
            with m.State("LOW"):  # phase 1
                m.d.sync += [low.eq(arrived), pointer.eq(next_row)]
                m.next = "HIGH"
            with m.State("HIGH"), m.If(self.phase == 1):
                m.d.sync += wide.eq(Cat(low, arrived) >> (base[3:6] << 3))
                m.next = "SHIFT"
            with m.State("SHIFT"):
                m.d.sync += bitmap.eq(wide >> base[:3])
                m.d.comb += write.en.eq(1)
                m.next = "SEND"
            with m.State("SEND"), m.If(self.o.ready):
                m.d.sync += causes.probe_due.eq(0)
                with m.If(~(causes.probe_due & causes.write_due)):
                    m.next = "IDLE"

        # What follows from the state is assigned, not decided: some simulators would not work it
        # out before the state first changes.
        m.d.comb += [
            self.due.ready.eq(fsm.ongoing("IDLE") & (self.phase == 0)),
            self.take.eq(fsm.ongoing("TAKE")),
            self.remain.valid.eq(fsm.ongoing("SHIFT") & (rest >= 0)),
            self.o.valid.eq(fsm.ongoing("SEND")),
        ]

        with m.If(self.clear.valid):
            m.d.comb += [
                write.en.eq(1),
                write.addr.eq(self.clear.qp),
                write.data.eq(self.clear.psn),
            ]

        self._fill(m, causes, expected, base, bitmap)
        return m

    def _scan(self, m, arrived, pointer, next_row, base, highest):
        """Find the first PSN from ``pointer`` on that has arrived. The highest one has."""
        row = Signal(64)
        found = Signal(64 // _GROUP)
        firsts = Signal(data.ArrayLayout(3, 64 // _GROUP))
        with m.State("SEEK"), m.If(self.phase == 0):
            m.next = "SCAN"
        with m.State("SCAN"):  # phase 1
            m.d.sync += row.eq(arrived & ~((1 << pointer[:6]) - 1)[:64])
            m.next = "GROUP"
        with m.State("GROUP"):
            for n in range(64 // _GROUP):
                group = row[n * _GROUP :][:_GROUP]
                m.d.sync += found[n].eq(group.any())
                for bit in reversed(range(_GROUP)):
                    with m.If(group[bit]):
                        m.d.sync += firsts[n].eq(bit)
            m.next = "PICK"
        with m.State("PICK"):
            m.d.sync += pointer.eq(next_row)
            for n in reversed(range(64 // _GROUP)):
                with m.If(found[n]):
                    m.d.sync += pointer.eq(Cat(firsts[n], Const(n, 3), pointer[6:]))
            m.next = "JUDGE"
        with m.State("JUDGE"):
            m.next = "ALIGN"
            with m.If(ahead(highest, pointer) <= 63):
                m.d.sync += pointer.eq(base)
            with m.Elif(found.any()):
                m.d.sync += base.eq(pointer)
            with m.Else():
                m.next = "SEEK"
        with m.State("ALIGN"), m.If(self.phase == 0):
            m.next = "LOW"

    def _fill(self, m, causes, expected, base, bitmap):
        """Fill in the headers."""
        cause = Signal(Cause())
        m.d.comb += cause.eq(causes.write)
        with m.If(causes.probe_due):
            m.d.comb += cause.eq(causes.probe)

        cack = Signal(24)
        m.d.comb += cack.eq(expected - 1)
        offset = Signal(16)
        m.d.comb += offset.eq(cause.number - cack)
        with m.If(causes.probe_due):
            m.d.comb += offset.eq(cause.number)
        with m.Elif(ahead(cause.number, cack) < -(1 << 15)):  # a duplicate from long ago
            m.d.comb += offset.eq(1 << 15)

        seth, cc_state = self.o.p.body.sack.seth, self.o.p.body.sack.cc_state
        m.d.comb += [
            self.o.p.qp.eq(self.qp),
            self.o.p.opcode.eq(Opcode.SACK),
            self.o.p.psn.eq(cack),
            self.o.p.retransmission.eq(cause.retransmission),
            self.o.p.role.eq(Role.CONTROL),
            seth.mark.eq(cause.ce),
            seth.probe_reply.eq(causes.probe_due),
            seth.ack_psn_offset.eq(offset),
            seth.entropy.eq(cause.ev),
            seth.spdcid.eq(self.qp_row.qpn),
            seth.dpdcid.eq(self.qp_row.remote_qpn),
            seth.cack_psn.eq(cack),
            seth.mpr.eq(Mux(self.qp_row.dynamic_mpr, min(self.config.window // 128, 255), 0)),
            seth.sack_offset.eq(base - cack),
            seth.sack_bitmap.eq(bitmap),
            cc_state.tx_timestamp.eq(cause.tx_timestamp),
            cc_state.ooo_count.eq(causes.state.following - expected),
            cc_state.rcvd_bytes.eq((causes.state.octets + 255) >> 8),
        ]
