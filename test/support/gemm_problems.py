"""Multiplications as plans see them."""

from coopc.plan.gemm import GemmOperand, Problem


def problem(
    sizes: tuple[int | None, int | None, int | None],
    types: tuple[str, str] = ("f16", "f32"),
    transposed: tuple[bool, bool] = (False, False),
) -> Problem:
    m, n, k = sizes
    ab, c = types

    def matrix(
        element: str, rows: int | None, cols: int | None, turned: bool = False
    ) -> GemmOperand:
        strides = (1, rows) if turned else (cols, 1)
        return GemmOperand("memref", element, (rows, cols), strides, transposed=turned)

    return Problem(
        matrix(ab, m, k, transposed[0]),
        matrix(ab, k, n, transposed[1]),
        matrix(c, m, n),
        "constant",
    )
