"""What tshark, with this project's dissector, says of a capture."""

import shutil
import subprocess
from pathlib import Path

from mrcnic.hdl.wire import headers
from mrcnic.hdl.wire.opcodes import Opcode
from mrcnic.sim.codec.extensions import extensions

__all__ = ["HEADERS", "SCRIPT", "TSHARK", "dissected"]

TSHARK = shutil.which("tshark")

SCRIPT = Path(__file__).parents[3] / "docs/wireshark/mrc.lua"

#: All headers from the BTH on, by name.
HEADERS = {
    "bth": headers.BTH,
    **{
        name: table
        for opcode in Opcode
        for timestamped in (False, True)
        for name, table in extensions(opcode, timestamped)
    },
    "icrc": headers.ICRC,
}

_OTHERS = (
    "frame.protocols", "_ws.malformed", "_ws.expert.message", "_ws.col.Info", "mrc.ev",
    "mrc.ev.index", "mrc.ev.plane", "mrc.ev.uplink", "mrc.ce", "mrc.trimmed", "mrc.payload",
    "mrc.rest", "mrc.icrc.status", "mrc.udp.source_port", "mrc.udp.length", "udp.srcport",
)  # fmt: skip


def dissected(capture: Path, *options: str) -> list[dict[str, str]]:
    """Return the fields of each frame, by name, as text; what a frame does not have is not there.

    Parameters
    ----------
    *options : :class:`str`
        Further options of tshark.
    """
    names = [f"mrc.{header}.{name}" for header, table in HEADERS.items() for name in table.fields]
    names += _OTHERS
    command = [TSHARK, "-X", f"lua_script:{SCRIPT}", "-r", capture, *options, "-T", "fields"]
    command += ["-E", "separator=/t", "-E", "occurrence=a", "-E", "aggregator=|"]
    for name in names:
        command += ["-e", name]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert "Lua" not in run.stderr, run.stderr
    return [
        {name: text for name, text in zip(names, line.split("\t"), strict=True) if text}
        for line in run.stdout.splitlines()
    ]
