"""ALINX AX7325B.

Pins: amaranth-boards 0.0.21, without memories and cages: there two of its SFP cages share a pin.
"""

from amaranth.build import Attrs, Clock, DiffPairs, Resource
from amaranth_boards.resources.interface import UARTResource
from amaranth_boards.resources.user import LEDResources

from .openxc7 import OpenXc7Platform

__all__ = ["Ax7325bPlatform"]


class Ax7325bPlatform(OpenXc7Platform):
    """ALINX AX7325B."""

    device = "xc7k325t"
    package = "ffg900"
    speed = "2"
    default_clk = "clk200"
    pll = (1, 5, 12)
    fabric_hz = 83_333_333
    resources = (
        Resource(
            "clk200", 0, DiffPairs("AE10", "AF10", dir="i"), Clock(200e6), Attrs(IOSTANDARD="LVDS")
        ),
        *LEDResources(pins="A22 C19 B19 E18", attrs=Attrs(IOSTANDARD="LVCMOS15")),
        UARTResource(0, rx="AJ26", tx="AK26", attrs=Attrs(IOSTANDARD="LVCMOS33")),
    )
