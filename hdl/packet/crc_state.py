"""State of a CRC-32 over packets, a beat in each cycle."""

from operator import index

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.wire.crc import CRC_BITS, advance_matrix, data_matrix, multiply

__all__ = ["CrcBeat", "CrcState", "checked_sizes"]

#: Bits of a beat that are summed at once; Yosys takes minutes to map rows of 512 bits.
_SLICE = 16


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


class CrcState(wiring.Component):
    """Compute the state of a CRC-32 behind the last beat of each packet, with what it has spare.

    There is no back-pressure: a beat is taken in each cycle in which ``i.valid`` is set, packets
    may follow each other without a gap, and there may be gaps within them. Latency is two cycles.

    The part of a beat is summed in slices first. The next cycle sums the slices and the state,
    advanced by a beat. Octets that are not of the packet count as zeros behind it.

    Parameters
    ----------
    octets : :class:`int`
        Octets per beat; a power of two, at least 4.
    trailer_octets : :class:`int`, optional
        Octets at the end of each packet that do not count, and are zero. They need not be in one
        beat.

    Members
    -------
    i : ``In(CrcBeat(octets))``
        Beats.
    o : ``Out(StructLayout({"valid": 1, "state": 32, "spare": range(octets)}))``
        ``valid`` is set for one cycle for each packet. ``state`` has no final inversion.

    Raises
    ------
    ValueError
        If ``octets`` is not a power of two or less than 4, or ``trailer_octets`` is negative.
    """

    def __init__(self, *, octets: int, trailer_octets: int = 0):
        self.octets, self.trailer_octets = checked_sizes(octets, trailer_octets)
        spare = dict(CrcBeat(self.octets))["spare"].shape
        super().__init__({
            "i": In(CrcBeat(self.octets)),
            "o": Out(data.StructLayout({"valid": 1, "state": CRC_BITS, "spare": spare})),
        })

    def elaborate(self, platform):
        m = Module()

        # The part of this beat, in slices.
        slices = []
        # Everything is linear, so a trailer is left out by a matrix that is so far behind.
        matrix = data_matrix(self.octets, back=self.trailer_octets)
        for start in range(0, 8 * self.octets, _SLICE):
            rows = tuple(row >> start & (1 << _SLICE) - 1 for row in matrix)
            part = Signal(CRC_BITS, name=f"slice_{start}")
            m.d.sync += part.eq(multiply(rows, self.i.data[start : start + _SLICE]))
            slices.append(part)
        beat = Signal(data.StructLayout({"valid": 1, "first": 1, "last": 1}))
        spare = Signal.like(self.i.spare)
        m.d.sync += [beat[name].eq(self.i[name]) for name, _ in beat.shape()]
        m.d.sync += spare.eq(self.i.spare)

        # Add the state of the beats before.
        with m.If(beat.valid):
            advanced = multiply(advance_matrix(self.octets), self.o.state)
            m.d.sync += self.o.state.eq(_sum(slices) ^ Mux(beat.first, 0, advanced))
        m.d.sync += self.o.valid.eq(beat.valid & beat.last)
        m.d.sync += self.o.spare.eq(spare)

        return m


def checked_sizes(octets: int, trailer_octets: int) -> tuple[int, int]:
    """Return both as integers.

    Raises
    ------
    ValueError
        If they are none that a CRC is computed with.
    """
    octets, trailer_octets = index(octets), index(trailer_octets)
    if octets < 4 or octets.bit_count() != 1:
        raise ValueError(f"octets must be a power of two, at least 4, not {octets}")
    if trailer_octets < 0:
        raise ValueError(f"trailer_octets must be at least 0, not {trailer_octets}")
    return octets, trailer_octets


def _sum(values):
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return _sum(values[:half]) ^ _sum(values[half:])
