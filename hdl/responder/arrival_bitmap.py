"""Which PSNs have arrived: rows of 64."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.packet.deep_memory import DeepMemory

from .slot import Clear, window_bits

__all__ = ["ArrivalBitmap", "BitmapRow"]


class BitmapRow(data.StructLayout):
    """Sixty-four PSNs, the lowest in the least significant bits.

    Members
    -------
    marks : 64
        Toggled by each arrival: see :class:`ArrivalBitmap`.
    last, ack_request : 64
        The packet was the last of its message; it asked for an ACK.
    """

    def __init__(self):
        super().__init__({"marks": 64, "last": 64, "ack_request": 64})


class ArrivalBitmap(wiring.Component):
    """Keep three bits for each PSN of each QP's window.

    The rows of a QP form a ring of ``window`` PSNs, so that nothing is ever shifted. Nor is
    anything cleared when the window moves on: a PSN has arrived if its mark differs from the
    lowest bit of its lap (the PSN divided by the window). Within a lap each mark is toggled
    exactly once, which makes it "not arrived" for the lap that follows. The number of laps is
    even, so the wrap of the PSN changes nothing. And a judge who sees an old cack, and thus a
    window that lies a little behind, still finds the right answer for each PSN in it.

    There is one read port, which three readers share by phase; data comes a cycle later.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    address : ``In(unsigned).array(3)``
        Row to read in each phase: QP, then bits of the PSN (see :meth:`row_address`).
    row : ``Out(BitmapRow())``
        Row asked for in the cycle before.
    phase : ``In(2)``
        Phase of the pipeline.
    write_valid, write_address, write_row
        Row to write, in phase 0. A reader of this phase gets it already.
    clear : ``In(Clear(config))``
        Make row ``clear.row`` of a QP empty.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        self.address_bits = (config.qps * config.window // 64 - 1).bit_length()
        super().__init__({
            "phase": In(2),
            "address": In(self.address_bits).array(3),
            "row": Out(BitmapRow()),
            "write_valid": In(1),
            "write_address": In(self.address_bits),
            "write_row": In(BitmapRow()),
            "clear": In(Clear(config)),
        })

    def row_address(self, qp: Value, psn: Value) -> Value:
        """Return the address of the row that ``psn`` is in."""
        return Cat(psn[6 : window_bits(self.config)], qp)

    def lap(self, psn: Value) -> Value:
        """Return the lowest bit of the lap of ``psn``."""
        return psn[window_bits(self.config)]

    def elaborate(self, platform):
        m = Module()

        depth = self.config.qps * self.config.window // 64
        m.submodules.ring = ring = DeepMemory(BitmapRow(), depth=depth)
        with m.Switch(self.phase):
            for phase, address in enumerate(self.address):
                with m.Case(phase):
                    m.d.comb += ring.row[0].eq(address)

        # The reader of phase 0 may ask for the row that is being written.
        collided = Signal()
        written = Signal(BitmapRow())
        m.d.sync += [
            collided.eq(self.write_valid & (self.write_address == self.address[0])),
            written.eq(self.write_row),
        ]
        m.d.comb += self.row.eq(ring.data[0])
        with m.If(collided):
            m.d.comb += self.row.eq(written)

        # An empty ring: the PSNs from the first on are of its lap, those before it of the next.
        start = self.clear.psn[6 : window_bits(self.config)]
        row = self.clear.row[: len(start)]
        below = Signal(64)
        with m.If(row < start):
            m.d.comb += below.eq(-1)
        with m.Elif(row == start):
            m.d.comb += below.eq((1 << self.clear.psn[:6]) - 1)

        # Each part of the row that is written has one driver of its own.
        write = ring.write
        marks = Mux(
            self.clear.valid, below ^ self.lap(self.clear.psn).replicate(64), self.write_row.marks
        )
        m.d.comb += [
            write.valid.eq(self.write_valid | self.clear.valid),
            write.row.eq(Mux(self.clear.valid, Cat(row, self.clear.qp), self.write_address)),
            *(
                write.data[name].eq(self.write_row[name])
                for name, _ in write.data.shape()
                if name != "marks"
            ),
            write.data.marks.eq(marks),
        ]

        return m
