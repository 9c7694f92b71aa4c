"""In CI a skipped test is a failure, with two workers as well as with none."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SKIPS = 'import pytest\ndef test_good(): pass\ndef test_skip(): pytest.skip("not here")\n'


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("ci", ["", "1"])
def test_skip_fails_in_ci_only(tmp_path, workers, ci):
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    (tmp_path / "test_it.py").write_text(SKIPS)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", workers],
        cwd=tmp_path,
        env={**os.environ, "CI": ci},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert run.returncode == (pytest.ExitCode.TESTS_FAILED if ci else 0), run.stdout
    told = "skipped in CI: test_it.py::test_skip: Skipped: not here" in run.stdout.splitlines()
    assert told == bool(ci)
