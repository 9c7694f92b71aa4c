"""What boards have besides pins: cages, a PCIe edge, flash memory, and what fits in them."""

from dataclasses import dataclass

__all__ = ["Cage", "Flash", "PCIe", "Size"]

#: Transfers per second and lane of each PCIe generation with 128b/130b coding.
_GIGATRANSFERS = {3: 8, 4: 16}


@dataclass(frozen=True, kw_only=True)
class Cage:
    """A QSFP28 cage, and the hard MAC behind it.

    Attributes
    ----------
    gt_group : :class:`str`
        Sites of its four transceivers, as the MAC's generator names them.
    quad : :class:`int`
        Bank of the transceivers.
    cmac : :class:`str`
        Site of the MAC.
    refclk_hz : :class:`float`
        Reference clock of the transceivers.
    """

    gt_group: str
    quad: int
    cmac: str
    refclk_hz: float


@dataclass(frozen=True, kw_only=True)
class PCIe:
    """A PCIe edge connector.

    Attributes
    ----------
    generation, lanes : :class:`int`
        What hard block and board do together.
    refclk : :class:`int`
        Number of the ``pcie_refclk`` resource that serves all lanes.
    """

    generation: int
    lanes: int
    refclk: int

    @property
    def gbps(self) -> float:
        """Octets of TLPs that fit through, headers included, in Gb/s."""
        return _GIGATRANSFERS[self.generation] * self.lanes * 128 / 130


@dataclass(frozen=True, kw_only=True)
class Flash:
    """Configuration memory.

    Attributes
    ----------
    interface : :class:`str`
        As ``write_cfgmem`` calls it.
    megabytes : :class:`int`
        Its size.
    address : :class:`int`
        Where the image goes; what is below it stays.
    """

    interface: str
    megabytes: int
    address: int


@dataclass(frozen=True, kw_only=True)
class Size:
    """What a part has, or a design takes.

    Attributes
    ----------
    luts : :class:`int`
        LUTs: of 4 inputs in ECP5, of 6 elsewhere.
    block_rams : :class:`int`
        Block RAMs: of 18 Kib in ECP5, of 36 Kib elsewhere.
    ultra_rams : :class:`int`
        Ultra RAMs of 288 Kib.
    """

    luts: int
    block_rams: int
    ultra_rams: int = 0
