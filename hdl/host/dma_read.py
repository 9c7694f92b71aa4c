"""Payload out of host memory."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outwards import FetchRequest, StoreBeat
from mrcnic.hdl.packet.realigner import Realigner

from .axi import Burst, axi4_read_signature, host_octets
from .burst_splitter import BurstSplitter

__all__ = ["DmaRead"]

#: Requests that may be under way: enough for a memory that takes as many cycles to answer.
_OUTSTANDING = 256


class DmaRead(wiring.Component):
    """Fetch payload from any address, and put its first octet at the start of a beat.

    Requests are served in order. As many are under way as there are slots, 256 at the most, in as
    many bursts as they take, so that a distant memory costs latency but not rate. Answers are taken
    as fast as ``o`` takes them.

    A request is on the address channel 2 cycles after it was taken, a word on ``o`` 2 to 4 cycles
    after it came, by the width of a beat (4 for 64 octets). One beat per cycle passes, without a
    bubble between requests that start at a multiple of the beat. Others take a cycle more each.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(FetchRequest(config)))``
        What to fetch; ``octets`` is not 0.
    o : ``Out(stream.Signature(StoreBeat(config)))``
        Payload. What stands behind its end in the last beat is not defined.
    axi : ``Out(axi4_read_signature(config.beat_octets))``
        Host memory.
    events : ``Out(StructLayout({"tx_payload_read_error": 1}))``
        A payload was delivered with ``error``.

    Raises
    ------
    ValueError
        If a beat is wider than a host port may be.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        self.octets = host_octets(config)
        super().__init__({
            "i": In(stream.Signature(FetchRequest(config))),
            "o": Out(stream.Signature(StoreBeat(config))),
            "axi": Out(axi4_read_signature(self.octets)),
            "events": Out(data.StructLayout({"tx_payload_read_error": 1})),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.splitter = splitter = BurstSplitter(
            octets=self.octets,
            max_octets=self.config.mtu,
            tag_shape=self.i.payload.slot.shape(),
        )
        m.submodules.records = records = fifo.SyncFIFOBuffered(
            width=splitter.record_layout.size, depth=min(self.config.slots, _OUTSTANDING)
        )
        # Requests, and what to remember of them.
        m.d.comb += splitter.i.valid.eq(self.i.valid)
        m.d.comb += self.i.ready.eq(splitter.i.ready)
        m.d.comb += splitter.i.payload.address.eq(self.i.payload.address)
        m.d.comb += splitter.i.payload.octets.eq(self.i.payload.octets)
        m.d.comb += splitter.i.payload.tag.eq(self.i.payload.slot)
        m.d.comb += records.w_en.eq(splitter.records.valid)
        m.d.comb += records.w_data.eq(splitter.records.payload)
        m.d.comb += splitter.records.ready.eq(records.w_rdy)

        # Bursts.
        m.d.comb += self.axi.arvalid.eq(splitter.bursts.valid)
        m.d.comb += splitter.bursts.ready.eq(self.axi.arready)
        m.d.comb += self.axi.araddr.eq(splitter.bursts.payload.address)
        m.d.comb += self.axi.arlen.eq(splitter.bursts.payload.length)
        m.d.comb += self.axi.arsize.eq(self.octets.bit_length() - 1)
        m.d.comb += self.axi.arburst.eq(Burst.INCR)
        m.d.comb += self.axi.arcache.eq(0b0011)  # normal memory, bufferable

        self._take_answers(m, splitter.record_layout, records)
        return m

    def _take_answers(self, m, record_layout, records):
        store_layout = self.o.payload.shape()
        tag_layout = data.StructLayout({
            name: store_layout[name].shape for name in ("slot", "beat", "last", "error")
        })
        m.submodules.realigner = realigner = Realigner(octets=self.octets, tag_shape=tag_layout)

        # An unaligned payload whose last octets are left over takes a cycle more.
        record = data.View(record_layout, records.r_data)
        count = Signal(range((1 << len(record.last_beat)) + 1))  # beats of the payload so far
        beat = Signal.like(self.o.payload.beat)
        error = Signal()
        flushes = ~record.whole & ~record.extra
        flushing = Signal()
        transfer = Signal()
        error_now = Signal()
        emit = Signal()
        is_last = Signal()
        m.d.comb += emit.eq(record.whole | count.any())
        m.d.comb += is_last.eq(((count == record.last_beat) & ~flushes) | flushing)
        i = realigner.i.payload
        m.d.comb += i.data.eq(self.axi.rdata)
        m.d.comb += i.amount.eq(-record.offset)
        m.d.comb += i.whole.eq(record.whole)
        m.d.comb += i.emit.eq(emit)
        m.d.comb += error_now.eq(error | (self.axi.rresp.as_value()[1] & ~flushing))
        m.d.comb += i.tag.slot.eq(record.tag)
        m.d.comb += i.tag.beat.eq(beat)
        m.d.comb += i.tag.last.eq(is_last)
        m.d.comb += i.tag.error.eq(error_now & is_last)

        m.d.comb += realigner.i.valid.eq(records.r_rdy & (self.axi.rvalid | flushing))
        m.d.comb += self.axi.rready.eq(records.r_rdy & realigner.i.ready & ~flushing)
        m.d.comb += transfer.eq(realigner.i.valid & realigner.i.ready)
        m.d.comb += records.r_en.eq(transfer & is_last)
        with m.If(transfer):
            m.d.sync += flushing.eq(flushes & (count == record.last_beat) & ~flushing)
            m.d.sync += count.eq(count + 1)
            m.d.sync += beat.eq(beat + emit)
            m.d.sync += error.eq(error_now)
            with m.If(is_last):
                m.d.sync += count.eq(0)
                m.d.sync += beat.eq(0)
                m.d.sync += error.eq(0)

        o = realigner.o.payload
        m.d.comb += self.o.valid.eq(realigner.o.valid)
        m.d.comb += realigner.o.ready.eq(self.o.ready)
        m.d.comb += self.o.payload.data.eq(o.data)
        for name in tag_layout.members:
            m.d.comb += self.o.payload[name].eq(o.tag[name])
        m.d.sync += self.events.tx_payload_read_error.eq(
            self.o.valid & self.o.ready & self.o.payload.error
        )
