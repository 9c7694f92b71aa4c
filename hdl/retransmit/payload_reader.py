"""One lane's way out of the payload store."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import SlotRead
from mrcnic.hdl.descriptor.sizes import index_bits, slot_bits
from mrcnic.hdl.packet.beat import packet_signature

from .payload_bank import bank_depth, beats_per_slot, first_bank, rows_per_slot

__all__ = ["PayloadReader"]

#: Beats between the bank and the lane: those asked for, and those that wait to be taken.
_DEPTH = 8


class PayloadReader(wiring.Component):
    """Read the payload of slots, one beat after the other from one bank after the other.

    A bank's turn comes every ``lanes`` cycles, and the bank of each beat follows that of the beat
    before; so one beat per cycle leaves from when the first bank's turn has come, at most
    ``lanes - 1`` cycles after the slot was taken in. The first beat is at ``payload`` five
    cycles after its turn. No more is asked for than there is room for.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(SlotRead(config)))``
        Slots to read. ``octets`` must not be 0.
    payload : ``Out(packet_signature(beat_octets))``
        A packet per slot.
    done : ``Out(stream.Signature(slot_bits))``
        Slots whose last beat has left the memory.
    turn : ``In(range(lanes))``
        The bank whose turn it is.
    ask : ``Out(StructLayout({"valid": 1, "row": range(...)}))``
        Row that is wanted from that bank.
    data : ``In(8 * beat_octets)``
        Its contents, three cycles later.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        self._tag = data.StructLayout({
            "first": 1,
            "last": 1,
            "partial": config.beat_octets.bit_length() - 1,  # octets in the last beat; 0: all
        })
        super().__init__({
            "i": In(stream.Signature(SlotRead(config))),
            "payload": Out(packet_signature(config.beat_octets)),
            "done": Out(stream.Signature(slot_bits(config))),
            "turn": In(index_bits(config.lanes)),
            "ask": Out(data.StructLayout({"valid": 1, "row": range(bank_depth(config))})),
            "data": In(8 * config.beat_octets),
        })

    def elaborate(self, platform):
        m = Module()

        config = self.config
        beat_bits = config.beat_octets.bit_length() - 1

        # Walk over the beats of the slot. The last one waits for the report of the slot before.
        slot = Signal(slot_bits(config))
        tag = Signal(self._tag)
        active, reporting, issue = Signal(), Signal(), Signal()
        left = Signal(range(beats_per_slot(config) + 1))
        bank, lap, row = Signal.like(self.turn), Signal.like(self.turn), Signal.like(self.ask.row)
        credit = Signal(range(_DEPTH + 1), init=_DEPTH)
        last = Signal()
        m.d.comb += [
            last.eq(left == 1),
            issue.eq(active & (bank == self.turn) & (credit != 0) & ~(last & reporting)),
            self.ask.valid.eq(issue),
            self.ask.row.eq(row),
        ]
        with m.If(issue):
            m.d.sync += [left.eq(left - 1), tag.first.eq(0), active.eq(~last)]
            m.d.sync += [bank.eq(bank + 1), lap.eq(lap + 1)]
            with m.If(bank == config.lanes - 1):
                m.d.sync += bank.eq(0)
            with m.If(lap == config.lanes - 1):
                m.d.sync += [lap.eq(0), row.eq(row + 1)]

        m.d.comb += self.i.ready.eq(~active | (issue & last))
        with m.If(self.i.valid & self.i.ready):
            request = self.i.payload
            m.d.sync += [
                active.eq(1),
                slot.eq(request.slot),
                tag.first.eq(1),
                tag.partial.eq(request.octets),
                left.eq((request.octets + config.beat_octets - 1) >> beat_bits),
                row.eq(request.slot * rows_per_slot(config)),
                bank.eq(first_bank(config, request.slot)),
                lap.eq(0),
            ]

        # What is known of a beat goes along with its data.
        valid = Signal(3)
        tags = [Signal(self._tag, name=f"tag_{n}") for n in range(3)]
        slots = [Signal.like(slot, name=f"slot_{n}") for n in range(3)]
        m.d.sync += valid.eq(Cat(issue, valid))
        m.d.sync += [tags[0].eq(tag), tags[0].last.eq(last), slots[0].eq(slot)]
        for n in (1, 2):
            m.d.sync += [tags[n].eq(tags[n - 1]), slots[n].eq(slots[n - 1])]

        with m.If(self.done.ready & self.done.valid):
            m.d.sync += [self.done.valid.eq(0), reporting.eq(0)]
        with m.If(issue & last):
            m.d.sync += reporting.eq(1)
        with m.If(valid[2] & tags[2].last):
            m.d.sync += [self.done.valid.eq(1), self.done.payload.eq(slots[2])]

        self._offer(m, valid[2], tags[2])
        taken = self.payload.valid & self.payload.ready
        m.d.sync += credit.eq(credit + taken - issue)
        return m

    def _offer(self, m, arrived, tag):
        octets = self.config.beat_octets
        layout = data.StructLayout({"tag": self._tag, "octets": 8 * octets})
        m.submodules.beats = beats = fifo.SyncFIFOBuffered(width=layout.size, depth=_DEPTH)
        beat = data.View(layout, beats.r_data)
        m.d.comb += [
            beats.w_en.eq(arrived),
            beats.w_data.eq(Cat(tag, self.data)),
            beats.r_en.eq(self.payload.ready),
            self.payload.valid.eq(beats.r_rdy),
            self.payload.p.data.eq(beat.octets),
            self.payload.p.first.eq(beat.tag.first),
            self.payload.p.last.eq(beat.tag.last),
        ]
        whole = ~beat.tag.last | (beat.tag.partial == 0)
        for n in range(octets - 1):
            m.d.comb += self.payload.p.keep[n].eq(whole | (beat.tag.partial > n))
        m.d.comb += self.payload.p.keep[octets - 1].eq(whole)
