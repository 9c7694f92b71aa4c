import signal
import sys

import pytest

from mrcnic.sim.cli.main import main


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run `mrcnic` in this process; return what it ends with, and what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["mrcnic", *arguments])
        code = 0
        try:
            main()
        except SystemExit as error:
            code = error.code
        return code, *capsys.readouterr()

    return run
