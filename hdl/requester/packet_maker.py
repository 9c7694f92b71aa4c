"""The next packet of a message."""

from amaranth.hdl import Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import AllocateRequest
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.wire.opcodes import Opcode, Role

from .gate import Spent, Windows
from .links import OVERHEAD_OCTETS
from .send_queue import QueuedRequest

__all__ = ["Message", "PacketMaker"]


class Message(data.StructLayout):
    """Where a QP stands in its numbers and in its current message.

    Members
    -------
    spent : :class:`~mrcnic.hdl.requester.gate.Spent`
    messages : 24
        Messages made whole.
    middle : 1
        A packet of the current message has been made.
    offset, left : 32
        Octets of it made and to be made, if ``middle``.
    """

    def __init__(self):
        super().__init__({
            "spent": Spent(),
            "messages": 24,
            "middle": 1,
            "offset": 32,
            "left": 32,
        })


class PacketMaker(wiring.Component):
    """Cut the next packet from a message, without a register.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    qp, asked, message, windows, pmtu, trim : ``In``
        The QP, its work request, where it stands, its windows, its path MTU in octets, and
        whether its packets may be trimmed.
    o : ``Out(AllocateRequest(config))``
        The packet.
    last : ``Out(1)``
        It is the last one of its message.
    may_go : ``Out(1)``
        The windows let it go.
    after : ``Out(Message())``
        Where the QP stands after it.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "qp": In(index_bits(config.qps)),
            "asked": In(QueuedRequest()),
            "message": In(Message()),
            "windows": In(Windows()),
            "pmtu": In(range(config.mtu + 1)),
            "trim": In(1),
            "o": Out(AllocateRequest(config)),
            "last": Out(1),
            "may_go": Out(1),
            "after": Out(Message()),
        })

    def elaborate(self, platform):
        m = Module()

        asked, message, windows = self.asked, self.message, self.windows
        first, immediate = ~message.middle, asked.with_immediate
        offset = Mux(first, 0, message.offset)
        left = Mux(first, asked.octets, message.left)

        # Sizes are compared with the room all at once, and the right answer chosen after that.
        padded = (left[:13] + 3)[2:] << 2
        fits = Mux(self.last, padded <= windows.room, self.pmtu <= windows.room)
        m.d.comb += self.last.eq(left <= self.pmtu)
        m.d.comb += self.may_go.eq(
            windows.psn_open
            & windows.share_open
            & (message.middle | ~immediate | windows.immediate_open)
            & (windows.empty | fits)
        )

        # No full packet will fit after this one, which is a full one itself, or the last.
        fills = windows.room < (self.pmtu << 1) + OVERHEAD_OCTETS
        o = self.o
        m.d.comb += [
            o.qp.eq(self.qp),
            o.psn.eq(message.spent.next_psn),
            o.ack_request.eq(self.last | windows.psn_last | fills),
            o.role.eq(Mux(self.trim, Role.TRIMMABLE, Role.NO_TRIM)),
            o.octets.eq(Mux(self.last, left[:13], self.pmtu)),
            o.local_address.eq(asked.local_address + offset),
            o.body.meth.msn.eq(message.messages),  # the low bits
            o.body.meth.rqmsn.eq(Mux(immediate, message.spent.rqmsn, 0)),
            o.body.reth.va.eq(asked.remote_address + offset),
            o.body.reth.rkey.eq(asked.rkey),
            o.body.reth.dmalen.eq(asked.octets),
            o.body.immediate.eq(asked.immediate),
            o.opcode.eq(self._opcode(first, self.last, immediate)),
        ]

        after = self.after
        credit = Mux(self.last, padded, self.pmtu) + OVERHEAD_OCTETS
        m.d.comb += [
            after.spent.next_psn.eq(message.spent.next_psn + 1),
            after.spent.rqmsn.eq(message.spent.rqmsn + (self.last & immediate)),
            after.spent.allocated.eq(windows.allocated + credit),
            after.spent.slots.eq(windows.slots + 1),
            after.messages.eq(message.messages + self.last),
            after.middle.eq(~self.last),
            after.offset.eq(offset + self.pmtu),
            after.left.eq(left - self.pmtu),
        ]

        return m

    def _opcode(self, first, last, immediate):
        return Mux(
            last,
            Mux(
                first,
                Mux(immediate, Opcode.WRITE_ONLY_IMM, Opcode.WRITE_ONLY),
                Mux(immediate, Opcode.WRITE_LAST_IMM, Opcode.WRITE_LAST),
            ),
            Mux(first, Opcode.WRITE_FIRST, Opcode.WRITE_MIDDLE),
        )
