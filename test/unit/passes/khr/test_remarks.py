"""What a device does far slower than it could is a remark."""

import pytest

import coopc

MATMUL = """
func.func @f(%a: memref<?x?xT>, %b: memref<?x?xT>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xT>, memref<?x?xT>) outs(%c : memref<?x?xf32>)
  func.return
}
"""

MOVE = """
func.func @k(%a: MEMORY, %r: MEMORY) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%0, %0] row_major : MEMORY -> !coopmatrix.matrix<MATRIX>
  %y = coopmatrix.max %x, %x : !coopmatrix.matrix<MATRIX>
  coopmatrix.store %y, %r[%0, %0] row_major : !coopmatrix.matrix<MATRIX>, MEMORY
  func.return
}
"""


def moving(matrix: str, memory: str) -> str:
    return MOVE.replace("MEMORY", memory).replace("MATRIX", matrix)


STAGED = (
    "func.func: one subgroup per work-group multiplies; with staged=true several share "
    "tiles in work-group memory, which is far faster on nvidia",
)
NO_F32 = (
    "coopmatrix.mul_add: nvidia does not multiply f32 * f32 + f32 -> f32: its lanes "
)
NO_LARGE_F32 = (
    f"{NO_F32}compute it, element by element",
    *(
        "coopmatrix.load: nvidia has no matrices of "
        f"!coopmatrix.matrix<{matrix}>: they stay in work-group memory, and "
        "lanes access them element by element"
        for matrix in ("128x16xf32, a", "16x64xf32, b")
    ),
)
RAGGED = (
    "coopmatrix.load: lavapipe has no matrices of !coopmatrix.matrix<12x20xf32, acc>: "
    "they stay in work-group memory, and lanes access them element by element",
)
STRIDES = "memref<?x?xf32, strided<[?, ?]>>"
STRIDED = (
    "coopmatrix.load: neither rows nor columns are known to be contiguous in "
    f"{STRIDES}: lanes access it element by element",
)

REMARKS = (
    (MATMUL.replace("T", "f16"), "device=nvidia", STAGED),
    (MATMUL.replace("T", "f16"), "device=nvidia staged=true", ()),
    (MATMUL.replace("T", "f16"), "device=lavapipe", ()),
    (MATMUL.replace("T", "f32"), "device=nvidia", (f"{NO_F32}compute it, as vectors",)),
    (MATMUL.replace("T", "f32"), "device=nvidia tile=128,64,16", NO_LARGE_F32),
    (moving("8x8xf32, acc", "memref<?x?xf32>"), "device=lavapipe", ()),
    (moving("12x20xf32, acc", "memref<?x?xf32>"), "device=lavapipe", RAGGED),
    (moving("16x8xf32, acc", STRIDES), "device=lavapipe", STRIDED),
)
"""A program, the options of the pipeline, what is said."""


@pytest.mark.parametrize(("text", "options", "said"), REMARKS)
def test_remarks(
    text: str, options: str, said: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Each reason once, however many tiles there are; nothing about what is fast."""
    found = coopc.compile(text, f"coopc-khr{{{options}}}", "mlir").remarks
    assert [line.partition("remark: ")[2] for line in found] == list(said)
    assert not capsys.readouterr().err
