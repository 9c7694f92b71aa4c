"""Which PSNs have been acknowledged."""

from itertools import pairwise

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import Acknowledgement
from mrcnic.hdl.descriptor.sizes import index_bits
from mrcnic.hdl.packet.deep_memory import DeepMemory
from mrcnic.hdl.wire.opcodes import ProbeKind
from mrcnic.hdl.wire.psn import PSN_BITS
from mrcnic.hdl.wire.serial import ahead

from .bitmap_shifter import ROW_PSNS, BitmapShifter

__all__ = ["ProbeAnswer", "QpPsn", "Query", "Scoreboard"]


class QpPsn(data.StructLayout):
    """A PSN of a QP."""

    def __init__(self, config: NicConfig):
        super().__init__({"qp": index_bits(config.qps), "psn": PSN_BITS})


class ProbeAnswer(data.StructLayout):
    """The last answered reliability probe of a QP, if any was."""

    def __init__(self):
        super().__init__({"valid": 1, "probe_id": 16})


class Query(wiring.Signature):
    """A question about a PSN, and one cycle later the answer.

    Members
    -------
    at : ``Out(QpPsn(config))``
    acked : ``In(1)``
    cack : ``In(24)``
        Of the QP.
    answer : ``In(ProbeAnswer())``
        Of the QP.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "at": Out(QpPsn(config)),
            "acked": In(1),
            "cack": In(PSN_BITS),
            "answer": In(ProbeAnswer()),
        })


class Scoreboard(wiring.Component):
    """Remember for each QP its highest PSN before the first gap, and the PSNs beyond that came.

    The PSNs of a QP have a bit each in a ring twice as long as the window, in rows of 64, even
    and odd ones in a memory of their own; so a bitmap at any place meets each memory once. A row
    is cleared before the first PSN of it is allocated, when all PSNs that it had before lie at
    or below cack.

    Takes an acknowledgement in every second cycle; queries see it six cycles later. One that is
    older than what is known moves nothing back.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(Acknowledgement(config)))``
        Acknowledgements, valid as they stand.
    open : ``In(stream.Signature(QpPsn(config)))``
        A PSN that is a multiple of 64 is going to be allocated: clears its row.
    create : ``In(stream.Signature(QpPsn(config)))``
        A QP starts, at this PSN: clears everything about it. Taken when that is done, after at
        least ``window / 64`` cycles.
    query : ``In(Query(config)).array(readers)``
        Questions, one per cycle each.

    Raises
    ------
    ValueError
        If there is no reader.
    """

    def __init__(self, config: NicConfig, *, readers: int):
        self.config = config
        self.readers = readers
        if readers < 1:
            raise ValueError(f"readers must be at least 1, not {readers}")
        super().__init__({
            "i": In(stream.Signature(Acknowledgement(config))),
            "open": In(stream.Signature(QpPsn(config))),
            "create": In(stream.Signature(QpPsn(config))),
            "query": In(Query(config)).array(readers),
        })

    def elaborate(self, platform):
        m = Module()

        config = self.config
        ring_bits = (2 * config.window).bit_length() - 1
        qps, readers = config.qps, self.readers + 1  # the last one is for updates
        rows = [DeepMemory(64, depth=qps * config.window // 64, readers=readers) for _ in range(2)]
        cacks = DeepMemory(PSN_BITS, depth=qps, readers=readers)
        answers = DeepMemory(ProbeAnswer(), depth=qps, readers=self.readers)
        m.submodules += [*rows, cacks, answers]

        def row_of(qp, psn):
            """Return the place of the PSN's row in its memory."""
            return Cat(psn[7:ring_bits], qp)

        # Two cycles to put the bits into place, one to read, one to write.
        m.submodules.shifter = shifter = BitmapShifter()
        steps = [Signal(Acknowledgement(config), name=f"step_{n}") for n in range(4)]
        valid = Signal(4)
        m.d.comb += self.i.ready.eq(~valid[0])
        m.d.sync += valid.eq(Cat(self.i.valid & self.i.ready, valid))
        m.d.sync += steps[0].eq(self.i.payload)
        for before, after in pairwise(steps):
            m.d.sync += after.eq(before)
        m.d.comb += [
            shifter.bitmap.eq(steps[0].bitmap),
            shifter.place.eq(steps[0].base),
        ]
        ask, update = steps[2], steps[3]
        odd = ask.base[6]
        next_row = Signal(PSN_BITS)
        m.d.comb += next_row.eq(ask.base + ROW_PSNS)
        words, places = [], []
        for n, bank in enumerate(rows):
            place = Signal.like(bank.row[0])
            word = Signal(64)
            m.d.comb += bank.row[-1].eq(
                Mux(odd == n, row_of(ask.qp, ask.base), row_of(ask.qp, next_row))
            )
            m.d.sync += place.eq(bank.row[-1])
            m.d.sync += word.eq(Mux(odd == n, shifter.low, shifter.high))
            places.append(place)
            words.append(word)
        m.d.comb += cacks.row[-1].eq(ask.qp)

        # Updates go first, then rows to be opened, then the walk over a new QP's rows.
        walk = Signal(max(1, ring_bits - 7))
        m.d.comb += self.open.ready.eq(~valid[3])
        opening = self.open.payload
        walking = self.create.valid & ~valid[3] & ~self.open.valid
        created = self.create.payload
        m.d.comb += self.create.ready.eq(walking & walk.all())
        with m.If(walking):
            m.d.sync += walk.eq(walk + 1)
        for n, bank in enumerate(rows):
            with m.If(valid[3]):
                m.d.comb += [
                    bank.write.valid.eq(words[n].any()),
                    bank.write.row.eq(places[n]),
                    bank.write.data.eq(bank.data[-1] | words[n]),
                ]
            with m.Elif(self.open.valid):
                m.d.comb += bank.write.valid.eq(opening.psn[6] == n)
                m.d.comb += bank.write.row.eq(row_of(opening.qp, opening.psn))
            with m.Else():
                m.d.comb += bank.write.valid.eq(walking)
                m.d.comb += bank.write.row.eq(Cat(walk, created.qp))
        answer = answers.write
        with m.If(valid[3]):
            m.d.comb += [
                cacks.write.valid.eq(ahead(update.cack, cacks.data[-1]) > 0),
                cacks.write.row.eq(update.qp),
                cacks.write.data.eq(update.cack),
                answer.valid.eq(update.probe & (update.probe_id[:8] == ProbeKind.TAIL)),
                answer.row.eq(update.qp),
                answer.data.valid.eq(1),
                answer.data.probe_id.eq(update.probe_id),
            ]
        with m.Else():
            m.d.comb += [
                cacks.write.valid.eq(walking),
                cacks.write.row.eq(created.qp),
                cacks.write.data.eq(created.psn - 1),
                answer.valid.eq(walking),
                answer.row.eq(created.qp),
            ]

        for n, query in enumerate(self.query):
            asked = Signal(PSN_BITS, name=f"asked_{n}")
            m.d.sync += asked.eq(query.at.psn)
            for bank in rows:
                m.d.comb += bank.row[n].eq(row_of(query.at.qp, query.at.psn))
            m.d.comb += [cacks.row[n].eq(query.at.qp), answers.row[n].eq(query.at.qp)]
            row = Mux(asked[6], rows[1].data[n], rows[0].data[n])
            m.d.comb += [
                query.cack.eq(cacks.data[n]),
                query.answer.eq(answers.data[n]),
                query.acked.eq((ahead(asked, cacks.data[n]) <= 0) | (row >> asked[:6])[0]),
            ]

        return m
