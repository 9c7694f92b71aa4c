"""Transport ACKs and NAKs."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import TxRequest
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.wire.opcodes import Opcode, Role, Syndrome

from .arrival import Failure
from .slot import Clear

__all__ = ["AckBuilder"]


class _AckState(data.StructLayout):
    def __init__(self):
        super().__init__({"ever": 1, "msn": 24})


class AckBuilder(wiring.Component):
    """Build the ACK, or NAK, of each QP that needs one: always the latest state.

    An ACK tells how many messages are complete and in memory. A QP that never completed a message
    that asked for an ACK sends none; one that has failed sends its NAK instead, with the same
    number, from the time on when that will not change any more. One every three cycles, the first
    two cycles after its QP was taken from ``due``.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    complete, msn : ``In(StructLayout({"valid": 1, "index": ...}))``, ``In(24)``
        Messages of a QP that are complete.
    nak : ``In(StructLayout({"valid": 1, "index": ...}))``
        A QP that has failed, and whose messages that are complete have all been told.
    due : ``In(stream.Signature(unsigned))``
        QPs that need one.
    qp, failure, expected : ``Out``, ``In(Failure())``, ``In(24)``
        QP that is looked at; whether it has failed, and its cack + 1, a cycle later.
    o : ``Out(stream.Signature(TxRequest(config)))``
        ACKs and NAKs.
    clear : ``In(Clear(config))``
    """

    def __init__(self, config: NicConfig):
        self.config = config
        qp_bits = index_bits(config.qps)
        super().__init__({
            "complete": In(data.StructLayout({"valid": 1, "index": qp_bits})),
            "msn": In(24),
            "nak": In(data.StructLayout({"valid": 1, "index": qp_bits})),
            "due": In(stream.Signature(qp_bits)),
            "qp": Out(qp_bits),
            "failure": In(Failure()),
            "expected": In(24),
            "o": Out(stream.Signature(TxRequest(config))),
            "clear": In(Clear(config)),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.states = states = Memory(shape=_AckState(), depth=self.config.qps, init=[])
        write, read = states.write_port(), states.read_port()
        m.d.comb += [
            write.en.eq(self.complete.valid),
            write.addr.eq(self.complete.index),
            write.data.ever.eq(1),
            write.data.msn.eq(self.msn),
        ]
        with m.If(self.clear.valid):
            m.d.comb += [write.en.eq(1), write.addr.eq(self.clear.qp), write.data.eq(0)]

        qp = Signal.like(self.qp)
        m.submodules.naks = naks = Memory(shape=1, depth=self.config.qps, init=[])
        write_nak, read_nak = naks.write_port(), naks.read_port()
        m.d.comb += [
            write_nak.en.eq(self.nak.valid | self.clear.valid),
            write_nak.addr.eq(Mux(self.clear.valid, self.clear.qp, self.nak.index)),
            write_nak.data.eq(~self.clear.valid),
            read_nak.addr.eq(self.qp),
        ]

        m.d.comb += [read.addr.eq(self.qp), self.qp.eq(qp)]

        aeth = self.o.p.body.ack
        m.d.comb += [
            self.o.p.qp.eq(qp),
            self.o.p.opcode.eq(Opcode.ACK),
            self.o.p.role.eq(Role.CONTROL),
        ]
        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.comb += self.qp.eq(self.due.payload)
                m.d.sync += qp.eq(self.due.payload)
                with m.If(self.due.valid):
                    m.next = "READ"
            with m.State("READ"):
                m.d.sync += [
                    self.o.p.psn.eq(self.expected - 1),
                    aeth.syndrome.eq(Syndrome.ACK),
                    aeth.msn.eq(read.data.msn),
                ]
                with m.If(read_nak.data):
                    m.d.sync += aeth.syndrome.eq(self.failure.syndrome)
                m.next = "IDLE"
                with m.If(read_nak.data | read.data.ever):
                    m.next = "SEND"
            with m.State("SEND"), m.If(self.o.ready):
                m.next = "IDLE"

        # Assigned, not decided: some simulators would not work it out before the state changes.
        m.d.comb += [
            self.due.ready.eq(fsm.ongoing("IDLE")),
            self.o.valid.eq(fsm.ongoing("SEND")),
        ]

        return m
