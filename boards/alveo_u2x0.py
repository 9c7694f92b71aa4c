"""AMD Alveo U200 and U250, which have one pinout.

Pins: constraint files of taxi (2f2fe728), the same in corundum (1ca0151b) and, for clocks, PCIe and
UART, in open-nic-shell (940907fc). Configuration: taxi and open-nic-shell.
"""

from types import MappingProxyType

from amaranth.build import Attrs, Clock, DiffPairs, Pins, Resource, Subsignal
from amaranth_boards.resources.interface import I2CResource, UARTResource
from amaranth_boards.resources.user import LEDResources, SwitchResources

from .parts import Flash, PCIe
from .resources import pcie_resource, qsfp_resource
from .ultrascale import ALVEO, UltraScalePlusPlatform

__all__ = ["AlveoU2x0Platform"]


class AlveoU2x0Platform(UltraScalePlusPlatform):
    """What Alveo U200 and U250 have in common."""

    default_clk = "clk_user"
    divider = 2
    resources = (
        qsfp_resource(
            0,
            rx_p="N4 M2 L4 K2",
            rx_n="N3 M1 L3 K1",
            tx_p="N9 M7 L9 K7",
            tx_n="N8 M6 L8 K6",
            modsel_n="BE16",
            reset_n="BE17",
            modprs_n="BE20",
            int_n="BE21",
            lpmode="BD18",
            attrs=Attrs(IOSTANDARD="LVCMOS12"),
        ),
        Resource("qsfp_refclk", 0, DiffPairs("M11", "M10", dir="i"), Clock(156.25e6)),
        # 156.25 or 161.1328125 MHz, by the frequency-select pins.
        Resource("qsfp_refclk_select", 0, DiffPairs("K11", "K10", dir="i")),
        Resource(
            "qsfp_refclk_control",
            0,
            Subsignal("reset", Pins("AT22", dir="o")),
            Subsignal("fs", Pins("AT20 AU22", dir="o")),
            Attrs(IOSTANDARD="LVCMOS12"),
        ),
        qsfp_resource(
            1,
            rx_p="U4 T2 R4 P2",
            rx_n="U3 T1 R3 P1",
            tx_p="U9 T7 R9 P7",
            tx_n="U8 T6 R8 P6",
            modsel_n="AY20",
            reset_n="BC18",
            modprs_n="BC19",
            int_n="AV21",
            lpmode="AV22",
            attrs=Attrs(IOSTANDARD="LVCMOS12"),
        ),
        Resource("qsfp_refclk", 1, DiffPairs("T11", "T10", dir="i"), Clock(156.25e6)),
        # 156.25 or 161.1328125 MHz, by the frequency-select pins.
        Resource("qsfp_refclk_select", 1, DiffPairs("P11", "P10", dir="i")),
        Resource(
            "qsfp_refclk_control",
            1,
            Subsignal("reset", Pins("AR21", dir="o")),
            Subsignal("fs", Pins("AR22 AU20", dir="o")),
            Attrs(IOSTANDARD="LVCMOS12"),
        ),
        # To both cages through a multiplexer.
        I2CResource(0, scl="BF20", sda="BF17", attrs=Attrs(IOSTANDARD="LVCMOS12")),
        Resource("i2c_mux_reset", 0, Pins("BF19", dir="o"), Attrs(IOSTANDARD="LVCMOS12")),
        *LEDResources(pins="BC21 BB21 BA20", attrs=Attrs(IOSTANDARD="LVCMOS12")),
        *SwitchResources(pins="AN22 AM19 AL19 AP20", attrs=Attrs(IOSTANDARD="LVCMOS12")),
        Resource("cpu_reset", 0, Pins("AL20", dir="i"), Attrs(IOSTANDARD="LVCMOS12")),
        # Through the FT4232H on the board.
        UARTResource(0, rx="BF18", tx="BB20", attrs=Attrs(IOSTANDARD="LVCMOS12")),
        # Satellite controller.
        Resource(
            "msp_gpio", 0, Pins("AR20 AM20 AM21 AN21", dir="io"), Attrs(IOSTANDARD="LVCMOS12")
        ),
        UARTResource("msp_uart", 0, rx="BA19", tx="BB19", attrs=Attrs(IOSTANDARD="LVCMOS12")),
        pcie_resource(
            0,
            rx_p="AF2 AG4 AH2 AJ4 AK2 AL4 AM2 AN4 AP2 AR4 AT2 AU4 AV2 AW4 BA2 BC2",
            rx_n="AF1 AG3 AH1 AJ3 AK1 AL3 AM1 AN3 AP1 AR3 AT1 AU3 AV1 AW3 BA1 BC1",
            tx_p="AF7 AG9 AH7 AJ9 AK7 AL9 AM7 AN9 AP7 AR9 AT7 AU9 AV7 BB5 BD5 BF5",
            tx_n="AF6 AG8 AH6 AJ8 AK6 AL8 AM6 AN8 AP6 AR8 AT6 AU8 AV6 BB4 BD4 BF4",
            reset_n="BD21",
            attrs=Attrs(IOSTANDARD="LVCMOS12"),
        ),
        Resource("pcie_refclk", 0, DiffPairs("AM11", "AM10", dir="i"), Clock(100e6)),
        # Si570.
        Resource(
            "clk_user",
            0,
            DiffPairs("AU19", "AV19", dir="i"),
            Clock(156.25e6),
            Attrs(IOSTANDARD="LVDS"),
        ),
    )
    connectors = ()
    pcie = PCIe(generation=3, lanes=16, refclk=0)
    flash = Flash(interface="SPIx4", megabytes=128, address=0x0100_2000)
    properties = MappingProxyType({**ALVEO, "BITSTREAM.CONFIG.CONFIGRATE": "63.8"})
    power_budget_w = 160
