"""Rotation of a beat by any number of octets."""

from operator import index

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Rotator", "rotation_cycles"]


def rotation_cycles(octets: int) -> int:
    """Return the latency of a :class:`Rotator` of so many octets: a cycle for 2 bits of amount."""
    return -(-(octets.bit_length() - 1) // 2)


class Rotator(wiring.Component):
    """Rotate each transfer's octets to the left: octet 0 goes to place ``amount``.

    Two bits of the amount are done in each stage, so a stage is one four-way choice deep. Latency
    is :attr:`latency` cycles; one transfer per cycle passes. Stages move together, when the output
    is taken or empty.

    Parameters
    ----------
    octets : :class:`int`
        Octets of a transfer; a power of two, at least 2.
    tag_shape : :ref:`shape-like <lang-shapelike>`
        Shape of what travels along unchanged.

    Attributes
    ----------
    latency : :class:`int`
        Cycles from ``i`` to ``o``.

    Members
    -------
    i : ``In(stream.Signature(StructLayout({"data", "amount", "tag"})))``
        Transfers, and how many octets each is to be rotated by.
    o : ``Out(stream.Signature(StructLayout({"data", "amount", "tag"})))``
        Rotated transfers.

    Raises
    ------
    ValueError
        If ``octets`` is not a power of two or less than 2.
    """

    def __init__(self, *, octets: int, tag_shape: ShapeLike):
        self.octets = index(octets)
        if self.octets < 2 or self.octets.bit_count() != 1:
            raise ValueError(f"octets must be a power of two from 2 on, not {octets}")
        self.amount_bits = self.octets.bit_length() - 1
        self.latency = rotation_cycles(self.octets)
        self.layout = data.StructLayout({
            "data": 8 * self.octets,
            "amount": self.amount_bits,
            "tag": tag_shape,
        })
        super().__init__({
            "i": In(stream.Signature(self.layout)),
            "o": Out(stream.Signature(self.layout)),
        })

    def elaborate(self, platform):
        m = Module()

        moves = Signal()
        m.d.comb += moves.eq(self.o.ready | ~self.o.valid)
        m.d.comb += self.i.ready.eq(moves)

        valid, transfer = self.i.valid, self.i.payload
        for stage in range(self.latency):
            is_last = stage == self.latency - 1
            next_valid = self.o.valid if is_last else Signal(name=f"valid_{stage}")
            rotated = (
                self.o.payload
                if is_last
                else Signal(self.layout, name=f"stage_{stage}", reset_less=True)
            )
            choice = transfer.amount[2 * stage : 2 * stage + 2]
            with m.If(moves):
                m.d.sync += next_valid.eq(valid)
                m.d.sync += rotated.amount.eq(transfer.amount)
                m.d.sync += rotated.tag.eq(transfer.tag)
                with m.Switch(choice):
                    for digit in range(1 << len(choice)):
                        with m.Case(digit):
                            octets = digit << 2 * stage
                            m.d.sync += rotated.data.eq(transfer.data.rotate_left(8 * octets))
            valid, transfer = next_valid, rotated

        return m
