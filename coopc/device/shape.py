"""What a device multiplies and how it reads matrices, as values that check themselves.

Element types are plain strings: floats by name, integers by sign and width, as `s8`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias

ELEMENT_BITS = {
    "s4": 4,
    "u4": 4,
    "s8": 8,
    "u8": 8,
    "f8E4M3FN": 8,
    "f8E5M2": 8,
    "s16": 16,
    "u16": 16,
    "f16": 16,
    "bf16": 16,
    "s32": 32,
    "u32": 32,
    "f32": 32,
    "tf32": 32,
    "s64": 64,
    "u64": 64,
    "f64": 64,
}
"""The element types, and the bits that one of them has in memory."""

Use: TypeAlias = Literal["a", "b", "acc"]
"""The operand of `d = a * b + c` that a matrix is; `acc` is both c and d."""

Layout: TypeAlias = Literal[
    "row_major", "col_major", "packed", "row_blocked", "col_blocked"
]
"""Where in memory the elements of a matrix are; the names of `coopmatrix`."""


def is_integer(element: str) -> bool:
    """Whether an element type is an integer.

    >>> is_integer("s8"), is_integer("bf16")
    (True, False)
    """
    return element[0] in "su"


def signless(element: str) -> str:
    """Return an element type as matrices have it in the IR, without a sign.

    >>> signless("s8"), signless("u8"), signless("f16")
    ('i8', 'i8', 'f16')
    """
    return "i" + element[1:] if is_integer(element) else element


@dataclass(frozen=True, slots=True, order=True)
class MatrixShape:
    """One multiplication, `result = a * b + c`, that a device has as an instruction."""

    m: int
    """Rows of a, c and the result, at least 1."""
    n: int
    """Columns of b, c and the result, at least 1."""
    k: int
    """Columns of a and rows of b, at least 1."""
    a: str
    """The element type of a, a key of `ELEMENT_BITS`; so are the other three."""
    b: str
    c: str
    result: str
    saturating: bool = False
    """Whether the addition of c can saturate; integers only."""

    def __post_init__(self) -> None:
        if min(self.m, self.n, self.k) < 1:
            raise ValueError(
                f"expected M, N and K of at least 1, got {self.m}, {self.n}, {self.k}"
            )
        for element in self.elements:
            if element not in ELEMENT_BITS:
                raise ValueError(
                    f"expected an element type of {', '.join(ELEMENT_BITS)}, "
                    f"got {element}"
                )
        if len({is_integer(element) for element in self.elements}) > 1:
            raise ValueError(
                "expected all element types to be floats, or all to be integers, "
                f"got {', '.join(self.elements)}"
            )
        if self.saturating and not is_integer(self.result):
            raise ValueError(
                f"expected integers, which can saturate, got {self.result}"
            )

    def __str__(self) -> str:
        saturating = ", saturating" if self.saturating else ""
        return f"{self.m}x{self.n}x{self.k} {self.types}{saturating}"

    @property
    def elements(self) -> tuple[str, str, str, str]:
        return self.a, self.b, self.c, self.result

    @property
    def types(self) -> str:
        return f"{self.a} * {self.b} + {self.c} -> {self.result}"

    @property
    def operands(self) -> tuple[tuple[Use, str, int, int], ...]:
        return (
            ("a", self.a, self.m, self.k),
            ("b", self.b, self.k, self.n),
            ("acc", self.c, self.m, self.n),
            ("acc", self.result, self.m, self.n),
        )


@dataclass(frozen=True, slots=True)
class WorkgroupShapes:
    """What work-groups of one size multiply: their subgroups share matrices."""

    work_items: int
    """Of a work-group, at least 1."""
    shapes: tuple[MatrixShape, ...]
    """The least multiplications: multiples of their sizes are multiplied, too."""


def shapes(
    rows: Iterable[int],
    cols: Iterable[int],
    depths: Iterable[int],
    types: Iterable[str],
) -> Iterator[MatrixShape]:
    """Yield every M of `rows` by N of `cols` by K of `depths`, for each of `types`.

    A type is a text, "a b c result" or "a b acc" for short:

    >>> [str(x) for x in shapes((8, 16), (16,), (16,), ("f16 f16 f32",))]
    ['8x16x16 f16 * f16 + f32 -> f32', '16x16x16 f16 * f16 + f32 -> f32']
    """
    for text, m, n, k in product(types, rows, cols, depths):
        a, b, c, *rest = text.split()
        (result,) = rest or (c,)
        yield MatrixShape(m, n, k, a, b, c, result)


@dataclass(frozen=True, slots=True)
class AccessRule:
    """Which layouts in memory a device loads and stores some matrices in."""

    use: Use
    layouts: tuple[Layout, ...]
    elements: tuple[str, ...] = ()
    """The signless element types that the rule is for; empty for all."""
    shapes: tuple[tuple[int, int], ...] = ()
    """The (rows, columns) that the rule is for; empty for all."""

    def __post_init__(self) -> None:
        if "packed" in self.layouts and self.use != "b":
            raise ValueError(
                f"expected use b, the one with a packed layout, got {self.use}"
            )
        names = {signless(element) for element in ELEMENT_BITS}
        if unknown := set(self.elements) - names:
            raise ValueError(
                f"expected signless element types, got {', '.join(sorted(unknown))}"
            )

    def matches(self, use: Use, element: str, rows: int, cols: int) -> bool:
        """Whether the rule is for matrices of this kind (`element` is signless)."""
        return (
            use == self.use
            and (not self.elements or element in self.elements)
            and (not self.shapes or (rows, cols) in self.shapes)
        )


@dataclass(frozen=True, slots=True)
class GemmTiles:
    """The tiles of a matrix multiplication by several subgroups of a work-group.

    They share tiles of A and B in work-group memory; see `coopc.plan.gemm`.
    """

    group: tuple[int, int]
    """M and N of a work-group."""
    subgroup: tuple[int, int]
    """M and N of a subgroup; divides `group`."""
    step: int
    """K of what is in work-group memory at a time."""
    stages: int = 2
    """Tiles of A and of B in work-group memory: with 2, the next ones are written while
    the work-group multiplies those that are there."""
    gaps: bool = True
    """Whether rows in work-group memory have an odd number of 16 bytes."""
    band: int = 0
    """Rows of work-groups that follow each other column by column, so that those that
    run at one time read few rows and columns; 0 for the order of the grid."""
    unroll: bool = False
    """Whether the driver is asked to write out the loop along K, or not to."""
    sliced: bool = False
    """Whether B comes in slices, the K of one product each, with 1 stage of A.  That
    leaves room for longer steps, so that whole lines of A are read at a time."""
    split: int = 1
    """Subgroups that share K for each tile of C: each multiplies a part of a step, and
    their sums are added in the end."""
    ahead: int = 1
    """Steps whose tiles are on their way from memory to registers; 1 with slices, and
    1 or an even number with 2 stages.  An iteration of the loop along K has as many."""
    cost: tuple[float, float] | None = None
    """Nanoseconds that a work-group takes for each element along K: at least, and
    where work-groups follow each other on a compute unit.  None if not measured."""

    @property
    def subgroups(self) -> int:
        (m, n), (sub_m, sub_n) = self.group, self.subgroup
        return (m // sub_m) * (n // sub_n) * self.split
