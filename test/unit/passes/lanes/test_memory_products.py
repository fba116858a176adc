"""Products of matrices that one lane holds, by loops with sums in registers."""

import numpy as np
import pytest

from coopc.launcher import LaunchTarget, build
from coopc.run.arrays import Array
from coopc.source import Source

DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i8": np.int8}


def products(
    sizes: tuple[int, int, int], types: tuple[str, str], count: int, saturating: bool
) -> str:
    """A kernel that adds as many products of a and b to c, one after the other."""
    (m, n, k), (factor, sum) = sizes, types
    a, b, c = (
        f"!coopmatrix.matrix<{rows}x{cols}x{element}, {use}>"
        for rows, cols, element, use in (
            (m, k, factor, "a"),
            (k, n, factor, "b"),
            (m, n, sum, "acc"),
        )
    )
    of_a, of_b, of_c = (
        f"memref<{rows}x{cols}x{element}>"
        for rows, cols, element in ((m, k, factor), (k, n, factor), (m, n, sum))
    )
    how = " signed(a, b, c, result)" * (sum == "i32") + " saturating" * saturating
    lines = "".join(
        f"""
  %c{n + 1} = coopmatrix.mul_add %x, %y, %c{n}{how} : {a}, {b}, {c} -> {c}"""
        for n in range(count)
    )
    return f"""
func.func @k(%a: {of_a}, %b: {of_b}, %c: {of_c}) attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%0, %0] row_major : {of_a} -> {a}
  %y = coopmatrix.load %b[%0, %0] row_major : {of_b} -> {b}
  %c0 = coopmatrix.load %c[%0, %0] row_major : {of_c} -> {c}{lines}
  coopmatrix.store %c{count}, %c[%0, %0] row_major : {c}, {of_c}
  func.return
}}"""


F32, F64, I8 = ("f32", "f32"), ("f64", "f64"), ("i8", "i32")


@pytest.mark.parametrize(
    ("sizes", "types", "tile", "count"),
    [
        ((32, 32, 32), F32, "6,16", 1),
        ((32, 32, 32), F32, "12,32", 1),
        ((24, 32, 20), F32, "6,16", 5),  # rows are padded; the fifth calls a function
        ((1, 64, 48), F32, "6,16", 1),
        ((17, 16, 33), F64, "12,32", 1),
        ((33, 48, 40), I8, "6,16", 1),
        ((16, 24, 40), F32, "6,16", 1),  # vectors span rows
    ],
)
def test_products(
    sizes: tuple[int, int, int], types: tuple[str, str], tile: str, count: int
) -> None:
    m, n, k = sizes
    rng = np.random.default_rng(0)

    def drawn(rows: int, cols: int, element: str) -> Array:
        return rng.integers(-4, 5, (rows, cols)).astype(DTYPES[element])

    a, b = drawn(m, k, types[0]), drawn(k, n, types[0])
    c = drawn(m, n, types[1])
    text = products(sizes, types, count, saturating=False)
    target = LaunchTarget("cpu", pipeline=f"coopc-cpu{{tile={tile}}}", tiles="none")
    built = build(Source(text, "k"), target)
    assert ("scf.for %i" in str(built.program)) == (n % 16 == 0 and m not in (1, 17))
    given = c.copy()
    built.executable.run(a, b, given)
    factors = [x.astype(np.int64) for x in (a, b)]
    np.testing.assert_array_equal(given, c + count * (factors[0] @ factors[1]))


def test_a_sum_that_saturates() -> None:
    """C is added at the end, and saturates there alone."""
    text = products((32, 32, 32), ("i8", "i32"), 1, saturating=True)
    target = LaunchTarget("cpu", pipeline="coopc-cpu", tiles="none")
    a, b = (np.full((32, 32), x, np.int8) for x in (2, 3))
    c = np.full((32, 32), 2**31 - 5, np.int32)
    build(Source(text, "k"), target).executable.run(a, b, c)
    assert (c == 2**31 - 1).all()
