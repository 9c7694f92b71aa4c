"""Commands in processes of their own, and what they print."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

__all__ = ["Command", "refusal"]

MRCNIC = Path(sys.executable).with_name("mrcnic")

#: A machine that does much else may be slow.
PATIENCE_S = 300


def refusal(outcome, code):
    """Return the only line that an unsuccessful command prints on stderr."""
    assert outcome[0] == code, outcome
    assert re.fullmatch(r"mrcnic: \S.*\n", outcome[2]), outcome[2]
    return outcome[2].removeprefix("mrcnic: ").rstrip()


class Command:
    """`mrcnic` in a process, with a mark in its environment that all it starts inherit."""

    def __init__(self, folder, *arguments, env=()):
        self.mark = f"MRCNIC_MARK={uuid.uuid4()}"
        name, value = self.mark.split("=")
        self.process = subprocess.Popen(
            [MRCNIC, *arguments],
            cwd=folder,
            env={**os.environ, **dict(env), name: value},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for number in self.living():
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self.process.communicate()

    def living(self) -> dict[int, str]:
        """Return all processes that belong to the command, with their command lines."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
        return found

    def wait_for(self, condition):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end, self.living()
            time.sleep(0.05)

    def all_end(self) -> bool:
        """Return whether all processes end at once: a simulation would end by itself, later."""
        end = time.monotonic() + 3
        while self.living() and time.monotonic() < end:
            time.sleep(0.05)
        return not self.living()

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out, err
