"""Who still refers to a payload slot."""

from enum import IntEnum

from amaranth.hdl import Module, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.sizes import slot_bits

__all__ = ["SlotFlip", "SlotLedger"]


class SlotFlip(IntEnum):
    """What can happen to a slot; each has a toggle of its own, and so a writer of its own."""

    #: Given to a new packet, whose payload is now fetched and then sent.
    ALLOCATE = 0
    #: Put into the queue of resends.
    RESEND = 1
    #: A send is over: its payload has been read, or it was declined.
    CLOSE = 2
    #: Given back.
    FREE = 3


class SlotLedger(wiring.Component):
    """Keep for each slot whether it is occupied, and whether a send or a fetch refers to it.

    Four toggles of one bit per slot, each with one writer. A slot is busy from ``ALLOCATE`` or
    ``RESEND`` to ``CLOSE``, and occupied from ``ALLOCATE`` to ``FREE``; so either is the
    exclusive-or of toggles, and nothing has two writers. The toggles are read without a clock
    (distributed RAM), which makes a flip take one cycle.

    A walk clears all toggles after reset, in ``slots`` cycles, in which nothing may flip.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    flip : ``In(StructLayout({"valid": 1, "slot": slot_bits})).array(4)``
        Events, by :class:`SlotFlip`; each can come in every cycle.
    slot : ``In(slot_bits)``
        Slot that is asked about.
    busy, occupied : ``Out(1)``
        The answer, in the same cycle; events count from the next cycle on.
    cleared : ``Out(range(slots + 1))``
        How many slots have been cleared; the others are not occupied.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        bits = slot_bits(config)
        super().__init__({
            "flip": In(data.StructLayout({"valid": 1, "slot": bits})).array(len(SlotFlip)),
            "slot": In(bits),
            "busy": Out(1),
            "occupied": Out(1),
            "cleared": Out(range(config.slots + 1)),
        })

    def elaborate(self, platform):
        m = Module()

        slots = self.config.slots
        clearing = Signal()
        m.d.comb += clearing.eq(self.cleared != slots)
        with m.If(clearing):
            m.d.sync += self.cleared.eq(self.cleared + 1)

        state = {}
        for kind in SlotFlip:
            name = kind.name.lower()
            m.submodules[name] = toggles = memory.Memory(shape=1, depth=slots, init=[])
            flip = self.flip[kind]
            write = toggles.write_port()
            before = toggles.read_port(domain="comb")
            asked = toggles.read_port(domain="comb")
            m.d.comb += [
                before.addr.eq(flip.slot),
                asked.addr.eq(self.slot),
                write.en.eq(clearing | flip.valid),
                write.addr.eq(flip.slot),
                write.data.eq(~before.data & ~clearing),
            ]
            with m.If(clearing):
                m.d.comb += write.addr.eq(self.cleared)
            state[kind] = asked.data

        known = self.slot < self.cleared
        opened = state[SlotFlip.ALLOCATE] ^ state[SlotFlip.RESEND]
        m.d.comb += [
            self.busy.eq((opened ^ state[SlotFlip.CLOSE]) & known),
            self.occupied.eq((state[SlotFlip.ALLOCATE] ^ state[SlotFlip.FREE]) & known),
        ]

        return m
