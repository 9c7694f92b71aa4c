"""AMD KC705.

Pins: amaranth-boards 0.0.21. The UART is in the same bank as the clock, so that its standard is
that of 2.5 V.
"""

from amaranth.build import Attrs, Clock, DiffPairs, Resource
from amaranth_boards.resources.interface import UARTResource
from amaranth_boards.resources.user import LEDResources

from .openxc7 import OpenXc7Platform

__all__ = ["Kc705Platform"]


class Kc705Platform(OpenXc7Platform):
    """AMD KC705."""

    device = "xc7k325t"
    package = "ffg900"
    speed = "2"
    default_clk = "clk156"
    pll = (1, 6, 12)
    fabric_hz = 78_125_000
    resources = (
        Resource(
            "clk156",
            0,
            DiffPairs("K28", "K29", dir="i"),
            Clock(156.25e6),
            Attrs(IOSTANDARD="LVDS_25"),
        ),
        *LEDResources(pins="AB8 AA8 AC9 AB9 AE26 G19 E18 F16", attrs=Attrs(IOSTANDARD="LVCMOS15")),
        UARTResource(0, rx="M19", tx="K24", attrs=Attrs(IOSTANDARD="LVCMOS25")),
    )
