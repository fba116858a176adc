"""A multiplication on tiles, as two kernels.

    @pack      a work-group packs a panel of A, or a step of K of all panels of B
    @multiply  a work-group computes a block of C, see `coopc.plan.amx_gemm`

Packed, step s of panel p of either is 32 rows of 64 bytes at (p * steps + s) * 2 KiB:
the rows of two tiles, those of B with rows of K by turns.  What is beyond the matrices
is zero, so that only C has edges.  The memref of it has 32 rows of 64 bytes from each
element on: a tile is named by its first element alone, which one register counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from coopc.plan.amx_gemm import PANEL, STEP_BYTES, Block

ATTRIBUTES = (
    "simt.kernel, simt.subgroup_size = 1 : i32, simt.work_group_size = array<i32: 1>"
)


@dataclass(frozen=True, slots=True)
class Gemm:
    """What is multiplied: `C = fill + A * B`, or `C += A * B`."""

    element: str
    """Of A and B: bf16, f16 or i8."""
    types: tuple[str, str, str]
    """Of the memrefs."""
    row_stride: int | None
    """Of C, in elements; None where it is dynamic."""
    signed: str
    """What of the product is signed, as coopmatrix.mul_add says it."""
    fill: str | None
    """A constant that C is filled with first; None to add to what is there."""
    block: Block
    packs_a: bool = True
    """Whether A is packed, too: else it is whole panels and steps, read as it is."""

    @property
    def sum(self) -> str:
        """The type of an element of C."""
        return "i32" if self.element == "i8" else "f32"

    @property
    def step(self) -> int:
        """Elements of K in a step."""
        return STEP_BYTES // self.bytes

    @property
    def unit(self) -> int:
        """What the innermost loop counts a step as."""
        return PANEL * self.step if self.packs_a else self.step

    @property
    def bytes(self) -> int:
        """Of an element of A and B."""
        return 1 if self.element == "i8" else 2

    @property
    def packed(self) -> int:
        """Rows of B that share a row of its tile."""
        return 4 // self.bytes

    @property
    def arguments(self) -> str:
        """Of both kernels."""
        a, b, c = self.types
        return f"%a: {a}, %b: {b}, %c: {c}, %pa: {self.rows}, %pb: {self.rows}"

    @property
    def rows(self) -> str:
        """The type of A and of B, packed."""
        return f"memref<{PANEL}x?x{self.element}, strided<[{self.step}, 1]>>"

    @property
    def sizes(self) -> str:
        """What both kernels begin with: M, N, K, and how many panels and steps."""
        a, _, c = self.types
        return f"""
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant {PANEL} : index
  %cstep = arith.constant {self.step} : index
  %csize = arith.constant {PANEL * self.step} : index
  %chalf = arith.constant {PANEL * self.step // 2} : index
  %m = memref.dim %c, %c0 : {c}
  %n = memref.dim %c, %c1 : {c}
  %k = memref.dim %a, %c1 : {a}
  %panels_a = arith.ceildivui %m, %c32 : index
  %panels_b = arith.ceildivui %n, %c32 : index
  %steps = arith.ceildivui %k, %cstep : index"""


def zero(element: str) -> str:
    """Return how a type writes zero."""
    return "0" if element.startswith("i") else "0.0"
