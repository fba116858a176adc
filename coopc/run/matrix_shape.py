"""The matrix multiplications that a device lists, and whether a kernel keeps to them.

Drivers run shapes that they do not list and return wrong numbers, as lavapipe does at
16x16x16, so the list is compared with the kernel before it runs.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

EXTENSION = "VK_KHR_cooperative_matrix"


@dataclass(frozen=True, order=True)
class MatrixShape:
    """One multiplication result = a * b + c, listed by a device or used by a kernel."""

    m: int
    """Rows of a, c and the result."""
    n: int
    """Columns of b, c and the result."""
    k: int
    """Columns of a, rows of b."""
    a: str
    """Component type: f16, bf16, f32, f64, e4m3, e5m2, s8 to s64, u8 to u64."""
    b: str
    """Component type, as a."""
    c: str
    """Component type, as a."""
    result: str
    """Component type, as a."""
    saturating: bool = False
    """Whether integers stop at the ends of their range instead of wrapping around."""
    scope: str = "subgroup"
    """Who holds the matrices: subgroup, workgroup, device or queue family."""

    def __str__(self) -> str:
        sizes = f"{self.m}x{self.n}x{self.k}"
        types = f"{self.a} * {self.b} + {self.c} -> {self.result}"
        return f"{sizes} {types}, {self.scope}" + ", saturating" * self.saturating


@dataclass(frozen=True, order=True)
class MatrixType:
    """A cooperative matrix type, whose integers have no sign yet."""

    rows: int
    """Rows."""
    cols: int
    """Columns."""
    component: str
    """Component type, as in MatrixShape; integers are u8 to u64."""
    use: str
    """a, b or c; c is also the result."""
    scope: str = "subgroup"
    """As in MatrixShape."""

    def __str__(self) -> str:
        return f"{self.rows}x{self.cols} {self.component} as {self.use}, {self.scope}"

    def is_operand_of(self, shape: MatrixShape) -> bool:
        """Whether a multiplication takes or gives matrices of this type."""
        m, n, k = shape.m, shape.n, shape.k
        operands = {
            "a": ((m, k, shape.a),),
            "b": ((k, n, shape.b),),
            "c": ((m, n, shape.c), (m, n, shape.result)),
        }
        return self.scope == shape.scope and any(
            (self.rows, self.cols, self.component) == (rows, cols, _unsigned(component))
            for rows, cols, component in operands[self.use]
        )


def _unsigned(component: str) -> str:
    return "u" + component[1:] if component.startswith("s") else component


def why_unlisted(
    listed: Collection[MatrixShape],
    shapes: Iterable[MatrixShape],
    types: Iterable[MatrixType] = (),
) -> str | None:
    """What a kernel uses that is not listed, or None.

    Args:
        listed: the multiplications that the device has.
        shapes: those of the kernel.
        types: the kernel's matrix types, also those that it does not multiply.
    """
    missing = [str(x) for x in sorted(set(shapes).difference(listed))]
    missing += [
        str(x)
        for x in sorted(set(types))
        if not any(x.is_operand_of(shape) for shape in listed)
    ]
    if not missing:
        return None
    has = "; ".join(map(str, sorted(listed))) or "no cooperative matrices"
    return f"expected a listed matrix shape, got {'; '.join(missing)} (listed: {has})"
