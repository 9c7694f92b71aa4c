"""Rooms of a design that Verilator translates each on its own, side by side."""

import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

__all__ = ["LEAN_OPTIONS", "Translated", "Translator"]

#: Options of a translation that is for use: to lint has its own test. Few files are soon looked up.
LEAN_OPTIONS = (
    "-Wno-lint", "-Wno-fatal", "-O3", "--x-assign", "fast", "--output-split", "60000",
)  # fmt: skip

#: For the GNU C library: Verilator spends a fifth less time if memory comes in large pages.
_LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


@dataclass(frozen=True)
class Translated:
    """A module that has been translated.

    Attributes
    ----------
    wrapper : :class:`~pathlib.Path`
        Verilog that stands for it.
    archives : sequence of :class:`~pathlib.Path`
        Its code, and then that of the modules in it.
    """

    wrapper: Path
    archives: tuple[Path, ...]


class Translator:
    """Translate modules and compile them, on as many processors as there are.

    A design takes less time in parts than as a whole, and what it has several of is translated
    once. To be used as a context, which waits for what has begun, or drops what has not.

    Parameters
    ----------
    folder : :class:`~pathlib.Path`
        Gets a folder for each module.
    common : sequence of :class:`~pathlib.Path`
        Sources that every module may need, and control files.
    log : :class:`~pathlib.Path`
        Gets what Verilator and the compiler print.
    """

    def __init__(self, folder: Path, *, common: Sequence[Path], log: Path):
        self._folder = folder
        self._common = tuple(common)
        self._log = log
        self._pool = ThreadPoolExecutor(os.cpu_count() or 1)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self._pool.shutdown(cancel_futures=error is not None)

    def start(self, module: str, sources: Sequence[Path]) -> Future:
        """Begin with ``module``, and return its :class:`Translated` in a future."""
        return self._pool.submit(self.translate, module, sources)

    def translate(
        self, module: str, sources: Sequence[Path], inner: Sequence[Translated] = ()
    ) -> Translated:
        """Translate and compile ``module``, in which there are ``inner`` ones.

        Raises
        ------
        RuntimeError
            If Verilator or the compiler fails; the log tells of it.
        """
        folder = self._folder / module
        prefix = f"V{module}"
        sources = [*self._common, *(block.wrapper for block in inner), *sources]
        self._run([
            "verilator", "--cc", "--lib-create", module, "--top-module", module, "--prefix", prefix,
            "--Mdir", folder, "--timescale", "1ns/1ps", *LEAN_OPTIONS, *sources,
        ])  # fmt: skip
        archive = f"lib{module}.a"
        self._run(["make", f"-j{os.cpu_count() or 1}", "-C", folder, "-f", f"{prefix}.mk", archive])
        archives = (folder / archive, *(path for block in inner for path in block.archives))
        return Translated(folder / f"{module}.sv", archives)

    def _run(self, command):
        with self._log.open("a") as log:
            run = subprocess.run(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=os.environ | _LARGE_PAGES,
                check=False,
            )
        if run.returncode:
            raise RuntimeError(f"{command[0]} ended with {run.returncode}")
