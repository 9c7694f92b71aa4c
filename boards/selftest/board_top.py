"""The on-chip test on a board: clock, LEDs, button, serial line."""

from amaranth.hdl import Cat, ClockDomain, Elaboratable, Module, Signal
from amaranth.lib import io
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import connect

from mrcnic.boards.clock import BoardClock
from mrcnic.hdl.config import NicConfig

from .fabric import SPINES
from .reporter import Reporter
from .selftest import COUNTED, Selftest
from .uart import UartReceiver, UartSender

__all__ = ["BoardSelftest"]

_BAUD = 115_200

#: Frames that get lost by chance, of 65536: one in a hundred; and after the command ``l``.
_LOSS, _MORE_LOSS = 655, 6554

#: A button must be still for two to the power of this cycles.
_STILL_BITS = 20

#: Lines of counters, and where there is neither button nor serial line failures, each second.
_SECONDS_DEAD = 4


class BoardSelftest(Elaboratable):
    """On-chip test with what a board has to show it.

    LEDs, as far as there are any: good; bad; a T1 is dead; then one for each NIC that is set up.
    The first button kills the first T1, and brings it back. On the serial line (115200 baud) come
    counters once a second, and it takes ``1`` to ``4`` to kill a T1, ``r`` to bring all back,
    ``l`` to lose one frame in ten, ``n`` to lose none. A board with neither a button nor a
    serial line kills the first T1 for 4 seconds of every 8.

    Parameters
    ----------
    platform
        Platform with ``fabric_hz``.
    config : :class:`~mrcnic.hdl.config.NicConfig`
        Sizes of the NICs.
    nics : :class:`int`
        NICs, 1 or 2.
    """

    def __init__(self, platform, config: NicConfig, *, nics: int):
        self.config = config
        self.hz = platform.fabric_hz
        self.nics = nics
        self._clock = BoardClock(platform)
        self._leds = _all_of(platform, "led") or _colours(platform)
        self._buttons = _all_of(platform, "button")[:1]
        self._line = _all_of(platform, "uart")[:1]
        self._low = _all_of(platform, "hbm_cattrip")

    def elaborate(self, platform):
        m = Module()

        m.domains.sync = ClockDomain()
        m.submodules.clock = self._clock
        m.submodules.test = test = Selftest(self.config, nics=self.nics)
        dead = Signal(SPINES)
        loss = Signal(16, init=_LOSS)
        m.d.comb += test.dead.eq(dead)
        m.d.comb += test.loss.eq(loss)
        if self._buttons:
            self._add_button(m, dead)
        if self._line:
            self._add_line(m, test, dead, loss)
        if not (self._buttons or self._line):
            self._add_timer(m, dead)

        signs = Cat(test.good, test.bad, dead.any(), test.ready)
        for n, led in enumerate(self._leds):
            m.submodules[f"led_{n}"] = buffer = io.Buffer("o", led)
            m.d.comb += buffer.o.eq(signs[n] if n < len(signs) else 0)
        for n, pin in enumerate(self._low):
            m.submodules[f"low_{n}"] = buffer = io.Buffer("o", pin)
            m.d.comb += buffer.o.eq(0)

        return m

    def _add_button(self, m, dead):
        m.submodules.button = buffer = io.Buffer("i", self._buttons[0])
        now, still = Signal(), Signal()
        m.submodules.button_synchronizer = FFSynchronizer(buffer.i, now)
        same = Signal(_STILL_BITS)
        m.d.sync += same.eq(same + 1)
        with m.If(now == still):
            m.d.sync += same.eq(0)
        with m.Elif(same.all()):
            m.d.sync += still.eq(now)
            with m.If(now):
                m.d.sync += dead[0].eq(~dead[0])

    def _add_line(self, m, test, dead, loss):
        divisor = self.hz // _BAUD
        names = [f"{name}{n}" for n in range(self.nics) for name in COUNTED]
        m.submodules.rx_pin = rx = io.Buffer("i", self._line[0].rx)
        m.submodules.tx_pin = tx = io.Buffer("o", self._line[0].tx)
        m.submodules.receiver = receiver = UartReceiver(divisor=divisor)
        m.submodules.sender = sender = UartSender(divisor=divisor)
        m.submodules.reporter = reporter = Reporter(names, period=self.hz)
        connect(m, reporter.o, sender.i)
        for value, counter in zip(reporter.values, test.counters, strict=True):
            m.d.comb += value.eq(counter)
        m.d.comb += receiver.line.eq(rx.i)
        m.d.comb += tx.o.eq(sender.line)
        with m.If(receiver.valid), m.Switch(receiver.octet):
            for n in range(SPINES):
                with m.Case(ord("1") + n):
                    m.d.sync += dead[n].eq(1)
            with m.Case(ord("r")):
                m.d.sync += dead.eq(0)
            with m.Case(ord("l")):
                m.d.sync += loss.eq(_MORE_LOSS)
            with m.Case(ord("n")):
                m.d.sync += loss.eq(0)

    def _add_timer(self, m, dead):
        period = _SECONDS_DEAD * self.hz
        left = Signal(range(period), init=period - 1)
        m.d.sync += left.eq(left - 1)
        with m.If(left == 0):
            m.d.sync += left.eq(period - 1)
            m.d.sync += dead[0].eq(~dead[0])


def _all_of(platform, name):
    """Request all resources of a name, as bare ports."""
    numbers = sorted(number for each, number in platform.resources if each == name)
    return [_request(platform, name, number) for number in numbers]


def _request(platform, name, number):
    resource = platform.lookup(name, number)
    inside = hasattr(resource.ios[0], "ios")
    directions = {sub.name: "-" for sub in resource.ios} if inside else "-"
    return platform.request(name, number, dir=directions)


def _colours(platform):
    """Green, red and blue of the first LED that has colours, then greens of the others."""
    lights = _all_of(platform, "rgb_led")
    if not lights:
        return []
    return [lights[0].g, lights[0].r, lights[0].b, *(light.g for light in lights[1:])]
