"""One file has one module name, in a checkout as in a wheel."""

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = PYPROJECT["tool"]["setuptools"]
FOLDERS: dict[str, str] = SETUPTOOLS["package-dir"]


@pytest.mark.parametrize("package", [p for p in FOLDERS if p != "coopc"])
def test_link_agrees_with_package_dir(package: str) -> None:
    link = ROOT / package.replace(".", "/")
    assert link.is_symlink()
    assert link.resolve() == ROOT / FOLDERS[package]


def test_every_package_is_listed() -> None:
    found = {
        file.parent
        for folder in FOLDERS.values()
        for file in (ROOT / folder).rglob("*.py")
    }
    files = [import_module(package).__file__ for package in SETUPTOOLS["packages"]]
    assert {Path(file).resolve().parent for file in files if file} == found


def test_extras() -> None:
    """What is missing is installed in the version that coopc is for: by an extra."""
    files = [f for folder in FOLDERS.values() for f in (ROOT / folder).rglob("*.py")]
    text = "".join(file.read_text() for file in {*files})
    named = set(re.findall(r"coopc\[(\w+)\]", text))
    assert named == set(PYPROJECT["project"]["optional-dependencies"])
