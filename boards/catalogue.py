"""All boards by name, with what the platform files do not say."""

from dataclasses import dataclass
from enum import Enum
from importlib import import_module

from .parts import Size

__all__ = ["BOARDS", "Board", "Flow", "Loader"]


class Flow(Enum):
    """What makes a bitstream."""

    OPEN = "Yosys, nextpnr"
    VIVADO = "Vivado"
    OPENXC7 = "openXC7"


@dataclass(frozen=True, kw_only=True)
class Loader:
    """How openFPGALoader finds a board.

    Attributes
    ----------
    idcode : :class:`int`
        IDCODE of the part, without its version.
    board : :class:`str`, optional
        Name of the board.
    fpga_part : :class:`str`, optional
        Name of the part, by which a bridge to the flash is found.
    cable : :class:`str`, optional
        The cable that is on the board; where there is none, the user has to say.
    flash : :class:`bool`
        There is a bridge to the flash.
    """

    idcode: int
    board: str | None = None
    fpga_part: str | None = None
    cable: str | None = None
    flash: bool = True


@dataclass(frozen=True, kw_only=True)
class Board:
    """A board.

    Attributes
    ----------
    name, title : :class:`str`
        As commands and people call it.
    platform_name : :class:`str`
        Class of its platform, in the module of the board's name.
    part : :class:`str`
        The FPGA.
    flow : :class:`Flow`
    licence : :class:`str`
        Edition of the vendor's tool; empty where none is needed.
    size : :class:`~.parts.Size`
        What the part has, by the vendors' tables (DS890, DS962, DS180, FPGA-DS-02012).
    loader : :class:`Loader`, optional
        Missing where openFPGALoader does not know the part: then Vivado loads.
    verified : :class:`str`
        What of it is tried without a board.
    """

    name: str
    title: str
    platform_name: str
    part: str
    flow: Flow
    licence: str
    size: Size
    loader: Loader | None
    verified: str

    def platform(self):
        """Return a new platform.

        Raises
        ------
        RuntimeError
            If amaranth-boards is not installed.
        """
        try:
            module = import_module(f".{self.name}", __package__)
        except ModuleNotFoundError as error:
            if error.name is None or not error.name.startswith("amaranth_boards"):
                raise
            raise RuntimeError(
                "amaranth-boards is not installed: pip install amaranth-boards"
            ) from None
        return getattr(module, self.platform_name)()


_BUILT = "loading, on a model of the part"
_PLAN = "pins, Tcl, hard blocks"
_OPEN_PLAN = "pins, plan"

_VU9P = Size(luts=1_182_240, block_rams=2160, ultra_rams=960)
_K325T = Size(luts=203_800, block_rams=445)

#: Boards by name.
BOARDS = {
    board.name: board
    for board in (
        Board(
            name="ecpix5",
            title="LambdaConcept ECPIX-5 85F",
            platform_name="Ecpix5Platform",
            part="LFE5UM5G-85F-8BG554",
            flow=Flow.OPEN,
            licence="",
            size=Size(luts=83_640, block_rams=208),
            loader=Loader(idcode=0x1113043, board="ecpix5"),
            verified=_BUILT,
        ),
        Board(
            name="versa_ecp5_5g",
            title="Lattice ECP5-5G Versa",
            platform_name="VersaEcp55gPlatform",
            part="LFE5UM5G-45F-8BG381",
            flow=Flow.OPEN,
            licence="",
            size=Size(luts=43_848, block_rams=108),
            loader=Loader(idcode=0x1112043, cable="ft2232"),
            verified=_BUILT,
        ),
        Board(
            name="u50",
            title="AMD Alveo U50",
            platform_name="U50Platform",
            part="xcu50-fsvh2104-2-e",
            flow=Flow.VIVADO,
            licence="Standard",
            size=Size(luts=871_680, block_rams=1344, ultra_rams=640),
            loader=None,
            verified=_PLAN,
        ),
        Board(
            name="u55c",
            title="AMD Alveo U55C",
            platform_name="U55CPlatform",
            part="xcu55c-fsvh2892-2L-e",
            flow=Flow.VIVADO,
            licence="Standard",
            size=Size(luts=1_303_680, block_rams=2016, ultra_rams=960),
            loader=None,
            verified=_PLAN,
        ),
        Board(
            name="u200",
            title="AMD Alveo U200",
            platform_name="U200Platform",
            part="xcu200-fsgd2104-2-e",
            flow=Flow.VIVADO,
            licence="Standard",
            size=_VU9P,
            loader=None,
            verified=_PLAN,
        ),
        Board(
            name="u250",
            title="AMD Alveo U250",
            platform_name="U250Platform",
            part="xcu250-figd2104-2L-e",
            flow=Flow.VIVADO,
            licence="Standard",
            size=Size(luts=1_728_000, block_rams=2688, ultra_rams=1280),
            loader=None,
            verified=_PLAN,
        ),
        Board(
            name="vcu118",
            title="AMD VCU118",
            platform_name="VCU118Platform",
            part="xcvu9p-flga2104-2L-e",
            flow=Flow.VIVADO,
            licence="Enterprise",
            size=_VU9P,
            loader=Loader(idcode=0x4B31093, board="vcu118"),
            verified=_PLAN,
        ),
        Board(
            name="fb2cg",
            title="Silicom fb2CG@KU15P",
            platform_name="Fb2CGPlatform",
            part="xcku15p-ffve1760-2-e",
            flow=Flow.VIVADO,
            licence="Enterprise",
            size=Size(luts=522_720, block_rams=984, ultra_rams=128),
            loader=Loader(idcode=0x4A56093, flash=False),
            verified=_PLAN,
        ),
        Board(
            name="rk_xcku5p_f",
            title="RK-XCKU5P-F",
            platform_name="RkXcku5pFPlatform",
            part="xcku5p-ffvb676-2-e",
            flow=Flow.VIVADO,
            licence="Standard",
            size=Size(luts=216_960, block_rams=480, ultra_rams=64),
            loader=Loader(idcode=0x4A62093, fpga_part="xcku5p-ffvb676"),
            verified=_PLAN,
        ),
        Board(
            name="ax7325b",
            title="ALINX AX7325B",
            platform_name="Ax7325bPlatform",
            part="xc7k325tffg900-2",
            flow=Flow.OPENXC7,
            licence="",
            size=_K325T,
            loader=Loader(idcode=0x3651093, fpga_part="xc7k325tffg900"),
            verified=_OPEN_PLAN,
        ),
        Board(
            name="kc705",
            title="AMD KC705",
            platform_name="Kc705Platform",
            part="xc7k325tffg900-2",
            flow=Flow.OPENXC7,
            licence="",
            size=_K325T,
            loader=Loader(idcode=0x3651093, board="kc705"),
            verified=_OPEN_PLAN,
        ),
    )
}
