"""Platform of UltraScale+ boards: a plan that Vivado only has to run."""

from abc import abstractmethod
from types import MappingProxyType

from amaranth.vendor import XilinxPlatform

from .parts import Cage, Flash, PCIe

__all__ = ["ALVEO", "UltraScalePlusPlatform"]

#: Configuration of Alveo cards.
ALVEO = MappingProxyType({
    "CONFIG_VOLTAGE": "1.8",
    "CFGBVS": "GND",
    "CONFIG_MODE": "SPIx4",
    "BITSTREAM.CONFIG.SPI_BUSWIDTH": "4",
    "BITSTREAM.CONFIG.CONFIGRATE": "85.0",
    "BITSTREAM.CONFIG.EXTMASTERCCLK_EN": "DISABLE",
    "BITSTREAM.CONFIG.SPI_FALL_EDGE": "YES",
    "BITSTREAM.CONFIG.SPI_32BIT_ADDR": "YES",
    "BITSTREAM.CONFIG.CONFIGFALLBACK": "ENABLE",
    "BITSTREAM.CONFIG.UNUSEDPIN": "PULLUP",
    "BITSTREAM.CONFIG.OVERTEMPSHUTDOWN": "ENABLE",
    "BITSTREAM.GENERAL.COMPRESS": "TRUE",
})

# Vivado writes a bitstream whether or not the design is fast enough. Ours stops first.
_TIMING = """
foreach kind {setup hold} {
    set paths [get_timing_paths -$kind -max_paths 1]
    if {[llength $paths] != 0 && [get_property SLACK $paths] < 0} {
        error "mrcnic: negative $kind slack: [get_property SLACK $paths] ns"
    }
}
"""


class UltraScalePlusPlatform(XilinxPlatform):
    """Board with an UltraScale+ part.

    A build fails on negative slack, and makes an image for the configuration memory as well.

    Attributes
    ----------
    cages : :class:`tuple` of :class:`~.parts.Cage`
    pcie : :class:`~.parts.PCIe`
    flash : :class:`~.parts.Flash`
    properties : mapping
        Properties of the design: how it is configured.
    power_budget_w : :class:`int`, optional
        What the board may draw, in watts.
    constraints : :class:`tuple` of :class:`str`
        Further constraints of the board.
    divider : :class:`int`
        By which the board's clock becomes that of the on-chip test.
    """

    cages: tuple[Cage, ...] = ()
    pcie: PCIe = property(abstractmethod(lambda: None))
    flash: Flash = property(abstractmethod(lambda: None))
    properties = MappingProxyType({})
    power_budget_w: int | None = None
    constraints: tuple[str, ...] = ()
    divider: int = 1

    def __init__(self):
        super().__init__(toolchain="Vivado")
        self._after_read: list[str] = []
        self._after_synthesis: list[str] = []

    @property
    def fabric_hz(self) -> int:
        """Clock of the on-chip test."""
        return int(self.default_clk_frequency) // self.divider

    def add_ip(self, filename: str, script: str):
        """Let Vivado run a Tcl script after it has read the design; the script makes IP."""
        self.add_file(filename, script)
        self._after_read.append(f"source {filename}")

    def add_after_synthesis(self, filename: str, script: str):
        """Let Vivado run a Tcl script when clocks of IP are there to be constrained."""
        self.add_file(filename, script)
        self._after_synthesis.append(f"source {filename}")

    def toolchain_prepare(self, fragment, name, **kwargs):
        """Return a plan with the board's own constraints and checks in it."""
        return super().toolchain_prepare(
            fragment,
            name,
            script_after_read="\n".join(self._after_read),
            script_after_synth="\n".join(self._after_synthesis),
            add_constraints="\n".join(self._own_constraints()),
            script_before_bitstream=_TIMING,
            script_after_bitstream=self._image(name),
            **kwargs,
        )

    def _own_constraints(self):
        for key, value in self.properties.items():
            yield f"set_property {key} {value} [current_design]"
        if self.power_budget_w is not None:
            yield f"set_operating_conditions -design_power_budget {self.power_budget_w}"
        yield from self.constraints

    def _image(self, name):
        flash = self.flash
        return (
            f"write_cfgmem -force -format mcs -size {flash.megabytes} "
            f'-interface {flash.interface} -loadbit "up {flash.address:#010x} {name}.bit" '
            f"-file {name}.mcs"
        )
