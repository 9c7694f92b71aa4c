"""Silicom fb2CG@KU15P.

Pins, configuration and CMAC sites: constraint files of taxi (2f2fe728), the same in corundum
(1ca0151b) but for a swapped pair of the second DDR4 clock, which is not used here.
"""

from types import MappingProxyType

from amaranth.build import Attrs, Clock, DiffPairs, Pins, PinsN, Resource, Subsignal
from amaranth_boards.resources.user import LEDResources

from .parts import Cage, Flash, PCIe
from .resources import pcie_resource, qsfp_resource
from .ultrascale import UltraScalePlusPlatform

__all__ = ["Fb2CGPlatform"]


class Fb2CGPlatform(UltraScalePlusPlatform):
    """Silicom fb2CG@KU15P."""

    device = "xcku15p"
    package = "ffve1760"
    speed = "2-e"
    default_clk = "clk50"
    resources = (
        qsfp_resource(
            0,
            rx_p="Y39 W41 V39 U41",
            rx_n="Y40 W42 V40 U42",
            tx_p="Y34 W36 V34 U36",
            tx_n="Y35 W37 V35 U37",
            reset_n="A8",
            modprs_n="B9",
            int_n="A10",
            lpmode="A9",
            scl="B8",
            sda="B7",
            attrs=Attrs(IOSTANDARD="LVCMOS33"),
        ),
        Resource("qsfp_refclk", 0, DiffPairs("W32", "W33", dir="i"), Clock(161_132_812.5)),
        qsfp_resource(
            1,
            rx_p="M39 L41 K39 J41",
            rx_n="M40 L42 K40 J42",
            tx_p="M34 L36 K34 J36",
            tx_n="M35 L37 K35 J37",
            reset_n="C10",
            modprs_n="E10",
            int_n="D10",
            lpmode="D9",
            scl="C9",
            sda="D8",
            attrs=Attrs(IOSTANDARD="LVCMOS33"),
        ),
        Resource("qsfp_refclk", 1, DiffPairs("P30", "P31", dir="i"), Clock(161_132_812.5)),
        # Two of the board controller, two of the expansion; all others hang on a shift register.
        *LEDResources(pins={0: "C5", 1: "C6"}, attrs=Attrs(IOSTANDARD="LVCMOS18")),
        *LEDResources(pins={2: "D3", 3: "D4"}, attrs=Attrs(IOSTANDARD="LVCMOS33")),
        Resource(
            "led_shift",
            0,
            Subsignal("d", Pins("C4", dir="o")),
            Subsignal("ld", Pins("B3", dir="o")),
            Subsignal("clk", Pins("G3", dir="o")),
            Attrs(IOSTANDARD="LVCMOS33"),
        ),
        # PPS: in from SMA J6 (inverted by Q1), out to it when enabled, and to u.FL J7.
        Resource(
            "pps",
            0,
            Subsignal("i", PinsN("B4", dir="i")),
            Subsignal("o", Pins("A4", dir="o")),
            Subsignal("en", Pins("A3", dir="o")),
            Attrs(IOSTANDARD="LVCMOS33"),
        ),
        Resource("ucoax", 0, Pins("H2", dir="i"), Attrs(IOSTANDARD="LVCMOS33")),
        Resource("fan_tacho", 0, Pins("J2 J3", dir="i"), Attrs(IOSTANDARD="LVCMOS33")),
        Resource("power_good", 0, Pins("A6 C7", dir="i"), Attrs(IOSTANDARD="LVCMOS18")),
        Resource("pcie_power_brake", 0, Pins("E2", dir="i"), Attrs(IOSTANDARD="LVCMOS33")),
        # Board controller.
        Resource(
            "bmc",
            0,
            Subsignal("cipo", Pins("D7", dir="i")),
            Subsignal("cs", PinsN("J4", dir="o")),
            Subsignal("clk", Pins("B6", dir="o")),
            Subsignal("copi", Pins("D5", dir="o")),
            Subsignal("int", Pins("H4", dir="i")),
            Attrs(IOSTANDARD="LVCMOS18"),
        ),
        pcie_resource(
            0,
            rx_p="AG2 AH4 AJ2 AK4 AL2 AM4 AN2 AP4 AR2 AT4 AU2 AV4 AW2 AY4 BA2 BB4",
            rx_n="AG1 AH3 AJ1 AK3 AL1 AM3 AN1 AP3 AR1 AT3 AU1 AV3 AW1 AY3 BA1 BB3",
            tx_p="AG6 AH8 AJ6 AK8 AL6 AM8 AN6 AP8 AR6 AT8 AU6 AV8 AW6 AY8 BA6 BB8",
            tx_n="AG5 AH7 AJ5 AK7 AL5 AM7 AN5 AP7 AR5 AT7 AU5 AV7 AW5 AY7 BA5 BB7",
            reset_n="G1",
            attrs=Attrs(IOSTANDARD="LVCMOS33"),
        ),
        Resource("pcie_refclk", 0, DiffPairs("AN10", "AN9", dir="i"), Clock(100e6)),
        # Not a clock-capable pin: see `constraints`.
        Resource("clk50", 0, Pins("E7", dir="i"), Clock(50e6), Attrs(IOSTANDARD="LVCMOS18")),
        Resource(
            "clk_ddr4", 1, DiffPairs("AT32", "AU32", dir="i"), Attrs(IOSTANDARD="DIFF_SSTL12")
        ),
        Resource("clk_ddr4", 2, DiffPairs("G29", "G28", dir="i"), Attrs(IOSTANDARD="DIFF_SSTL12")),
    )
    connectors = ()
    cages = (
        Cage(gt_group="X0Y12~X0Y15", quad=130, cmac="CMACE4_X0Y1", refclk_hz=161_132_812.5),
        Cage(gt_group="X0Y20~X0Y23", quad=132, cmac="CMACE4_X0Y2", refclk_hz=161_132_812.5),
    )
    pcie = PCIe(generation=3, lanes=16, refclk=0)
    flash = Flash(interface="SPIx4", megabytes=128, address=0)
    properties = MappingProxyType({
        "CONFIG_VOLTAGE": "1.8",
        "CFGBVS": "GND",
        "CONFIG_MODE": "SPIx4",
        "BITSTREAM.CONFIG.SPI_BUSWIDTH": "4",
        "BITSTREAM.CONFIG.CONFIGRATE": "85.0",
        "BITSTREAM.CONFIG.EXTMASTERCCLK_EN": "DISABLE",
        "BITSTREAM.CONFIG.SPI_FALL_EDGE": "YES",
        "BITSTREAM.CONFIG.SPI_32BIT_ADDR": "YES",
        "BITSTREAM.CONFIG.OVERTEMPSHUTDOWN": "ENABLE",
        "BITSTREAM.GENERAL.COMPRESS": "TRUE",
    })
    # Its pin is no clock pin, but another column's clock manager may take it.
    constraints = (
        "set_property CLOCK_DEDICATED_ROUTE ANY_CMT_COLUMN [get_nets -of [get_ports clk50_0__io]]",
    )
