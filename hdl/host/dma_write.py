"""Payload into host memory."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.inwards import Verdict
from mrcnic.hdl.packet.beat import packet_signature
from mrcnic.hdl.packet.realigner import Realigner

from .axi import Burst, axi4_write_signature, host_octets
from .burst_splitter import BurstSplitter

__all__ = ["DmaWrite"]

#: Bursts whose response may be outstanding.
_OUTSTANDING = 256

#: Verdicts that may run ahead of their payload.
_AHEAD = 16


class DmaWrite(wiring.Component):
    """Place or drop payloads, as the verdicts say.

    The n-th verdict is on the n-th packet of ``payload``. A payload goes to any address, octets
    around it are left alone. Up to 256 bursts wait for their response. Nothing of a payload that is
    dropped, or placed with 0 octets, reaches host memory.

    The first word is on its channel 8 cycles after its verdict (7 with beats of 8 octets). One beat
    per cycle passes, without a bubble between payloads. One that lies across one word more than it
    has beats takes a cycle more.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(Verdict(config)))``
        Verdicts. ``octets`` is the length of the packet if it is to be placed.
    payload : ``In(packet_signature(config.beat_octets))``
        Payloads, each from the start of a beat.
    written : ``Out(1)``
        The oldest placed payload that was not yet reported is in memory: all its responses are in.
    error : ``Out(1)``
        With ``written``: it is not, because host memory answered with an error.
    axi : ``Out(axi4_write_signature(config.beat_octets))``
        Host memory.
    events : ``Out(StructLayout(...))``
        ``rx_payload_written``, ``rx_payload_write_error``, ``rx_payload_dropped``: one of them for
        each verdict.

    Raises
    ------
    ValueError
        If a beat is wider than a host port may be.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        self.octets = host_octets(config)
        super().__init__({
            "i": In(stream.Signature(Verdict(config))),
            "payload": In(packet_signature(self.octets)),
            "written": Out(1),
            "error": Out(1),
            "axi": Out(axi4_write_signature(self.octets)),
            "events": Out(
                data.StructLayout({
                    "rx_payload_written": 1,
                    "rx_payload_write_error": 1,
                    "rx_payload_dropped": 1,
                })
            ),
        })

    def elaborate(self, platform):
        m = Module()

        m.submodules.splitter = splitter = BurstSplitter(
            octets=self.octets, max_octets=self.config.mtu, tag_shape=1
        )
        verdict = self.i.payload
        place = verdict.place & verdict.octets.any()
        m.d.comb += splitter.i.valid.eq(self.i.valid)
        m.d.comb += self.i.ready.eq(splitter.i.ready)
        m.d.comb += splitter.i.payload.address.eq(verdict.address)
        m.d.comb += splitter.i.payload.octets.eq(verdict.octets)
        m.d.comb += splitter.i.payload.skip.eq(~place)
        m.d.comb += splitter.i.payload.tag.eq(place)

        self._send_words(m, splitter)
        self._await_responses(m, splitter.bursts)
        return m

    def _send_words(self, m, splitter):
        m.submodules.records = records = fifo.SyncFIFOBuffered(
            width=splitter.record_layout.size, depth=_AHEAD
        )
        m.submodules.realigner = realigner = Realigner(
            octets=self.octets, tag_shape=data.StructLayout({"strobe": self.octets, "last": 1})
        )
        m.d.comb += records.w_en.eq(splitter.records.valid)
        m.d.comb += records.w_data.eq(splitter.records.payload)
        m.d.comb += splitter.records.ready.eq(records.w_rdy)

        # Words. Octets of the payload's last beat may be left over for one more.
        record = data.View(splitter.record_layout, records.r_data)
        count = Signal.like(record.last_beat)
        is_last = Signal()
        flushing = Signal()
        m.d.comb += is_last.eq(count == record.last_beat)
        m.d.comb += flushing.eq(is_last & record.extra)
        i = realigner.i.payload
        m.d.comb += i.data.eq(self.payload.payload.data)
        m.d.comb += i.amount.eq(record.offset)
        m.d.comb += i.whole.eq(~count.any())  # of the payload before nothing is left
        m.d.comb += i.emit.eq(1)
        position = Signal(splitter.position_bits)
        m.d.comb += position.eq(record.position + count)
        m.d.comb += i.tag.last.eq(is_last | position.all())
        ones = Const((1 << self.octets) - 1)
        from_start = Mux(count.any(), ones, ones << record.offset)
        up_to_end = Mux(is_last, ones >> ~record.final, ones)
        m.d.comb += i.tag.strobe.eq(from_start & up_to_end)

        # A payload that is dropped goes nowhere.
        placing = records.r_rdy & record.tag
        dropping = records.r_rdy & ~record.tag
        moves = Signal()
        dropped = Signal()
        m.d.comb += realigner.i.valid.eq(placing & (self.payload.valid | flushing))
        m.d.comb += moves.eq(realigner.i.valid & realigner.i.ready)
        m.d.comb += self.payload.ready.eq((placing & realigner.i.ready & ~flushing) | dropping)
        m.d.comb += dropped.eq(dropping & self.payload.valid & self.payload.payload.last)
        m.d.comb += records.r_en.eq((moves & is_last) | dropped)
        with m.If(moves):
            m.d.sync += count.eq(Mux(is_last, 0, count + 1))
        m.d.sync += self.events.rx_payload_dropped.eq(dropped)

        m.d.comb += self.axi.wvalid.eq(realigner.o.valid)
        m.d.comb += realigner.o.ready.eq(self.axi.wready)
        m.d.comb += self.axi.wdata.eq(realigner.o.payload.data)
        m.d.comb += self.axi.wstrb.eq(realigner.o.payload.tag.strobe)
        m.d.comb += self.axi.wlast.eq(realigner.o.payload.tag.last)

    def _await_responses(self, m, bursts):
        m.submodules.waiting = waiting = fifo.SyncFIFOBuffered(width=1, depth=_OUTSTANDING)

        m.d.comb += self.axi.awvalid.eq(bursts.valid & waiting.w_rdy)
        m.d.comb += bursts.ready.eq(self.axi.awready & waiting.w_rdy)
        m.d.comb += self.axi.awaddr.eq(bursts.payload.address)
        m.d.comb += self.axi.awlen.eq(bursts.payload.length)
        m.d.comb += self.axi.awsize.eq(self.octets.bit_length() - 1)
        m.d.comb += self.axi.awburst.eq(Burst.INCR)
        m.d.comb += self.axi.awcache.eq(0b0011)  # normal memory, bufferable
        m.d.comb += waiting.w_en.eq(bursts.valid & self.axi.awready)
        m.d.comb += waiting.w_data.eq(bursts.payload.last)

        failed = Signal()  # an earlier burst of this payload did
        failed_now = Signal()
        m.d.comb += self.axi.bready.eq(waiting.r_rdy)
        m.d.comb += waiting.r_en.eq(self.axi.bvalid)
        m.d.comb += failed_now.eq(failed | self.axi.bresp.as_value()[1])
        m.d.sync += self.written.eq(0)
        m.d.sync += self.error.eq(0)
        with m.If(self.axi.bvalid & self.axi.bready):
            m.d.sync += failed.eq(failed_now & ~waiting.r_data)
            m.d.sync += self.written.eq(waiting.r_data)
            m.d.sync += self.error.eq(waiting.r_data & failed_now)
        m.d.comb += self.events.rx_payload_written.eq(self.written & ~self.error)
        m.d.comb += self.events.rx_payload_write_error.eq(self.error)
