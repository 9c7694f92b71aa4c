"""Invariant CRC of received packets."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.packet.crc_pipeline import CrcPipeline
from mrcnic.hdl.packet.keep import end_to_keep
from mrcnic.hdl.wire.icrc import ICRC_INITIAL, ICRC_MASK, ICRC_MASK_IPV4

from .frame import InnerBeat

__all__ = ["IcrcChecker"]

#: CRC of any packet together with its own CRC, least significant octet first.
_RESIDUE = 0x2144DF1C

_MASKS = (ICRC_MASK, ICRC_MASK_IPV4)


class IcrcChecker(wiring.Component):
    """Tell whether the last four octets of an inner packet are its ICRC.

    The CRC runs over the whole packet, its ICRC included, so that it does not matter where in
    which beat that stands: the result is a constant. It is right only if the packet has at least
    the headers up to the BTH.

    One beat per cycle; the verdict comes :attr:`latency` cycles after the last beat.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Attributes
    ----------
    latency : :class:`int`
        Cycles from the last beat to the verdict: 5 or 6 with beats of 8 or 64 octets.

    Members
    -------
    i : ``In(InnerBeat(config))``
        Inner packets.
    o : ``Out(StructLayout({"valid": 1, "good": 1}))``
        One verdict for each packet.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        self._pipeline = CrcPipeline(octets=config.beat_octets)
        self.latency = self._pipeline.latency + 2
        super().__init__({
            "i": In(InnerBeat(config)),
            "o": Out(data.StructLayout({"valid": 1, "good": 1})),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.pipeline = pipeline = self._pipeline
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

        m.d.sync += pipeline.i.valid.eq(self.i.valid)
        m.d.sync += pipeline.i.first.eq(self.i.first)
        m.d.sync += pipeline.i.last.eq(self.i.last)
        m.d.sync += pipeline.i.spare.eq(~self.i.end)
        masked = Signal(8 * octets)
        m.d.comb += masked.eq((self.i.data | mask) ^ start)
        for place in range(octets):
            octet = slice(8 * place, 8 * place + 8)
            m.d.sync += pipeline.i.data[octet].eq(masked[octet] & keep[place].replicate(8))

        m.d.sync += self.o.valid.eq(pipeline.o.valid)
        m.d.sync += self.o.good.eq(pipeline.o.crc == _RESIDUE)

        return m
