"""Matrices as calls, at each step of the chain: LLVM reads and verifies the text."""

import re
from pathlib import Path

import pytest

import coopc

llvm = pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

EMIT = Path(__file__).parents[2] / "emit"
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


@pytest.mark.parametrize("scope", ["subgroup", "workgroup"])
def test_what_is_called_was_named_as_a_variant(scope: str) -> None:
    """By all lanes that hold the matrix: 16 of a subgroup, or 32 of a work-group."""
    matrix = f"!coopmatrix.matrix<12x12xi32, none, scope = {scope}>"
    text = f"""
    func.func @f(%p: memref<12x12xi32>, %i: index) attributes {{
        simt.kernel, simt.subgroup_size = 16 : i32,
        simt.work_group_size = array<i32: 32>}} {{
      %c0 = arith.constant 0 : index
      %m = coopmatrix.load %p[%c0, %c0] row_major : memref<12x12xi32> -> {matrix}
      %e = coopmatrix.extract %m[%i] : {matrix}
      %n = coopmatrix.insert %e, %m[%c0] : {matrix}
      coopmatrix.store %n, %p[%c0, %c0] row_major : {matrix}, memref<12x12xi32>
      func.return
    }}"""
    scalar, wide = (
        coopc.compile(text, ",".join(CHAIN[:steps]), "llvm-ir{matrix=true}").text
        for steps in (2, 3)
    )
    lists = re.findall(r'"vector-function-abi-variant"="([^"]*)"', scalar)
    named = {name for each in lists for name in each.split(",")}
    called = set(re.findall(r"@(_ZGV[^(]*)", wide))
    lanes = 16 if scope == "subgroup" else 32
    assert len(called) == 2
    assert all(name.startswith(f"_ZGVbN{lanes}u") for name in called)
    assert called <= named
