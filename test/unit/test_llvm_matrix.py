"""Matrices as calls, at each step of the chain: LLVM reads and verifies the text."""

from pathlib import Path

import pytest

import coopc

llvm = pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

EMIT = Path(__file__).parents[1] / "emit"
CHAIN = (
    "resolve-matrix-fill{device=amx}",
    "resolve-matrix-wi-slice",
    "vectorize-subgroup",
    "resolve-subgroup-wi-call",
)


@pytest.mark.parametrize("steps", range(len(CHAIN) + 1))
@pytest.mark.parametrize("name", ["llvm_matrix.mlir", "llvm_matrix_layouts.mlir"])
def test_llvm_verifies_each_step(name: str, steps: int) -> None:
    """The signatures of all calls fit each other, names of overloads too."""
    pipeline = ",".join(CHAIN[:steps])
    source = (EMIT / name).read_text()
    made = coopc.compile(source, pipeline, "llvm-ir{matrix=true}")
    module = llvm.parse_assembly(made.text)
    module.verify()
    called = {each.name for each in module.functions if each.is_declaration}
    assert any(each.startswith("llvm.experimental.matrix.") for each in called)
    assert any("rowslice_id" in each for each in called) == (
        steps in (2, 3) and name == "llvm_matrix.mlir"
    )
