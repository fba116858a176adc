"""Wrong passes are caught and named; right ones, and reordered sums, are not."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from support.programs import module_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import coopmatrix
from coopc.sim.tracked import Inputs
from coopc.validate.step import Mismatch, Validator, allowed, first_mismatch

EXAMPLES = Path(__file__).parents[3] / "examples"
GEMM = (EXAMPLES / "gemm.mlir").read_text()


@dataclass(frozen=True)
class TransposeLoadsPass(ModulePass):
    """A wrong pass: it swaps row and column major."""

    name = "transpose-loads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in op.walk():
            if isinstance(each, coopmatrix.LoadOp):
                each.layout = coopmatrix.LayoutAttr(coopmatrix.Layout.COL_MAJOR)


def mismatch(before: str, after: str) -> tuple[Mismatch | None, list[str]]:
    said: list[str] = []
    found = first_mismatch(module_of(before), module_of(after), report=said.append)
    return found, said


def test_planted_wrong_pass_is_named() -> None:
    before = module_of(GEMM)
    after, step = before.clone(), TransposeLoadsPass()
    step.apply(Context(), after)
    said: list[str] = []
    with pytest.raises(
        PassFailedException,
        match=r"pass transpose-loads changed .* argument 2 \(%c\) of @gemm differs on "
        r"exact inputs .* at \[0, 0\] expected -?\d+.0, to within 0, got -?\d+.0",
    ):
        Validator(before).check(after, step, said.append)
    assert said == []


def test_what_changes_nothing_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    before = module_of(GEMM)
    validator = Validator(before)

    def run(*_: object) -> None:
        raise AssertionError("it ran")

    monkeypatch.setattr(Validator, "mismatch", run)
    validator.check(before.clone(), TransposeLoadsPass())


def test_a_difference_of_types_alone_is_found() -> None:
    text = """
func.func @f(%m: memref<1xi32>) attributes {simt.kernel} {
  %zero = arith.constant 0 : index
  %x = arith.constant -1 : i32
  %short = arith.trunci %x : i32 to i16
  %y = arith.extui %short : i16 to i32
  memref.store %y, %m[%zero] : memref<1xi32>
  func.return
}"""
    after = module_of(text.replace("i16", "i8"))
    with pytest.raises(PassFailedException, match=r"expected 65535, .* got 255"):
        Validator(module_of(text)).check(after, TransposeLoadsPass())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%a[%row, %k]", "%a[%k, %k]"),
        ("%b[%k, %col]", "%b[%k, %row]"),
        ("%row = arith.muli %y, %c16", "%row = arith.muli %x, %c16"),
        ("arith.constant 0.0 : f32", "arith.constant 1.0 : f32"),
        ("%c0 to %k_end", "%c16 to %k_end"),
    ],
)
def test_wrong_programs(old: str, new: str) -> None:
    assert old in GEMM
    found, said = mismatch(GEMM, GEMM.replace(old, new))
    assert found is not None
    assert said == []


def test_becoming_undefined() -> None:
    found, _ = mismatch(GEMM, GEMM.replace("%c[%row, %col]", "%c[%row, %k_end]"))
    assert found is not None
    assert "became undefined on exact inputs" in str(found)
    assert "coopmatrix.store" in str(found)


SUM = """
func.func @sum(%x: memref<?xf32>, %y: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %backwards = arith.constant false
  %n = memref.dim %x, %c0 : memref<?xf32>
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
    %end = arith.subi %n, %c1 : index
    %back = arith.subi %end, %i : index
    %p = arith.select %backwards, %back, %i : index
    %v = memref.load %x[%p] : memref<?xf32>
    %t = arith.addf %s, %v : f32
    scf.yield %t : f32
  }
  memref.store %sum, %y[%c0] : memref<1xf32>
  func.return
}
"""


def test_sums_in_another_order_are_the_same() -> None:
    assert mismatch(SUM, SUM.replace("false", "true")) == (None, [])


def test_dropping_a_term_is_not() -> None:
    found, _ = mismatch(SUM, SUM.replace("%i = %c0 to", "%i = %c1 to"))
    assert found is not None
    assert found.function == "sum"


COPY = """
func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0] : memref<64xf32>, vector<64xf32>
  %w = arith.addf %v, %v : vector<64xf32>
  vector.store %w, %y[%c0] : memref<64xf32>, vector<64xf32>
  func.return
}
"""


def test_losing_precision_is_wrong() -> None:
    """Small integers survive f16: only real inputs tell."""
    narrow = COPY.replace(
        "%w = arith.addf %v, %v : vector<64xf32>",
        """
        %h = arith.truncf %v : vector<64xf32> to vector<64xf16>
        %u = arith.extf %h : vector<64xf16> to vector<64xf32>
        %w = arith.addf %u, %u : vector<64xf32>
        """,
    )
    assert mismatch(COPY, COPY) == (None, [])
    found, _ = mismatch(COPY, narrow)
    assert found is not None
    assert found.inputs == Inputs.REAL


def test_numbers_of_4_bits() -> None:
    """Two share a byte, and their scales are powers of two."""
    before = (EXAMPLES / "mxfp4_gemm.mlir").read_text()
    assert mismatch(before, before) == (None, [])
    found, _ = mismatch(before, before.replace("%vs, %t : f32", "%vs, %s : f32"))
    assert found is not None
    assert found.difference is not None


def test_bounds() -> None:
    before, after = np.array([0.0, 1.0, 1.0]), np.array([1.0, 2.0, 100.0])
    assert allowed(before, after, lost=False).tolist() == [0.0, 3.0, 5.0]
    assert allowed(before, after, lost=True).tolist() == [2.0, 4.0, 200.0]


def test_sums_that_went_on_as_bits() -> None:
    """The bounds of the sum are lost, so that another order is still the same."""
    bits = """
      %b = arith.bitcast %sum : f32 to i32
      %f = arith.bitcast %b : i32 to f32
      memref.store %f,
    """
    text = SUM.replace("memref.store %sum,", bits)
    assert mismatch(text.replace("false", "true"), SUM) == (None, [])


def test_functions_with_results() -> None:
    text = """
    func.func @f(%x: i32, %y: f16) -> (i32, f16) {
      %a = arith.addi %x, %x : i32
      %b = arith.mulf %y, %y : f16
      func.return %a, %b : i32, f16
    }
    """
    assert mismatch(text, text) == (None, [])
    found, _ = mismatch(text, text.replace("mulf", "addf"))
    assert found is not None
    assert found.argument == "result 1"


def test_a_constant_that_is_nearly_right() -> None:
    text = """
    func.func @f(%x: memref<64xf32>) {
      %c0 = arith.constant 0 : index
      %tenth = arith.constant 0.1 : f32
      %v = memref.load %x[%c0] : memref<64xf32>
      %w = arith.mulf %v, %tenth : f32
      memref.store %w, %x[%c0] : memref<64xf32>
      func.return
    }
    """
    found, _ = mismatch(text, text.replace("0.1 :", "0.10001 :"))
    assert found is not None
    assert found.difference is not None


CHECKED = """
func.func @copy(%x: memref<?x?xi32>, %y: memref<?x?xi32>)
    attributes {simt.kernel, simt.grid =
      affine_map<(m, n, k, l) -> (n ceildiv 8, m ceildiv 8)>} {
  %c8 = arith.constant 8 : index
  %i = simt.workgroup_id y : index
  %j = simt.workgroup_id x : index
  %row = arith.muli %i, %c8 : index
  %col = arith.muli %j, %c8 : index
  %m = coopmatrix.load %x[%row, %col] row_major checked(rows, cols)
      : memref<?x?xi32> -> !coopmatrix.matrix<8x8xi32, acc>
  coopmatrix.store %m, %y[%row, %col] row_major checked(rows, cols)
      : !coopmatrix.matrix<8x8xi32, acc>, memref<?x?xi32>
  func.return
}
"""


def test_checked_accesses_are_tried_on_ragged_sizes() -> None:
    rounded = CHECKED.replace("n ceildiv 8, m ceildiv 8", "n floordiv 8, m floordiv 8")
    found, said = mismatch(CHECKED, rounded)
    assert said == []
    assert found is not None
    assert any(size % 8 for size in found.sizes)


def test_positions_are_tried_too() -> None:
    text = """
    func.func @f(%x: memref<?x?xi32>, %i: index, %j: index) attributes {simt.kernel,
        simt.grid = affine_map<(m, n, i, j) -> (1)>} {
      %m = coopmatrix.load %x[%i, %j] row_major
           : memref<?x?xi32> -> !coopmatrix.matrix<8x4xi32, acc>
      %n = coopmatrix.add %m, %m : !coopmatrix.matrix<8x4xi32, acc>
      coopmatrix.store %n, %x[%i, %j] row_major
        : !coopmatrix.matrix<8x4xi32, acc>, memref<?x?xi32>
      func.return
    }
    """
    assert mismatch(text, text) == (None, [])
    found, _ = mismatch(text, text.replace("%n, %x[%i, %j]", "%n, %x[%i, %i]"))
    assert found is not None


def test_what_is_not_compared_is_said() -> None:
    before = """
    func.func @gone() { func.return }
    func.func @other(%x: i32) { func.return }
    func.func @matrix(%x: !coopmatrix.matrix<8x8xi32, acc>) { func.return }
    func.func private @declared(i32)
    func.func @never(%x: memref<4xi32>) {
      %c9 = arith.constant 9 : index
      %v = memref.load %x[%c9] : memref<4xi32>
      func.return
    }
    """
    after = before.replace("@gone", "@new").replace("%x: i32", "%x: i64")
    found, said = mismatch(before, after)
    assert found is None
    assert sorted(line.partition(" is not compared: ")[::2] for line in said) == [
        ("@declared", "it has no body"),
        ("@gone", ("it does not exist after the pass")),
        ("@matrix", "argument 0 is a !coopmatrix.matrix<8x8xi32, acc>"),
        (
            "@never",
            "all inputs that were tried make it undefined, the last one by "
            "memref.load: undefined behaviour: expected an index in dimension 0 of "
            "argument 0 of 4 elements to be inside, got 9",
        ),
        ("@new", "it does not exist before the pass"),
        ("@other", "its type changed from (i32) -> () to (i64) -> ()"),
    ]


def test_each_kernel_is_compared() -> None:
    two = (
        GEMM
        + GEMM.partition("func.func")[1]
        + GEMM.partition("func.func")[2].replace("@gemm", "@second")
    )
    assert mismatch(two, two) == (None, [])
    head, middle, tail = two.rpartition("arith.constant 0.0 : f32")
    found, _ = mismatch(two, head + middle.replace("0.0", "2.0") + tail)
    assert found is not None
    assert found.function == "second"
