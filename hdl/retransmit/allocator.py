"""From a new packet to a slot, and to the fetch of its payload."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import AllocateRequest, FetchRequest
from mrcnic.hdl.descriptor.sizes import index_bits, slot_bits

from .bitmap_shifter import ROW_PSNS
from .scoreboard import QpPsn

__all__ = ["Allocation", "Allocator"]


class Allocation(data.StructLayout):
    """A slot was given to a packet."""

    def __init__(self, config: NicConfig):
        super().__init__({"valid": 1, "slot": slot_bits(config), "packet": AllocateRequest(config)})


class Allocator(wiring.Component):
    """Give each new packet a slot, and have its payload fetched by one of the lanes in turn.

    A packet is taken only when there are a slot and a lane for it; nothing waits in between. One
    packet per cycle passes with two or more lanes that are ready, one in two cycles with one.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(AllocateRequest(config)))``
        New packets; their ``octets`` are not 0.
    slots : ``In(stream.Signature(slot_bits))``
        Free slots.
    open : ``Out(stream.Signature(QpPsn(config)))``
        A row of the scoreboard is entered.
    allocation : ``Out(Allocation(config))``
        What was given, in the cycle after.
    fetch : ``Out(stream.Signature(FetchRequest(config))).array(lanes)``
        Payload to be read.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(AllocateRequest(config))),
            "slots": In(stream.Signature(slot_bits(config))),
            "open": Out(stream.Signature(QpPsn(config))),
            "allocation": Out(Allocation(config)),
            "fetch": Out(stream.Signature(FetchRequest(config))).array(config.lanes),
        })

    def elaborate(self, platform):
        m = Module()

        lanes = self.config.lanes
        packet = self.i.payload

        # The lane after the one that was used last goes first.
        lane, last, found = Signal(index_bits(lanes)), Signal(index_bits(lanes)), Signal()
        idle = [~fetch.valid for fetch in self.fetch]
        choice = 0
        for n in reversed(range(lanes)):
            choice = Mux(idle[n], n, choice)
        for n in reversed(range(1, lanes)):
            choice = Mux(idle[n] & (last < n), n, choice)
        m.d.comb += [lane.eq(choice), found.eq(Cat(idle).any())]

        # The row is opened first, and the packet taken when that is done.
        opened = Signal()
        enters = packet.psn[: (ROW_PSNS - 1).bit_length()] == 0
        m.d.comb += [
            self.open.valid.eq(self.i.valid & enters & ~opened),
            self.open.p.qp.eq(packet.qp),
            self.open.p.psn.eq(packet.psn),
        ]
        with m.If(self.open.valid & self.open.ready):
            m.d.sync += opened.eq(1)

        take = Signal()
        ready = self.slots.valid & found & (~enters | opened)
        m.d.comb += [self.i.ready.eq(ready), take.eq(self.i.valid & ready)]
        m.d.comb += self.slots.ready.eq(self.i.valid & found & (~enters | opened))
        with m.If(take):
            m.d.sync += [opened.eq(0), last.eq(lane)]

        m.d.sync += [
            self.allocation.valid.eq(take),
            self.allocation.slot.eq(self.slots.payload),
            self.allocation.packet.eq(packet),
        ]
        for n, fetch in enumerate(self.fetch):
            with m.If(fetch.ready):
                m.d.sync += fetch.valid.eq(0)
            with m.If(take & (lane == n)):
                m.d.sync += [
                    fetch.valid.eq(1),
                    fetch.p.slot.eq(self.slots.payload),
                    fetch.p.address.eq(packet.local_address),
                    fetch.p.octets.eq(packet.octets),
                ]

        return m
