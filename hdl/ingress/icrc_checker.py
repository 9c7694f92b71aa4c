"""Invariant CRC of received packets."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.packet.crc_state import CrcState
from mrcnic.hdl.packet.keep import end_to_keep
from mrcnic.hdl.packet.turning import chosen
from mrcnic.hdl.wire.crc import CRC_BITS, advance
from mrcnic.hdl.wire.icrc import ICRC_INITIAL, ICRC_MASK, ICRC_MASK_IPV4

from .frame import InnerBeat

__all__ = ["IcrcChecker"]

#: State behind any packet together with its own CRC, least significant octet first.
_RESIDUE = 0xDEBB20E3

#: Bits of the state that are compared at once.
_SLICE = 8

_MASKS = (ICRC_MASK, ICRC_MASK_IPV4)


class IcrcChecker(wiring.Component):
    """Tell whether the last four octets of an inner packet are its ICRC.

    The CRC runs over the whole packet, its ICRC included, so that it does not matter where in
    which beat that stands: the state behind it is a constant. So it is behind any number of zeros
    after that, which is what a beat that is not full counts as: there is a table. It is right only
    if the packet has at least the headers up to the BTH.

    One beat per cycle; the verdict comes :attr:`latency` cycles after the last beat.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Attributes
    ----------
    latency : :class:`int`
        Cycles from the last beat to the verdict: 5.

    Members
    -------
    i : ``In(InnerBeat(config))``
        Inner packets.
    o : ``Out(StructLayout({"valid": 1, "good": 1}))``
        One verdict for each packet.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        self.latency = 5
        super().__init__({
            "i": In(InnerBeat(config)),
            "o": Out(data.StructLayout({"valid": 1, "good": 1})),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.crc = crc = CrcState(octets=self.config.beat_octets)
        octets = self.config.beat_octets
        masks = [
            [int.from_bytes(mask[start : start + octets], "little") for mask in _MASKS]
            for start in range(0, max(map(len, _MASKS)), octets)
        ]

        # Fields that may change on the way count as ones, and octets after the end as zeros.
        index = Signal(range(len(masks) + 1))  # of the beat after the one before
        number = Signal.like(index)
        mask = Signal(8 * octets)
        keep = Signal(octets)
        start = Signal(32)
        with m.If(self.i.first):
            m.d.comb += start.eq(ICRC_INITIAL)
        with m.Else():
            m.d.comb += number.eq(index)
        with m.Switch(number):
            for beat, (of_ipv6, of_ipv4) in enumerate(masks):
                with m.Case(beat):
                    m.d.comb += mask.eq(Mux(self.i.notes.ipv4, of_ipv4, of_ipv6))
        with m.If(self.i.valid & (number != len(masks))):
            m.d.sync += index.eq(number + 1)
        m.d.comb += keep.eq(end_to_keep(self.i.end, octets))

        m.d.sync += crc.i.valid.eq(self.i.valid)
        m.d.sync += crc.i.first.eq(self.i.first)
        m.d.sync += crc.i.last.eq(self.i.last)
        m.d.sync += crc.i.spare.eq(~self.i.end)
        masked = Signal(8 * octets)
        m.d.comb += masked.eq((self.i.data | mask) ^ start)
        for place in range(octets):
            octet = slice(8 * place, 8 * place + 8)
            m.d.sync += crc.i.data[octet].eq(masked[octet] & keep[place].replicate(8))

        # What the state is to be, and whether it is, part by part.
        states = [Const(advance(_RESIDUE, spare), CRC_BITS) for spare in range(octets)]
        wrong = crc.o.state ^ chosen(states, crc.o.spare)
        parts = Signal(CRC_BITS // _SLICE)
        compared = Signal()
        m.d.sync += compared.eq(crc.o.valid)
        m.d.sync += [
            part.eq(wrong[_SLICE * n : _SLICE * (n + 1)].any()) for n, part in enumerate(parts)
        ]
        m.d.sync += self.o.valid.eq(compared)
        m.d.sync += self.o.good.eq(~parts.any())

        return m
