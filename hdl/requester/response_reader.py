"""Responses of the peer, made ready to be judged."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.inwards import RxDescriptor
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.wire.opcodes import Opcode

__all__ = ["Response", "ResponseReader"]

#: Groups of eight bits of a bitmap.
_GROUPS = 8


class Response(data.StructLayout):
    """A SACK, NACK or transport ACK, its sums done.

    Members
    -------
    opcode, resent : of the BTH
    qp, dqp : index of the QP, and all of its number
    psn : 24
        Of a SACK, ``cack``; of a NACK, the PSN that it names.
    base, bitmap : 24, 64
        PSN of bit 0.
    any, top : 1, 24
        Whether a bit is set, and the PSN of the highest.
    below : 24
        PSN below ``base``.
    at_cack : 24
        Bit of the PSN after ``cack``, signed.
    mark, mpr, probe, probe_id : of the SACK
    entropy : 32
        EV that the SACK or NACK is about.
    trigger : 24
        PSN that caused the SACK.
    reason : 8
        Of a NACK.
    syndrome, messages : 8, 24
        Of a transport ACK.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "opcode": 8,
            "resent": 1,
            "qp": index_bits(config.qps),
            "dqp": 24,
            "psn": 24,
            "base": 24,
            "bitmap": 64,
            "any": 1,
            "top": 24,
            "below": 24,
            "at_cack": 24,
            "mark": 2,
            "mpr": 8,
            "entropy": 32,
            "probe": 1,
            "probe_id": 16,
            "trigger": 24,
            "reason": 8,
            "syndrome": 8,
            "messages": 24,
        })


class ResponseReader(wiring.Component):
    """Do what can be done to a response without knowing its QP.

    Latency is two cycles; one response per cycle passes.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(RxDescriptor(config)))``
        Responses as they came.
    o : ``Out(stream.Signature(Response(config)))``
        The same.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(RxDescriptor(config))),
            "o": Out(stream.Signature(Response(config))),
        })

    def elaborate(self, platform):
        m = Module()

        response = Signal(Response(self.config))
        valid = Signal()
        # The highest bit of each group of eight first, then that of all groups.
        any_of, highest_of = Signal(_GROUPS), Signal(data.ArrayLayout(3, _GROUPS))
        highest = Signal(6)
        for n in range(_GROUPS):  # the later assignment wins
            with m.If(any_of[n]):
                m.d.comb += highest.eq(Cat(highest_of[n], Const(n, 3)))
        free = ~self.o.valid | self.o.ready
        m.d.comb += self.i.ready.eq(~valid | free)

        with m.If(free):
            m.d.sync += [self.o.valid.eq(valid), self.o.payload.eq(response)]
            m.d.sync += self.o.payload.top.eq(response.base + highest)
            m.d.sync += self.o.payload.below.eq(response.base - 1)
        with m.If(self.i.ready):
            packet, body = self.i.payload, self.i.payload.body
            seth = body.sack.seth
            m.d.sync += [
                valid.eq(self.i.valid),
                response.opcode.eq(packet.opcode),
                response.resent.eq(packet.retransmission),
                response.qp.eq(packet.dqp),  # the low bits
                response.dqp.eq(packet.dqp),
                response.psn.eq(
                    Mux(packet.opcode == Opcode.NACK, body.nack.nack_psn, seth.cack_psn)
                ),
                response.base.eq(seth.cack_psn + seth.sack_offset.as_signed()),
                response.bitmap.eq(seth.sack_bitmap),
                response.any.eq(seth.sack_bitmap.any()),
                response.at_cack.eq(1 - seth.sack_offset.as_signed()),
                response.mark.eq(seth.mark),
                response.mpr.eq(seth.mpr),
                response.entropy.eq(
                    Mux(packet.opcode == Opcode.NACK, body.nack.entropy, seth.entropy)
                ),
                response.probe.eq(seth.probe_reply),
                response.probe_id.eq(seth.ack_psn_offset),
                response.trigger.eq(seth.cack_psn + seth.ack_psn_offset.as_signed()),
                response.reason.eq(body.nack.reason),
                response.syndrome.eq(body.ack.syndrome),
                response.messages.eq(body.ack.msn),
            ]
            for n in range(_GROUPS):
                group = seth.sack_bitmap.word_select(n, 8)
                m.d.sync += any_of[n].eq(group.any())
                for bit in range(8):
                    with m.If(group[bit]):
                        m.d.sync += highest_of[n].eq(bit)

        return m
