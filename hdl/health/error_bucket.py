"""How many errors a port makes."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.descriptor.settings import Settings
from mrcnic.hdl.descriptor.sizes import NOW_BITS

__all__ = ["ErrorBucket"]

#: Width of the level: it saturates there.
_LEVEL_BITS = 24


class ErrorBucket(wiring.Component):
    """Fill a bucket with errors, out of which they leak, and tell when it runs over.

    The port is degraded from the cycle after that in which the bucket holds
    ``settings.error_limit`` errors until it is empty: so a rate near the limit does not make the
    port come and go. With a limit of 0 it never is. The bucket loses an error each
    ``settings.error_leak`` ticks. It stands empty while ``enable`` is off.

    Errors are in the bucket two cycles after they were told.

    Parameters
    ----------
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes.

    Members
    -------
    symbols : ``In(4)``
        Errors corrected since the last cycle.
    uncorrected : ``In(1)``
        An uncorrected code word; weighs ``settings.error_weight``.
    enable : ``In(1)``
        Errors count.
    settings : ``In(Settings(config))``
        Limit, leak and weight.
    now : ``In(NOW_BITS)``
        Time.
    degraded : ``Out(1)``
        There are too many.
    """

    def __init__(self, config: NicConfig):
        super().__init__({
            "symbols": In(4),
            "uncorrected": In(1),
            "enable": In(1),
            "settings": In(Settings(config)),
            "now": In(NOW_BITS),
            "degraded": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        settings = self.settings
        last = Signal.like(self.now)
        ticks = Signal.like(settings.error_leak)  # since the last leak
        leaks = Signal()
        m.d.sync += [last.eq(self.now), leaks.eq(0)]
        with m.If(self.now != last):
            m.d.sync += ticks.eq(ticks + 1)
            with m.If(ticks + 1 >= settings.error_leak):
                m.d.sync += [ticks.eq(0), leaks.eq(1)]

        # What comes in less what leaks out, so that there is one adder behind it.
        change = Signal(signed(10))
        m.d.sync += change.eq(
            self.symbols - leaks + Mux(self.uncorrected, settings.error_weight, 0)
        )

        level = Signal(_LEVEL_BITS)
        filled = Signal(signed(_LEVEL_BITS + 2))
        m.d.comb += filled.eq(level + change)
        m.d.sync += level.eq(filled)
        with m.If(filled < 0):
            m.d.sync += level.eq(0)
        with m.Elif(filled[_LEVEL_BITS]):
            m.d.sync += level.eq((1 << _LEVEL_BITS) - 1)
        with m.If(~self.enable):
            m.d.sync += level.eq(0)

        with m.If(level == 0):
            m.d.sync += self.degraded.eq(0)
        with m.Elif((level >= settings.error_limit) & (settings.error_limit != 0)):
            m.d.sync += self.degraded.eq(1)

        return m
