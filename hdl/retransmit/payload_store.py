"""Payloads of all packets that are under way, in one bank of memory per lane."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import SlotRead, StoreBeat
from mrcnic.hdl.descriptor.sizes import index_bits, slot_bits
from mrcnic.hdl.packet.beat import packet_signature
from mrcnic.hdl.packet.deep_memory import DeepMemory, RowWrite

from .payload_bank import bank_depth, divide, first_bank, rows_per_slot
from .payload_reader import PayloadReader

__all__ = ["PayloadStore", "Stored"]


class Stored(data.StructLayout):
    """A slot's payload is complete, or could not be read (``error``)."""

    def __init__(self, config: NicConfig):
        super().__init__({"slot": slot_bits(config), "error": 1})


class PayloadStore(wiring.Component):
    """Take payload from every lane's fetch and give it to every lane, all at full rate.

    Beat ``b`` of slot ``s`` is in bank ``(s + b) mod lanes``. In cycle ``t`` lane ``p`` is served
    by bank ``(t + p) mod lanes``, for reading and for writing alike; so lanes never meet, and
    beats that follow each other pass one per cycle. A beat waits for its bank for at most
    ``lanes - 1`` cycles. From SlotRead to the first beat it takes 6 cycles and that wait.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    store : ``In(stream.Signature(StoreBeat(config))).array(lanes)``
        Beats to keep.
    stored : ``Out(stream.Signature(Stored(config))).array(lanes)``
        Slots whose last beat was kept.
    read : ``In(stream.Signature(SlotRead(config))).array(lanes)``
        Slots to be read; ``octets`` is not 0.
    payload : ``Out(packet_signature(beat_octets)).array(lanes)``
        A packet for each.
    done : ``Out(stream.Signature(slot_bits)).array(lanes)``
        Slots that have been read to the end.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        lanes = config.lanes
        super().__init__({
            "store": In(stream.Signature(StoreBeat(config))).array(lanes),
            "stored": Out(stream.Signature(Stored(config))).array(lanes),
            "read": In(stream.Signature(SlotRead(config))).array(lanes),
            "payload": Out(packet_signature(config.beat_octets)).array(lanes),
            "done": Out(stream.Signature(slot_bits(config))).array(lanes),
        })

    def elaborate(self, platform):
        m = Module()

        config, lanes = self.config, self.config.lanes
        turn = Signal(index_bits(lanes))
        m.d.sync += turn.eq(turn + 1)
        with m.If(turn == lanes - 1):
            m.d.sync += turn.eq(0)

        # The bank that serves each lane in this cycle.
        banks = [Signal.like(turn, name=f"bank_{p}") for p in range(lanes)]
        m.d.comb += banks[0].eq(turn)
        for p in range(1, lanes):
            m.d.comb += banks[p].eq(Mux(turn >= lanes - p, turn + p - lanes, turn + p))

        writes = [self._take(m, p, banks[p]) for p in range(lanes)]
        readers = []
        for p in range(lanes):
            reader = m.submodules[f"reader_{p}"] = PayloadReader(config)
            connect(m, flipped(self.read[p]), reader.i)
            connect(m, reader.payload, flipped(self.payload[p]))
            connect(m, reader.done, flipped(self.done[p]))
            m.d.comb += reader.turn.eq(banks[p])
            readers.append(reader)

        memories = []
        for k in range(lanes):
            bank = DeepMemory(8 * config.beat_octets, depth=bank_depth(config))
            m.submodules[f"bank_{k}"] = bank
            memories.append(bank)
            with m.Switch(turn):
                for t in range(lanes):
                    with m.Case(t):
                        m.d.sync += bank.write.eq(writes[(k - t) % lanes])
                        m.d.sync += bank.row[0].eq(readers[(k - t) % lanes].ask.row)

        # Two cycles after a bank was asked, its answer goes to the lane that asked.
        turns = [turn, Signal.like(turn, name="turn_1"), Signal.like(turn, name="turn_2")]
        m.d.sync += [turns[1].eq(turns[0]), turns[2].eq(turns[1])]
        with m.Switch(turns[2]):
            for t in range(lanes):
                with m.Case(t):
                    for p in range(lanes):
                        m.d.sync += readers[p].data.eq(memories[(t + p) % lanes].data[0])

        return m

    def _take(self, m, p, served):
        """Take the beats of lane ``p``, each when its bank's turn has come."""
        config, store, stored = self.config, self.store[p], self.stored[p]
        beat = store.payload
        remainder, quotient = divide(beat.beat, config.lanes)
        bank = Signal(range(2 * config.lanes))
        m.d.comb += bank.eq(first_bank(config, beat.slot) + remainder)
        matches = (bank == served) | (bank == served + config.lanes)

        m.d.comb += store.ready.eq(matches & ~(beat.last & stored.valid))
        with m.If(stored.ready):
            m.d.sync += stored.valid.eq(0)
        with m.If(store.valid & store.ready & beat.last):
            m.d.sync += [
                stored.valid.eq(1),
                stored.p.slot.eq(beat.slot),
                stored.p.error.eq(beat.error),
            ]

        write = Signal(RowWrite(8 * config.beat_octets, bank_depth(config)), name=f"write_{p}")
        m.d.comb += [
            write.valid.eq(store.valid & store.ready),
            write.row.eq(beat.slot * rows_per_slot(config) + quotient),
            write.data.eq(beat.data),
        ]
        return write
