"""Which packets the peer has refused."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import NackNotice
from mrcnic.hdl.descriptor.sizes import NOW_BITS, index_bits, slot_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory
from mrcnic.hdl.wire.opcodes import NackReason
from mrcnic.hdl.wire.psn import PSN_BITS

from .pick_log import STAMP_BITS, Sent
from .scoreboard import QpPsn
from .slot_rows import SlotKey

__all__ = ["NackBoard", "NackEvents", "Refusal", "Refused"]


class Refusal(enum.Enum, shape=2):
    """What follows from a NACK."""

    #: Trimmed: send it again now.
    AT_ONCE = 0
    #: No room: send it again after a round trip.
    LATER = 1
    #: Beyond the peer's window: send it again when that has moved.
    WINDOW = 2
    #: The connection is broken.
    FATAL = 3


class Refused(data.StructLayout):
    """A NACK of the send of ``psn`` that has this ``stamp``; of any other send, nothing."""

    def __init__(self, config: NicConfig):
        super().__init__({
            "qp": index_bits(config.qps),
            "psn": PSN_BITS,
            "stamp": STAMP_BITS,
            "refusal": Refusal,
            "time": NOW_BITS,
            "cack": PSN_BITS,
        })


class NackEvents(data.StructLayout):
    """One-cycle pulses: a NACK of a packet that is not there, or of no known reason."""

    def __init__(self):
        super().__init__({"nack_stranger": 1})


class NackBoard(wiring.Component):
    """Note NACKs at the slots of the packets that they name.

    A note holds for the last send of the packet before the NACK; as soon as it is sent again,
    the note is void without being deleted. Takes a NACK per cycle; its note can be read five
    cycles later.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(NackNotice(config)))``
        NACKs.
    at, found : ``Out(QpPsn(config))``, ``In(slot_bits)``
        Asks for the slot of a PSN.
    slot, key, sent : ``Out(slot_bits)``, ``In(SlotKey(config))``, ``In(Sent(config))``
        Asks for a slot's packet.
    qp, cack : ``Out(index_bits(qps))``, ``In(24)``
        Asks for a QP's cack.
    now : ``In(24)``
        Time.
    asked, refused : ``In(slot_bits)``, ``Out(Refused(config))``
        A slot, and one cycle later its last note.
    events : ``Out(NackEvents())``
    """

    def __init__(self, config: NicConfig):
        self.config = config
        bits = slot_bits(config)
        super().__init__({
            "i": In(stream.Signature(NackNotice(config))),
            "at": Out(QpPsn(config)),
            "found": In(bits),
            "slot": Out(bits),
            "key": In(SlotKey(config)),
            "sent": In(Sent(config)),
            "qp": Out(index_bits(config.qps)),
            "cack": In(PSN_BITS),
            "now": In(NOW_BITS),
            "asked": In(bits),
            "refused": Out(Refused(config)),
            "events": Out(NackEvents()),
        })

    def elaborate(self, platform):
        m = Module()

        config = self.config
        m.submodules.notes = notes = DeepMemory(Refused(config), depth=config.slots)
        m.d.comb += [notes.row[0].eq(self.asked), self.refused.eq(notes.data[0])]

        # NACK in; the PSN's slot; that slot's packet.
        nacks = [Signal(NackNotice(config), name=f"nack_{n}") for n in range(3)]
        valid = Signal(3)
        slot = Signal(slot_bits(config))
        m.d.comb += self.i.ready.eq(1)
        m.d.sync += [
            valid.eq(Cat(self.i.valid, valid)),
            nacks[0].eq(self.i.payload),
            nacks[1].eq(nacks[0]),
            nacks[2].eq(nacks[1]),
            slot.eq(self.found),
        ]
        m.d.comb += [
            self.at.qp.eq(nacks[0].qp),
            self.at.psn.eq(nacks[0].psn),
            self.slot.eq(self.found),
            self.qp.eq(nacks[1].qp),
        ]

        nack, note = nacks[2], notes.write.data
        known = Signal()
        with m.Switch(nack.reason):
            with m.Case(NackReason.TRIMMED, NackReason.TRIMMED_LASTHOP):
                m.d.comb += [known.eq(1), note.refusal.eq(Refusal.AT_ONCE)]
            with m.Case(NackReason.NO_BITMAP, NackReason.NO_BUFFER, NackReason.NO_RESOURCE):
                m.d.comb += [known.eq(1), note.refusal.eq(Refusal.LATER)]
            with m.Case(NackReason.OUT_OF_WINDOW):
                m.d.comb += [known.eq(1), note.refusal.eq(Refusal.WINDOW)]
            with m.Case(NackReason.UNEXPECTED):
                m.d.comb += [known.eq(1), note.refusal.eq(Refusal.FATAL)]
        ours = known & (self.key.qp == nack.qp) & (self.key.psn == nack.psn)
        m.d.comb += [
            notes.write.valid.eq(valid[2] & ours),
            notes.write.row.eq(slot),
            note.qp.eq(nack.qp),
            note.psn.eq(nack.psn),
            note.stamp.eq(self.sent.stamp),
            note.time.eq(self.now),
            note.cack.eq(self.cack),
        ]
        m.d.sync += self.events.nack_stranger.eq(valid[2] & ~ours)

        return m
