"""AMD VCU118.

Pins, configuration and CMAC sites: constraint files of taxi (2f2fe728), the same in corundum
(1ca0151b).
"""

from types import MappingProxyType

from amaranth.build import Attrs, Clock, DiffPairs, Pins, Resource
from amaranth_boards.resources.interface import I2CResource, UARTResource
from amaranth_boards.resources.user import ButtonResources, LEDResources, SwitchResources

from .parts import Cage, Flash, PCIe
from .resources import pcie_resource, qsfp_resource
from .ultrascale import UltraScalePlusPlatform

__all__ = ["VCU118Platform"]


class VCU118Platform(UltraScalePlusPlatform):
    """AMD VCU118."""

    device = "xcvu9p"
    package = "flga2104"
    speed = "2L-e"
    default_clk = "clk125"
    resources = (
        # The cages are called 1 and 2 on the board.
        qsfp_resource(
            0,
            rx_p="Y2 W4 V2 U4",
            rx_n="Y1 W3 V1 U3",
            tx_p="V7 T7 P7 M7",
            tx_n="V6 T6 P6 M6",
            modsel_n="AM21",
            reset_n="BA22",
            modprs_n="AL21",
            int_n="AP21",
            lpmode="AN21",
            attrs=Attrs(IOSTANDARD="LVCMOS18"),
        ),
        Resource("qsfp_refclk", 0, DiffPairs("W9", "W8", dir="i"), Clock(156.25e6)),
        Resource("qsfp_refclk_si5328", 0, DiffPairs("U9", "U8", dir="i")),
        Resource("qsfp_recclk", 0, DiffPairs("AM23", "AM22", dir="o"), Attrs(IOSTANDARD="LVDS")),
        qsfp_resource(
            1,
            rx_p="T2 R4 P2 M2",
            rx_n="T1 R3 P1 M1",
            tx_p="L5 K7 J5 H7",
            tx_n="L4 K6 J4 H6",
            modsel_n="AN23",
            reset_n="AY22",
            modprs_n="AN24",
            int_n="AT21",
            lpmode="AT24",
            attrs=Attrs(IOSTANDARD="LVCMOS18"),
        ),
        Resource("qsfp_refclk", 1, DiffPairs("R9", "R8", dir="i"), Clock(156.25e6)),
        Resource("qsfp_refclk_si5328", 1, DiffPairs("N9", "N8", dir="i")),
        Resource("qsfp_recclk", 1, DiffPairs("AP23", "AP22", dir="o"), Attrs(IOSTANDARD="LVDS")),
        # To both cages through a multiplexer.
        I2CResource(0, scl="AM24", sda="AL24", attrs=Attrs(IOSTANDARD="LVCMOS18")),
        *LEDResources(
            pins="AT32 AV34 AY30 BB32 BF32 AU37 AV36 BA37", attrs=Attrs(IOSTANDARD="LVCMOS12")
        ),
        # North, west, south, east, centre: SW10, SW6, SW17, SW9, SW7.
        *ButtonResources(pins="BB24 BF22 BE22 BE23 BD23", attrs=Attrs(IOSTANDARD="LVCMOS18")),
        *SwitchResources(pins="B17 G16 J16 D21", attrs=Attrs(IOSTANDARD="LVCMOS12")),
        # SW5.
        Resource("cpu_reset", 0, Pins("L19", dir="i"), Attrs(IOSTANDARD="LVCMOS12")),
        # CP2105, "standard" port.
        UARTResource(
            0,
            rx="AW25",
            tx="BB21",
            rts="BB22",
            cts="AY25",
            role="dte",
            attrs=Attrs(IOSTANDARD="LVCMOS18"),
        ),
        pcie_resource(
            0,
            rx_p="AA4 AB2 AC4 AD2 AE4 AF2 AG4 AH2 AJ4 AK2 AM2 AP2 AT2 AV2 AY2 BB2",
            rx_n="AA3 AB1 AC3 AD1 AE3 AF1 AG3 AH1 AJ3 AK1 AM1 AP1 AT1 AV1 AY1 BB1",
            tx_p="Y7 AB7 AD7 AF7 AH7 AK7 AM7 AN5 AP7 AR5 AT7 AU5 AW5 BA5 BC5 BE5",
            tx_n="Y6 AB6 AD6 AF6 AH6 AK6 AM6 AN4 AP6 AR4 AT6 AU4 AW4 BA4 BC4 BE4",
            reset_n="AM17",
            attrs=Attrs(IOSTANDARD="LVCMOS18"),
        ),
        Resource("pcie_refclk", 1, DiffPairs("AC9", "AC8", dir="i"), Clock(100e6)),
        Resource("pcie_refclk", 2, DiffPairs("AL9", "AL8", dir="i"), Clock(100e6)),
        Resource(
            "clk125", 0, DiffPairs("AY24", "AY23", dir="i"), Clock(125e6), Attrs(IOSTANDARD="LVDS")
        ),
        Resource(
            "clk300",
            0,
            DiffPairs("G31", "F31", dir="i"),
            Clock(300e6),
            Attrs(IOSTANDARD="DIFF_SSTL12"),
        ),
        Resource(
            "clk250",
            1,
            DiffPairs("E12", "D12", dir="i"),
            Clock(250e6),
            Attrs(IOSTANDARD="DIFF_SSTL12"),
        ),
        Resource(
            "clk250",
            2,
            DiffPairs("AW26", "AW27", dir="i"),
            Clock(250e6),
            Attrs(IOSTANDARD="DIFF_SSTL12"),
        ),
        Resource("clk90", 0, Pins("AL20", dir="i"), Clock(90e6), Attrs(IOSTANDARD="LVCMOS18")),
        Resource("sma_clk", 0, DiffPairs("R32", "P32", dir="i"), Attrs(IOSTANDARD="LVDS")),
    )
    connectors = ()
    cages = (
        Cage(gt_group="X1Y48~X1Y51", quad=231, cmac="CMACE4_X0Y7", refclk_hz=156_250_000),
        Cage(gt_group="X1Y52~X1Y55", quad=232, cmac="CMACE4_X0Y8", refclk_hz=156_250_000),
    )
    pcie = PCIe(generation=3, lanes=16, refclk=1)
    flash = Flash(interface="SPIx8", megabytes=256, address=0)
    properties = MappingProxyType({
        "CONFIG_VOLTAGE": "1.8",
        "CFGBVS": "GND",
        "BITSTREAM.CONFIG.SPI_BUSWIDTH": "8",
        "BITSTREAM.CONFIG.EXTMASTERCCLK_EN": "DIV-1",
        "BITSTREAM.CONFIG.SPI_FALL_EDGE": "YES",
        "BITSTREAM.CONFIG.SPI_32BIT_ADDR": "YES",
        "BITSTREAM.CONFIG.OVERTEMPSHUTDOWN": "ENABLE",
        "BITSTREAM.GENERAL.COMPRESS": "TRUE",
    })
