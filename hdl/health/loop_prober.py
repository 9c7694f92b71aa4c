"""Proof that a port carries packets."""

from operator import index

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import Settings
from mrcnic.hdl.descriptor.sizes import NOW_BITS

from .links import ProbeEcho

__all__ = ["LoopProber"]

#: Probes that must come back, one after the other.
_PROOFS = 3

#: Bits of an identifier that tell probes of a port apart.
_NUMBER_BITS = 12


class LoopProber(wiring.Component):
    """Send probes from a port to the NIC itself until three in a row have come back by that port.

    They leave half the hold-off apart, so that the proof takes the hold-off (docs/protocol.md,
    "Ports"). One that is not back within ``settings.probe_timeout`` makes the count start again.
    Whenever ``open`` falls, all that was proven is forgotten, and so are probes under way. An
    identifier is the port and 12 bits that count.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.
    port : :class:`int`
        Number of the port.

    Members
    -------
    open : ``In(1)``
        The port's signs are good.
    settings : ``In(Settings(config))``
        ``hold_off``, ``probe_timeout``, and ``loop_probes`` of the port.
    now : ``In(NOW_BITS)``
        Time.
    o : ``Out(stream.Signature(16))``
        Identifiers of probes to be sent.
    echo : ``In(ProbeEcho(config))``
        Probes that came back, by any port.
    proven : ``Out(1)``
        Three have come back, or the host asks for none.
    events : ``Out``
        ``loop_probe_lost``.

    Raises
    ------
    ValueError
        If there is no such port.
    """

    def __init__(self, config: NicConfig, *, port: int = 0):
        self.config = config
        self.port = index(port)
        if self.port not in range(config.lanes):
            raise ValueError(f"port must be from 0 to {config.lanes - 1}, not {port}")
        super().__init__({
            "open": In(1),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "o": Out(stream.Signature(16)),
            "echo": In(ProbeEcho(config)),
            "proven": Out(1),
            "events": Out(data.StructLayout({"loop_probe_lost": 1})),
        })

    def elaborate(self, platform):
        m = Module()

        wanted = self.open & self.settings.port[self.port].loop_probes
        count, number = Signal(range(_PROOFS + 1)), Signal(_NUMBER_BITS)
        waiting = Signal()
        patience = Signal(NOW_BITS)  # ticks left for the probe that is out
        pause = Signal(len(self.settings.hold_off))  # ticks left until the next
        last = Signal.like(self.now)
        tick = Signal()
        m.d.sync += last.eq(self.now)
        m.d.comb += [
            tick.eq(self.now != last),
            self.proven.eq(
                self.open & ((count == _PROOFS) | ~self.settings.port[self.port].loop_probes)
            ),
            self.o.payload.eq(Cat(number, Const(self.port, 16 - _NUMBER_BITS))),
        ]

        with m.If(tick & (pause != 0)):
            m.d.sync += pause.eq(pause - 1)
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [
                self.o.valid.eq(0),
                waiting.eq(1),
                patience.eq(self.settings.probe_timeout),
                pause.eq(self.settings.hold_off >> 1),
            ]
        with m.Elif(waiting):
            back = (
                self.echo.valid
                & (self.echo.lane == self.port)
                & (self.echo.identifier == self.o.payload)
            )
            m.d.sync += patience.eq(patience - tick)
            with m.If(back | (patience == 0)):
                m.d.sync += [
                    waiting.eq(0),
                    number.eq(number + 1),
                    count.eq(count + 1),
                ]
            with m.If(~back & (patience == 0)):
                m.d.sync += count.eq(0)
                m.d.comb += self.events.loop_probe_lost.eq(wanted)
        with m.Elif(wanted & ~self.o.valid & (pause == 0) & (count != _PROOFS)):
            m.d.sync += self.o.valid.eq(1)
        with m.If(~wanted):
            m.d.sync += [count.eq(0), waiting.eq(0), pause.eq(0)]
            with m.If(waiting | (self.o.valid & self.o.ready)):
                m.d.sync += number.eq(number + 1)

        return m
