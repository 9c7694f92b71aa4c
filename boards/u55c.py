"""AMD Alveo U55C.

Pins: constraint files of taxi (2f2fe728); clocks, PCIe and UART the same in open-nic-shell
(940907fc). CMAC and transceiver sites: open-nic-shell and the esnet SmartNIC. A comment in taxi
that puts cage 0 on X0Y28 is a slip: bank 130 is X0Y24.
"""

from amaranth.build import Attrs, Clock, DiffPairs, Pins, PinsN, Resource, Subsignal
from amaranth_boards.resources.interface import UARTResource
from amaranth_boards.resources.user import LEDResources

from .parts import Cage, Flash, PCIe
from .resources import pcie_resource, qsfp_resource
from .ultrascale import ALVEO, UltraScalePlusPlatform

__all__ = ["U55CPlatform"]


class U55CPlatform(UltraScalePlusPlatform):
    """AMD Alveo U55C."""

    device = "xcu55c"
    package = "fsvh2892"
    speed = "2L-e"
    default_clk = "clk100"
    resources = (
        # Lanes: banks 130 and 131. The cages are managed by the satellite controller.
        qsfp_resource(
            0,
            rx_p="AD51 AC53 AC49 AB51",
            rx_n="AD52 AC54 AC50 AB52",
            tx_p="AD46 AC44 AB46 AA48",
            tx_n="AD47 AC45 AB47 AA49",
        ),
        qsfp_resource(
            1,
            rx_p="AA53 Y51 W53 V51",
            rx_n="AA54 Y52 W54 V52",
            tx_p="AA44 Y46 W48 W44",
            tx_n="AA45 Y47 W49 W45",
        ),
        # Si5394 OUT0 and OUT1.
        Resource("qsfp_refclk", 0, DiffPairs("AD42", "AD43", dir="i"), Clock(161_132_812.5)),
        Resource("qsfp_refclk", 1, DiffPairs("AB42", "AB43", dir="i"), Clock(161_132_812.5)),
        # LEDs of each cage: activity, green, yellow.
        *LEDResources(pins="BL13 BK11 BJ11 BK14 BK15 BL12", attrs=Attrs(IOSTANDARD="LVCMOS18")),
        # Through the debug module (DMB-1); the first two on board as well.
        UARTResource(0, rx="BK41", tx="BJ41", attrs=Attrs(IOSTANDARD="LVCMOS18")),
        UARTResource(1, rx="BP47", tx="BN47", attrs=Attrs(IOSTANDARD="LVCMOS18")),
        UARTResource(2, rx="BL46", tx="BL45", attrs=Attrs(IOSTANDARD="LVCMOS18")),
        # Must not float: high turns the card off.
        Resource("hbm_cattrip", 0, Pins("BE45", dir="o"), Attrs(IOSTANDARD="LVCMOS18")),
        Resource(
            "si5394",
            0,
            Subsignal("rst", PinsN("BM8", dir="o")),
            Subsignal("int", PinsN("BM9", dir="i")),
            Subsignal("lol", PinsN("BN10", dir="i")),
            Subsignal("los", PinsN("BM10", dir="i")),
            Subsignal("scl", Pins("BM14", dir="io")),
            Subsignal("sda", Pins("BN14", dir="io")),
            Attrs(IOSTANDARD="LVCMOS18"),
        ),
        # Satellite controller.
        Resource(
            "msp_gpio", 0, Pins("BE46 BH46 BF45 BF46", dir="io"), Attrs(IOSTANDARD="LVCMOS18")
        ),
        UARTResource("msp_uart", 0, rx="BJ42", tx="BH42", attrs=Attrs(IOSTANDARD="LVCMOS18")),
        Resource("cpu_reset", 0, Pins("BG45", dir="i"), Attrs(IOSTANDARD="LVCMOS18")),
        Resource("testclk", 0, Pins("BN42", dir="o"), Attrs(IOSTANDARD="LVCMOS18")),
        Resource(
            "pps",
            0,
            Subsignal("i", Pins("BJ33", dir="i")),
            Subsignal("o", Pins("BH32", dir="o")),
            Attrs(IOSTANDARD="LVCMOS18"),
        ),
        pcie_resource(
            0,
            rx_p="AL2 AM4 AN6 AN2 AP4 AR2 AT4 AU2 AV4 AW6 AW2 AY4 BA6 BA2 BB4 BC2",
            rx_n="AL1 AM3 AN5 AN1 AP3 AR1 AT3 AU1 AV3 AW5 AW1 AY3 BA5 BA1 BB3 BC1",
            tx_p="AL11 AM9 AN11 AP9 AR11 AR7 AT9 AU11 AU7 AV9 AW11 AY9 BA11 BB9 BC11 BC7",
            tx_n="AL10 AM8 AN10 AP8 AR10 AR6 AT8 AU10 AU6 AV8 AW10 AY8 BA10 BB8 BC10 BC6",
            reset_n="BF41",
            attrs=Attrs(IOSTANDARD="LVCMOS18"),
        ),
        Resource("pcie_power_brake", 0, PinsN("BG43", dir="i"), Attrs(IOSTANDARD="LVCMOS18")),
        Resource("pcie_refclk", 0, DiffPairs("AL15", "AL14", dir="i"), Clock(100e6)),
        Resource("pcie_refclk", 1, DiffPairs("AR15", "AR14", dir="i"), Clock(100e6)),
        Resource("pcie_refclk", 2, DiffPairs("AK13", "AK12", dir="i"), Clock(100e6)),
        Resource("pcie_refclk", 3, DiffPairs("AP13", "AP12", dir="i"), Clock(100e6)),
        Resource(
            "clk100", 0, DiffPairs("BK10", "BL10", dir="i"), Clock(100e6), Attrs(IOSTANDARD="LVDS")
        ),
        Resource(
            "clk100", 1, DiffPairs("BK43", "BK44", dir="i"), Clock(100e6), Attrs(IOSTANDARD="LVDS")
        ),
        Resource(
            "clk100", 2, DiffPairs("F24", "F23", dir="i"), Clock(100e6), Attrs(IOSTANDARD="LVDS")
        ),
    )
    connectors = ()
    cages = (
        Cage(gt_group="X0Y24~X0Y27", quad=130, cmac="CMACE4_X0Y3", refclk_hz=161_132_812.5),
        Cage(gt_group="X0Y28~X0Y31", quad=131, cmac="CMACE4_X0Y4", refclk_hz=161_132_812.5),
    )
    pcie = PCIe(generation=3, lanes=16, refclk=1)
    flash = Flash(interface="SPIx4", megabytes=128, address=0x0100_2000)
    properties = ALVEO
    power_budget_w = 100
