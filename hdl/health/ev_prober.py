"""Probes that the host asks for."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.outcome import EvProbeResult
from mrcnic.hdl.descriptor.outwards import EvProbeRequest
from mrcnic.hdl.descriptor.settings import Settings
from mrcnic.hdl.descriptor.sizes import NOW_BITS

from .links import RECOVERY_PROBE, EndpointSend, Operation, ProbeEcho

__all__ = ["EvProber"]

#: Longest round trip that a time stamp can tell, in ticks.
_LONGEST = (1 << 16) - 1


class EvProber(wiring.Component):
    """Probe a path to a remote NIC, and measure how long it takes there and back.

    One probe is under way at a time. Its round trip is told in ticks, from when its header was
    made to when its answer was found to be one, and is right if below 8.39 ms. It is lost after
    ``settings.probe_timeout``, and its answer counts no more from then on.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    i : ``In(stream.Signature(EvProbeRequest(config)))``
        Paths to be probed.
    o : ``Out(stream.Signature(EvProbeResult(config)))``
        What came of it, for each.
    sends : ``Out(stream.Signature(EndpointSend(config)))``
        Probes.
    echo : ``In(ProbeEcho(config))``
        Answers.
    settings : ``In(Settings(config))``
    now : ``In(NOW_BITS)``
    events : ``Out``
        ``probe_answer_unknown``: an answer to no probe that is under way, and not to one of a link.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "i": In(stream.Signature(EvProbeRequest(config))),
            "o": Out(stream.Signature(EvProbeResult(config))),
            "sends": Out(stream.Signature(EndpointSend(config))),
            "echo": In(ProbeEcho(config)),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "events": Out(data.StructLayout({"probe_answer_unknown": 1})),
        })

    def elaborate(self, platform):
        m = Module()

        number, waiting = Signal(15), Signal()
        sent = Signal(NOW_BITS)
        send, result = self.sends.payload, self.o.payload
        m.d.comb += self.i.ready.eq(~self.sends.valid & ~waiting & ~self.o.valid)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                self.sends.valid.eq(1),
                send.peer.eq(self.i.payload.peer),
                send.plane.eq(self.i.payload.plane),
                send.fixed.eq(1),
                send.ev.eq(self.i.payload.ev),
                send.operation.eq(Operation.PROBE),
                send.identifier.eq(number),
                result.peer.eq(self.i.payload.peer),
                result.plane.eq(self.i.payload.plane),
                result.ev.eq(self.i.payload.ev),
            ]
        with m.If(self.sends.valid & self.sends.ready):
            m.d.sync += [self.sends.valid.eq(0), waiting.eq(1), sent.eq(self.now)]

        waited, back = Signal(NOW_BITS), Signal()
        m.d.comb += [
            waited.eq(self.now - sent),
            back.eq(
                self.echo.valid
                & waiting
                & (self.echo.peer == result.peer)
                & (self.echo.identifier == number)
            ),
            self.events.probe_answer_unknown.eq(
                self.echo.valid & ~back & ((self.echo.identifier & RECOVERY_PROBE) == 0)
            ),
        ]
        with m.If(waiting & (back | (waited > self.settings.probe_timeout))):
            m.d.sync += [
                waiting.eq(0),
                number.eq(number + 1),
                self.o.valid.eq(1),
                result.answered.eq(back),
                result.marked.eq(back & self.echo.marked),
                result.round_trip.eq(self.now[:16] - self.echo.tx_timestamp),
            ]
            with m.If(~back):
                m.d.sync += result.round_trip.eq(_LONGEST)
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += self.o.valid.eq(0)

        return m
