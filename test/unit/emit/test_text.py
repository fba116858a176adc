"""Text and binary are one module, and spirv-val takes it: every module of test/emit.

The line `// VALID:` of a lit file names the devices.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import coopc

FOLDER = Path(__file__).resolve().parents[2] / "emit"
VALID = re.compile(r"^// VALID: (.*)$", re.MULTILINE)


def modules() -> list[tuple[str, str]]:
    """Each lit file, and each device that it is emitted for."""
    found: list[tuple[str, str]] = []
    for file in sorted(FOLDER.glob("*.mlir")):
        for line in VALID.findall(file.read_text()):
            found += ((file.name, device) for device in line.split())
    return found


@pytest.mark.parametrize(("name", "device"), modules())
def test_numeric_text_is_the_binary(
    name: str, device: str, valid: Callable[[str, str], str]
):
    assert valid((FOLDER / name).read_text(), device).startswith("; SPIR-V\n")


def test_there_are_modules():
    assert len(modules()) >= 10


def test_same_input_same_output():
    text = (FOLDER / "kernels.mlir").read_text()
    one, other = (coopc.compile(text, "", "spirv{device=bmg}").text for _ in range(2))
    assert one == other
