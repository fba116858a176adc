"""Each operation of a dialect has a round trip, each message a test."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from coopc.dialects import amx, coopmatrix, simt, tt, ttg, ttig

TEST = Path(__file__).parents[2]
DIALECTS = {
    "amx": amx.Amx,
    "coopmatrix": coopmatrix.Coopmatrix,
    "simt": simt.Simt,
    "tt": tt.Tt,
    "ttg": ttg.Ttg,
    "ttig": ttig.Ttig,
}
MODULES = (amx, coopmatrix, simt, tt, ttg, ttig)
FILES = {name: str(x.__file__) for name, x in zip(DIALECTS, MODULES, strict=True)}
INVALID_KERNELS = (
    "dialects/test_simt_kernels.py",
    "dialects/test_coopmatrix.py",
    "dialects/test_triton_dialects.py",
)
"""Where messages are tested that no text of IR brings about."""


def lines_of(paths: Iterator[Path], start: str) -> str:
    lines = (line for path in paths for line in path.read_text().splitlines())
    return "\n".join(line for line in lines if start in line)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_operation_has_a_round_trip(dialect: str) -> None:
    files = (
        path
        for path in (TEST / "dialects" / dialect).glob("ops*.mlir")
        if path.read_text().startswith("// RUN: %roundtrip\n")
    )
    tested = set(re.findall(rf"\b{dialect}\.[\w.]*\w", lines_of(files, "// CHECK")))
    assert {op.name for op in DIALECTS[dialect].operations} <= tested


def messages(path: Path) -> Iterator[str]:
    """Yield the longest fixed part of each message that a verifier gives."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id == "VerifyException" and node.args:
            parts = [
                part.value
                for part in ast.walk(node.args[0])
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
            if parts:
                yield max(parts, key=len)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_message_is_tested(dialect: str) -> None:
    """By its fixed words, in the invalid cases or in the unit tests of kernels."""
    invalid = (TEST / "dialects" / dialect).glob("*_invalid.mlir")
    tested = lines_of(invalid, "// CHECK")
    for name in INVALID_KERNELS:
        text = (TEST / "unit" / name).read_text()
        tested += re.sub(r"[\"']\s*[\"']", "", text)
    file = Path(FILES[dialect])
    files = file.parent.glob("*.py") if file.name == "__init__.py" else [file]
    found = [message for path in files for message in messages(path)]
    assert len(found) > 5
    assert [message for message in found if message not in tested] == []
