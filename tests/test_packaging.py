"""An editable install finds every folder; a wheel has only those that are listed."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_package_is_listed():
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {
        path.parent.relative_to(ROOT)
        for folder in setuptools["package-dir"].values()
        for path in (ROOT / folder).rglob("__init__.py")
    }
    assert set(setuptools["packages"]) == {".".join(("mrcnic", *path.parts)) for path in folders}
