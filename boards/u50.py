"""AMD Alveo U50.

Pins: constraint files of taxi (2f2fe728), the same in corundum (1ca0151b) and, for clocks, PCIe and
UART, in open-nic-shell (940907fc). CMAC site: all three, and the esnet SmartNIC.
Configuration: taxi; power budget: open-nic-shell.

The transceivers have 4 A; one 100G design is near the limit.
"""

from amaranth.build import Attrs, Clock, DiffPairs, Pins, PinsN, Resource, Subsignal
from amaranth_boards.resources.interface import UARTResource
from amaranth_boards.resources.user import LEDResources

from .parts import Cage, Flash, PCIe
from .resources import pcie_resource, qsfp_resource
from .ultrascale import ALVEO, UltraScalePlusPlatform

__all__ = ["U50Platform"]


class U50Platform(UltraScalePlusPlatform):
    """AMD Alveo U50."""

    device = "xcu50"
    package = "fsvh2104"
    speed = "2-e"
    default_clk = "clk100"
    resources = (
        # Lanes: bank 131. The cage is managed by the satellite controller.
        qsfp_resource(
            0,
            rx_p="J45 G45 F43 E45",
            rx_n="J46 G46 F44 E46",
            tx_p="D42 C40 B42 A40",
            tx_n="D43 C41 B43 A41",
        ),
        # Si5394 OUT0 and OUT2.
        Resource("qsfp_refclk", 0, DiffPairs("N36", "N37", dir="i"), Clock(161_132_812.5)),
        Resource("qsfp_refclk_322m", 0, DiffPairs("M38", "M39", dir="i"), Clock(322_265_625)),
        Resource("qsfp_recclk", 0, DiffPairs("F19", "F18", dir="o"), Attrs(IOSTANDARD="LVDS")),
        # LEDs of the cage: activity, green, yellow.
        *LEDResources(pins="E18 E16 F17", attrs=Attrs(IOSTANDARD="LVCMOS18")),
        # Through the debug module (DMB-1).
        UARTResource(0, rx="BF26", tx="BE26", attrs=Attrs(IOSTANDARD="LVCMOS18")),
        UARTResource(1, rx="B15", tx="A17", attrs=Attrs(IOSTANDARD="LVCMOS18")),
        UARTResource(2, rx="A18", tx="A19", attrs=Attrs(IOSTANDARD="LVCMOS18")),
        # Must not float: high turns the card off.
        Resource("hbm_cattrip", 0, Pins("J18", dir="o"), Attrs(IOSTANDARD="LVCMOS18")),
        Resource(
            "si5394",
            0,
            Subsignal("rst", PinsN("F20", dir="o")),
            Subsignal("int", PinsN("H18", dir="i")),
            Subsignal("lol", PinsN("G19", dir="i")),
            Subsignal("los", PinsN("H19", dir="i")),
            Subsignal("scl", Pins("L19", dir="io")),
            Subsignal("sda", Pins("J16", dir="io")),
            Attrs(IOSTANDARD="LVCMOS18"),
        ),
        # Satellite controller.
        Resource("msp_gpio", 0, Pins("C16 C17", dir="io"), Attrs(IOSTANDARD="LVCMOS18")),
        UARTResource("msp_uart", 0, rx="BB26", tx="BB25", attrs=Attrs(IOSTANDARD="LVCMOS18")),
        pcie_resource(
            0,
            rx_p="AL2 AM4 AK4 AN2 AP4 AR2 AT4 AU2 AV4 AW2 BA2 BC2 AY4 BB4 BD4 BE6",
            rx_n="AL1 AM3 AK3 AN1 AP3 AR1 AT3 AU1 AV3 AW1 BA1 BC1 AY3 BB3 BD3 BE5",
            tx_p="Y5 AA7 AB5 AC7 AD5 AF5 AE7 AH5 AG7 AJ7 AL7 AM9 AN7 AP9 AR7 AT9",
            tx_n="Y4 AA6 AB4 AC6 AD4 AF4 AE6 AH4 AG6 AJ6 AL6 AM8 AN6 AP8 AR6 AT8",
            reset_n="AW27",
            attrs=Attrs(IOSTANDARD="LVCMOS18"),
        ),
        Resource("pcie_refclk", 0, DiffPairs("AB9", "AB8", dir="i"), Clock(100e6)),
        Resource("pcie_refclk", 1, DiffPairs("AF9", "AF8", dir="i"), Clock(100e6)),
        Resource("pcie_refclk", 2, DiffPairs("AA11", "AA10", dir="i"), Clock(100e6)),
        Resource("pcie_refclk", 3, DiffPairs("AE11", "AE10", dir="i"), Clock(100e6)),
        Resource(
            "clk100", 0, DiffPairs("G17", "G16", dir="i"), Clock(100e6), Attrs(IOSTANDARD="LVDS")
        ),
        Resource(
            "clk100", 1, DiffPairs("BB18", "BC18", dir="i"), Clock(100e6), Attrs(IOSTANDARD="LVDS")
        ),
    )
    connectors = ()
    cages = (Cage(gt_group="X0Y28~X0Y31", quad=131, cmac="CMACE4_X0Y4", refclk_hz=161_132_812.5),)
    pcie = PCIe(generation=3, lanes=16, refclk=1)
    flash = Flash(interface="SPIx4", megabytes=128, address=0x0100_2000)
    properties = ALVEO
    power_budget_w = 63
