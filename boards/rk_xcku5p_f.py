"""RK-XCKU5P-F.

Pins, configuration and CMAC site: constraint files of taxi (2f2fe728), the only source there is.
"""

from types import MappingProxyType

from amaranth.build import Attrs, Clock, DiffPairs, Pins, Resource
from amaranth_boards.resources.interface import UARTResource
from amaranth_boards.resources.user import ButtonResources, LEDResources

from .parts import Cage, Flash, PCIe
from .resources import pcie_resource, qsfp_resource
from .ultrascale import UltraScalePlusPlatform

__all__ = ["RkXcku5pFPlatform"]


class RkXcku5pFPlatform(UltraScalePlusPlatform):
    """RK-XCKU5P-F."""

    device = "xcku5p"
    package = "ffvb676"
    speed = "2-e"
    default_clk = "clk200"
    divider = 2
    resources = (
        qsfp_resource(
            0,
            rx_p="Y2 V2 T2 P2",
            rx_n="Y1 V1 T1 P1",
            tx_p="AA5 W5 U5 R5",
            tx_n="AA4 W4 U4 R4",
            modsel_n="W13",
            reset_n="W12",
            modprs_n="AA13",
            int_n="Y13",
            lpmode="W14",
            scl="AE15",
            sda="AE13",
            attrs=Attrs(IOSTANDARD="LVCMOS33"),
        ),
        Resource("qsfp_refclk", 0, DiffPairs("V7", "V6", dir="i"), Clock(156.25e6)),
        *LEDResources(pins="H9 J9 G11 H11", attrs=Attrs(IOSTANDARD="LVCMOS33")),
        *ButtonResources(pins="K9 K10 J10 J11", attrs=Attrs(IOSTANDARD="LVCMOS33")),
        UARTResource(0, rx="AD13", tx="AC14", attrs=Attrs(IOSTANDARD="LVCMOS33")),
        Resource("fan", 0, Pins("G9", dir="o"), Attrs(IOSTANDARD="LVCMOS33")),
        pcie_resource(
            0,
            rx_p="AB2 AD2 AE4 AF2",
            rx_n="AB1 AD1 AE3 AF1",
            tx_p="AC5 AD7 AE9 AF7",
            tx_n="AC4 AD6 AE8 AF6",
            reset_n="T19",
            attrs=Attrs(IOSTANDARD="LVCMOS12"),
        ),
        Resource("pcie_refclk", 0, DiffPairs("AB7", "AB6", dir="i"), Clock(100e6)),
        Resource(
            "clk200", 0, DiffPairs("T24", "U24", dir="i"), Clock(200e6), Attrs(IOSTANDARD="LVDS")
        ),
    )
    connectors = ()
    cages = (Cage(gt_group="X0Y4~X0Y7", quad=225, cmac="CMACE4_X0Y0", refclk_hz=156_250_000),)
    pcie = PCIe(generation=3, lanes=4, refclk=0)
    flash = Flash(interface="SPIx4", megabytes=32, address=0)
    properties = MappingProxyType({
        "CONFIG_VOLTAGE": "1.8",
        "CFGBVS": "GND",
        "CONFIG_MODE": "SPIx4",
        "BITSTREAM.CONFIG.SPI_BUSWIDTH": "4",
        "BITSTREAM.CONFIG.CONFIGRATE": "72.9",
        "BITSTREAM.CONFIG.SPI_FALL_EDGE": "YES",
        "BITSTREAM.CONFIG.UNUSEDPIN": "PULLUP",
        "BITSTREAM.CONFIG.OVERTEMPSHUTDOWN": "ENABLE",
        "BITSTREAM.GENERAL.COMPRESS": "TRUE",
    })
