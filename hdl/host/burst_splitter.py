"""Runs of octets in host memory, as AXI4 bursts."""

from operator import index

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .axi import ADDRESS_BITS, BOUNDARY_OCTETS

__all__ = ["BurstSplitter"]

#: Beats of the longest burst (AXI4, section A3.4.1).
_MAX_BEATS = 256


class BurstSplitter(wiring.Component):
    """Split requests at the boundaries that a burst must not cross.

    Each request gives one record and, unless it is skipped, its bursts. All beats are whole words
    of host memory; the record tells where in them the request's octets are. The first burst and
    the record come two cycles after the request. One burst per cycle passes, and one request per
    cycle if it has a single burst.

    Parameters
    ----------
    octets : :class:`int`
        Octets of a beat; a power of two.
    max_octets : :class:`int`
        Octets of the longest request.
    tag_shape : :ref:`shape-like <lang-shapelike>`
        Shape of what goes from request to record unchanged.

    Attributes
    ----------
    boundary_beats : :class:`int`
        No burst crosses a multiple of so many beats: a boundary of AXI4, or less so that no burst
        is too long.
    record_layout : :class:`~amaranth.lib.data.StructLayout`
        Shape of a record.

    Members
    -------
    i : ``In(stream.Signature(StructLayout({"address", "octets", "skip", "tag"})))``
        Requests; ``octets`` is not 0 unless ``skip`` is set.
    bursts : ``Out(stream.Signature(StructLayout({"address", "length", "last"})))``
        Bursts: address of the first beat, beats less one, whether it is the request's last.
    records : ``Out(stream.Signature(record_layout))``
        Per request: ``offset`` of its first octet in the first beat; ``final``, that of its last
        octet in the last beat; ``last_beat``, the number of beats less one; ``whole``, set if it
        starts a beat or has one only; ``extra``, set if the octets would fit one beat less were
        they aligned; ``position`` of its first beat after a boundary; ``tag``.
    """

    def __init__(self, *, octets: int, max_octets: int, tag_shape: ShapeLike):
        self.octets = index(octets)
        self.max_octets = index(max_octets)
        self.boundary_beats = min(BOUNDARY_OCTETS // self.octets, _MAX_BEATS)
        self.offset_bits = self.octets.bit_length() - 1
        self.position_bits = self.boundary_beats.bit_length() - 1
        self.record_layout = data.StructLayout({
            "offset": self.offset_bits,
            "final": self.offset_bits,
            "last_beat": range((self.max_octets + 2 * self.octets - 2) // self.octets),
            "whole": 1,
            "extra": 1,
            "position": self.position_bits,
            "tag": tag_shape,
        })
        super().__init__({
            "i": In(
                stream.Signature(
                    data.StructLayout({
                        "address": ADDRESS_BITS,
                        "octets": range(self.max_octets + 1),
                        "skip": 1,
                        "tag": tag_shape,
                    })
                )
            ),
            "bursts": Out(
                stream.Signature(
                    data.StructLayout({"address": ADDRESS_BITS, "length": 8, "last": 1})
                )
            ),
            "records": Out(stream.Signature(self.record_layout)),
        })

    def elaborate(self, platform):
        m = Module()

        request = self.i.payload
        valid = Signal()
        started = Signal()  # the record and the first burst are out
        skip = Signal()
        beat_address = Signal(ADDRESS_BITS - self.offset_bits)
        left = Signal.like(self.records.payload.last_beat)  # beats less one
        record = Signal(self.record_layout)

        # What the next burst is.
        room = Signal(self.position_bits)  # beats less one up to the boundary
        is_last = Signal()
        m.d.comb += room.eq(~beat_address[: self.position_bits])
        m.d.comb += is_last.eq((left <= room) | skip)

        # Whether it can go.
        burst_free = self.bursts.ready | ~self.bursts.valid
        record_free = self.records.ready | ~self.records.valid
        issue = Signal()
        m.d.comb += issue.eq(valid & (burst_free | skip) & (record_free | started))

        with m.If(self.bursts.ready):
            m.d.sync += self.bursts.valid.eq(0)
        with m.If(self.records.ready):
            m.d.sync += self.records.valid.eq(0)
        with m.If(issue):
            m.d.sync += started.eq(~is_last)
            with m.If(~started):
                m.d.sync += self.records.valid.eq(1)
                m.d.sync += self.records.payload.eq(record)
            with m.If(~skip):
                m.d.sync += self.bursts.valid.eq(1)
                m.d.sync += self.bursts.payload.address[self.offset_bits :].eq(beat_address)
                m.d.sync += self.bursts.payload.last.eq(is_last)
                m.d.sync += self.bursts.payload.length.eq(room)
                with m.If(is_last):
                    m.d.sync += self.bursts.payload.length.eq(left)
            # The next one, if any, starts at the boundary.
            upper = beat_address[self.position_bits :]
            m.d.sync += upper.eq(upper + 1)
            m.d.sync += beat_address[: self.position_bits].eq(0)
            m.d.sync += left.eq(left - room - 1)

        # The next request.
        offset = request.address[: self.offset_bits]
        reach = Signal(range(self.max_octets + self.octets))  # offset of the last octet
        m.d.comb += reach.eq(offset + request.octets - 1)
        last_beat = reach[self.offset_bits :]
        m.d.comb += self.i.ready.eq(~valid | (issue & is_last))
        with m.If(self.i.ready):
            m.d.sync += valid.eq(self.i.valid)
            m.d.sync += skip.eq(request.skip)
            m.d.sync += beat_address.eq(request.address[self.offset_bits :])
            m.d.sync += left.eq(last_beat)
            m.d.sync += record.offset.eq(offset)
            m.d.sync += record.final.eq(reach)
            m.d.sync += record.last_beat.eq(last_beat)
            m.d.sync += record.whole.eq(~offset.any() | ~last_beat.any())
            m.d.sync += record.extra.eq(last_beat != (request.octets - 1)[self.offset_bits :])
            m.d.sync += record.position.eq(request.address[self.offset_bits :])
            m.d.sync += record.tag.eq(request.tag)

        return m
