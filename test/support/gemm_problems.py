"""Multiplications as plans see them."""

from coopc.plan.gemm import GemmOperand, Problem

HALVES = ("f16", "f16", "f32")


def problem(
    sizes: tuple[int | None, int | None, int | None] = (None, None, None),
    elements: tuple[str, str, str] = HALVES,
    transposed: tuple[bool, bool] = (False, False),
) -> Problem:
    """A multiplication of matrices without gaps."""
    m, n, k = sizes
    a, b, c = elements

    def matrix(
        element: str, rows: int | None, cols: int | None, turned: bool = False
    ) -> GemmOperand:
        strides = (1, rows) if turned else (cols, 1)
        return GemmOperand("memref", element, (rows, cols), strides, transposed=turned)

    return Problem(
        matrix(a, m, k, transposed[0]),
        matrix(b, k, n, transposed[1]),
        matrix(c, m, n),
    )
