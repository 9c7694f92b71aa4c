"""CRC-32 over packets, a beat in each cycle."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.wire.crc import CRC_BITS, multiply, retreat_matrix

from .crc_state import CrcBeat, CrcState, checked_sizes
from .turning import chosen

__all__ = ["CrcPipeline"]

#: Bits of the number of missing octets that one stage takes back, by one choice.
_DIGIT = 3


class CrcPipeline(wiring.Component):
    """Compute the CRC-32 of each packet.

    There is no back-pressure: a beat is taken in each cycle in which ``i.valid`` is set, packets
    may follow each other without a gap, and there may be gaps within them. The CRC comes out
    ``latency`` cycles after the last beat. The deepest path between two registers is a choice among
    eight products with a state: 5 LUTs of 6 inputs, as Yosys maps it without retiming.

    What the missing octets of the last beat have added to the state is taken back, a digit of their
    number in each step.

    Parameters
    ----------
    octets : :class:`int`
        Octets per beat; a power of two, at least 4.
    trailer_octets : :class:`int`, optional
        Octets at the end of each packet that do not count, and are zero. They need not be in one
        beat.

    Attributes
    ----------
    latency : :class:`int`
        Cycles from the last beat to the CRC: 3, 4 or 5 with 8, 64 or 128 octets per beat.

    Members
    -------
    i : ``In(CrcBeat(octets))``
        Beats.
    o : ``Out(StructLayout({"valid": 1, "crc": 32}))``
        ``valid`` is set for one cycle for each packet. In ``crc``, the final inversion is made, and
        the least significant octet is the first on the wire.

    Raises
    ------
    ValueError
        If ``octets`` is not a power of two or less than 4, or ``trailer_octets`` is negative.
    """

    def __init__(self, *, octets: int, trailer_octets: int = 0):
        self.octets, self.trailer_octets = checked_sizes(octets, trailer_octets)
        self.spare_bits = (self.octets - 1).bit_length()
        self.latency = 2 + -(-self.spare_bits // _DIGIT)
        super().__init__({
            "i": In(CrcBeat(self.octets)),
            "o": Out(data.StructLayout({"valid": 1, "crc": CRC_BITS})),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.state = state = CrcState(
            octets=self.octets, trailer_octets=self.trailer_octets
        )
        m.d.comb += state.i.eq(self.i)

        # Take back the octets that were not there.
        value, done, spare = state.o.state, state.o.valid, state.o.spare
        for start in range(0, self.spare_bits, _DIGIT):
            digit = spare[start : start + _DIGIT]
            products = [
                multiply(retreat_matrix(number << start), value)
                for number in range(1 << len(digit))
            ]
            retreated = Signal(CRC_BITS, name=f"retreated_{start}")
            done_here = Signal(name=f"done_{start}")
            spare_here = Signal.like(spare, name=f"spare_{start}")
            m.d.sync += retreated.eq(chosen(products, digit))
            m.d.sync += done_here.eq(done)
            m.d.sync += spare_here.eq(spare)
            value, done, spare = retreated, done_here, spare_here
        m.d.comb += self.o.valid.eq(done)
        m.d.comb += self.o.crc.eq(~value)

        return m
