"""CRC-32 over packets, a beat in each cycle."""

from operator import index

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.wire.crc import (
    CRC_BITS,
    advance_matrix,
    data_matrix,
    multiply,
    retreat_matrix,
)

from .turning import chosen

__all__ = ["CrcBeat", "CrcPipeline"]

#: Bits of a beat that are summed at once; Yosys takes minutes to map rows of 512 bits.
_SLICE = 16

#: Bits of the number of missing octets that one stage takes back, by one choice.
_DIGIT = 3


class CrcBeat(data.StructLayout):
    """What of a beat the CRC is made of.

    The state starts from zero, so that octets of zero before the first that counts change
    nothing. A state to start from is to be added to the first four octets that count.

    Parameters
    ----------
    octets : :class:`int`
        Octets per beat.

    Members
    -------
    valid : 1
        There is a beat.
    first, last : 1
        As in :class:`~mrcnic.hdl.packet.beat.Beat`.
    data : ``8 * octets``
        Octets, the first in the least significant bits. Those that do not count are zero.
    spare : ``range(octets)``
        How many octets at the end are not of the packet; zero unless ``last``.
    """

    def __init__(self, octets: int):
        super().__init__({
            "valid": 1,
            "first": 1,
            "last": 1,
            "data": 8 * octets,
            "spare": max(1, (octets - 1).bit_length()),
        })


class CrcPipeline(wiring.Component):
    """Compute the CRC-32 of each packet.

    There is no back-pressure: a beat is taken in each cycle in which ``i.valid`` is set, packets
    may follow each other without a gap, and there may be gaps within them. The CRC comes out
    ``latency`` cycles after the last beat. The deepest path between two registers is a choice among
    eight products with a state: 5 LUTs of 6 inputs, as Yosys maps it without retiming.

    The part of a beat is summed in slices first. The next cycle sums the slices and the state,
    advanced by a beat. What the missing octets of the last beat have added is taken back at the
    end, a digit of their number in each step. (Everything is linear, so a trailer is left out by
    matrices that are that many octets behind from the start.)

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
        self.octets = index(octets)
        self.trailer_octets = index(trailer_octets)
        if self.octets < 4 or self.octets.bit_count() != 1:
            raise ValueError(f"octets must be a power of two, at least 4, not {octets}")
        if self.trailer_octets < 0:
            raise ValueError(f"trailer_octets must be at least 0, not {trailer_octets}")
        self.spare_bits = (self.octets - 1).bit_length()
        self.latency = 2 + -(-self.spare_bits // _DIGIT)
        super().__init__({
            "i": In(CrcBeat(self.octets)),
            "o": Out(data.StructLayout({"valid": 1, "crc": CRC_BITS})),
        })

    def elaborate(self, platform):
        m = Module()

        def delayed(value, name):
            register = Signal.like(value, name=name)
            m.d.sync += register.eq(value)
            return register

        # The part of this beat, in slices.
        slices = []
        matrix = data_matrix(self.octets, back=self.trailer_octets)
        for start in range(0, 8 * self.octets, _SLICE):
            rows = tuple(row >> start & (1 << _SLICE) - 1 for row in matrix)
            product = multiply(rows, self.i.data[start : start + _SLICE])
            slices.append(delayed(product, f"slice_{start}"))
        valid = delayed(self.i.valid, "valid")
        first = delayed(self.i.first, "first")
        last = delayed(self.i.last, "last")
        spare = delayed(self.i.spare, "spare")

        # Add the state of the beats before.
        state = Signal(CRC_BITS)
        with m.If(valid):
            advanced = multiply(advance_matrix(self.octets), state)
            m.d.sync += state.eq(_sum(slices) ^ Mux(first, 0, advanced))
        done = delayed(valid & last, "done")
        spare = delayed(spare, "spare_state")

        # Take back the octets that were not there.
        value = state
        for start in range(0, self.spare_bits, _DIGIT):
            retreated = Signal(CRC_BITS, name=f"retreat_{start}")
            digit = spare[start : start + _DIGIT]
            products = [
                multiply(retreat_matrix(number << start), value)
                for number in range(1 << len(digit))
            ]
            m.d.comb += retreated.eq(chosen(products, digit))
            value = retreated
            value = delayed(value, f"retreated_{start}")
            done = delayed(done, f"done_{start}")
            spare = delayed(spare, f"spare_retreated_{start}")
        m.d.comb += self.o.valid.eq(done)
        m.d.comb += self.o.crc.eq(~value)

        return m


def _sum(values):
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return _sum(values[:half]) ^ _sum(values[half:])
