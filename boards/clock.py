"""One clock for the fabric of a board, from the one it has."""

from amaranth.hdl import ClockSignal, Const, Elaboratable, Instance, Module, Signal
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer

__all__ = ["BoardClock"]


class BoardClock(Elaboratable):
    """Drive the domain ``sync`` of a board, which is its user's, at the board's ``fabric_hz``.

    Reset ends when the clock is stable, and begins with the board's reset button if there is one.

    Parameters
    ----------
    platform
        Platform; its family is ECP5, 7-series or UltraScale+.
    """

    def __init__(self, platform):
        self._pin = platform.request(platform.default_clk, dir="-")
        self._reset = None
        if platform.default_rst is not None:
            self._reset = platform.request(platform.default_rst, dir="-")

    def elaborate(self, platform):
        m = Module()

        m.submodules.clock = clock = io.Buffer("i", self._pin)
        pressed = Const(0)
        if self._reset is not None:
            m.submodules.reset = reset = io.Buffer("i", self._reset)
            pressed = reset.i
        make = {"ecp5": _ecp5, "series7": _series7, "ultrascaleplus": _ultrascale_plus}
        stable = Signal()
        m.submodules.source = make[platform.family](platform, clock.i, stable)
        m.submodules.synchronizer = ResetSynchronizer(~stable | pressed, domain="sync")

        return m


def _ecp5(platform, clock, stable):
    reference, feedback, output = platform.pll
    return Instance(
        "EHXPLLL",
        a_ICP_CURRENT="12",
        a_LPF_RESISTOR="8",
        a_MFG_ENABLE_FILTEROPAMP="1",
        a_MFG_GMCREF_SEL="2",
        p_CLKI_DIV=reference,
        p_CLKFB_DIV=feedback,
        p_CLKOP_DIV=output,
        p_CLKOP_CPHASE=output // 2,
        p_CLKOP_ENABLE="ENABLED",
        p_FEEDBK_PATH="CLKOP",
        i_CLKI=clock,
        i_CLKFB=ClockSignal(),
        i_RST=Const(0),
        i_STDBY=Const(0),
        i_PHASESEL0=Const(0),
        i_PHASESEL1=Const(0),
        i_PHASEDIR=Const(1),
        i_PHASESTEP=Const(1),
        i_PHASELOADREG=Const(1),
        i_PLLWAKESYNC=Const(0),
        i_ENCLKOP=Const(0),
        o_CLKOP=ClockSignal(),
        o_LOCK=stable,
    )


def _series7(platform, clock, stable):
    m = Module()
    reference, feedback, output = platform.pll
    loop, fast = Signal(), Signal()
    m.submodules.pll = Instance(
        "PLLE2_BASE",
        p_DIVCLK_DIVIDE=reference,
        p_CLKFBOUT_MULT=feedback,
        p_CLKOUT0_DIVIDE=output,
        p_CLKIN1_PERIOD=1e9 / platform.default_clk_frequency,
        i_CLKIN1=clock,
        i_CLKFBIN=loop,
        i_RST=Const(0),
        i_PWRDWN=Const(0),
        o_CLKFBOUT=loop,
        o_CLKOUT0=fast,
        o_LOCKED=stable,
    )
    m.submodules.buffer = Instance("BUFG", i_I=fast, o_O=ClockSignal())
    return m


def _ultrascale_plus(platform, clock, stable):
    m = Module()
    m.submodules.divider = Instance(
        "BUFGCE_DIV",
        p_BUFGCE_DIVIDE=platform.divider,
        i_I=clock,
        i_CE=Const(1),
        i_CLR=Const(0),
        o_O=ClockSignal(),
    )
    # Logic starts with the end of configuration, which the board's oscillators outlast.
    m.submodules.startup = Instance("STARTUPE3", o_EOS=stable)
    return m
