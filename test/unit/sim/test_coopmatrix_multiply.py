"""`mul_add` against Python's integers, and against sums in f32 by ascending k."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.nibbles import halves, packed, signed
from support.programs import kernel

from coopc.rounding import FORMATS, wrap
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.numerics import from_bf16, to_bf16
from coopc.sim.simulate import simulate

few = settings(max_examples=30, deadline=None)
WIDTHS = {"i4": 4, "i8": 8, "i16": 16, "i32": 32, "i64": 64}


def multiply(
    shape: tuple[int, int, int],
    types: tuple[str, str, str, str],
    suffix: str,
    arrays: list[Any],
    dtype: Any,
) -> Any:
    """What a kernel of one `mul_add` writes."""
    m, n, k = shape
    sizes = {"a": (m, k), "b": (k, n), "c": (m, n), "d": (m, n)}
    uses = {"a": "a", "b": "b", "c": "acc", "d": "acc"}
    matrices: dict[str, str] = {}
    memory: dict[str, str] = {}
    for (name, (rows, cols)), type in zip(sizes.items(), types, strict=True):
        matrices[name] = f"!coopmatrix.matrix<{rows}x{cols}x{type}, {uses[name]}>"
        # Rows of i4 begin at whole bytes.
        layout = f", strided<[{cols + cols % 2}, 1]>" if type == "i4" else ""
        memory[name] = f"memref<{rows}x{cols}x{type}{layout}>"
    loads = "\n".join(
        f"%{x} = coopmatrix.load %m{x}[%z, %z] row_major : {memory[x]} -> {matrices[x]}"
        for x in "abc"
    )
    module = kernel(
        ", ".join(f"%m{x}: {memory[x]}" for x in sizes),
        f"""
        %z = arith.constant 0 : index
        {loads}
        %d = coopmatrix.mul_add %a, %b, %c {suffix}
             : {matrices["a"]}, {matrices["b"]}, {matrices["c"]} -> {matrices["d"]}
        coopmatrix.store %d, %md[%z, %z] row_major : {matrices["d"]}, {memory["d"]}
        """,
    )
    given = [
        packed(array) if type == "i4" else array
        for type, array in zip(types, [*arrays, np.zeros((m, n), dtype)], strict=True)
    ]
    simulate(module, "f", given)
    return signed(halves(given[-1]))[:, :n] if types[-1] == "i4" else given[-1]


def integers(data: st.DataObject, type: str, shape: tuple[int, int]) -> Any:
    bits = WIDTHS[type]
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    one = st.sampled_from([low, high, -1, 1]) | st.integers(low, high)
    count = shape[0] * shape[1]
    values = data.draw(st.lists(one, min_size=count, max_size=count))
    dtype = np.dtype(f"i{max(1, bits // 8)}")
    return np.array(values, dtype).reshape(shape)


@few
@given(st.data())
def test_integers(data: st.DataObject) -> None:
    m, n, k = (data.draw(st.integers(1, 4)) for _ in range(3))
    one_of = st.sampled_from(list(WIDTHS))
    types = data.draw(st.tuples(one_of, one_of, one_of, one_of))
    signed = [x for x in ("a", "b", "c", "result") if data.draw(st.booleans())]
    a, b, c = (
        integers(data, type, shape)
        for type, shape in zip(types[:3], ((m, k), (k, n), (m, n)), strict=True)
    )
    suffix = f"signed({', '.join(signed)})" if signed else ""
    bits = WIDTHS[types[3]]
    dtype = np.dtype(f"i{max(1, bits // 8)}")
    saturated, low, high = _limits(bits, "result" in signed)
    products = {
        (row, col): sum(
            wrap(int(a[row, i]), WIDTHS[types[0]], "a" in signed)
            * wrap(int(b[i, col]), WIDTHS[types[1]], "b" in signed)
            for i in range(k)
        )
        for row, col in np.ndindex(m, n)
    }
    for saturating in (False, True):
        words = f"{suffix} saturating" if saturating else suffix
        if saturating and not all(low <= x <= high for x in products.values()):
            with pytest.raises(UndefinedBehaviour, match="product whose sum saturates"):
                multiply((m, n, k), types, words, [a, b, c], dtype)
            continue
        found = multiply((m, n, k), types, words, [a, b, c], dtype)
        for (row, col), product in products.items():
            plus = wrap(int(c[row, col]), WIDTHS[types[2]], "c" in signed)
            if saturating:
                parts = [wrap(x, bits, saturated) for x in (product, plus)]
                total = min(max(sum(parts), low), high)
            else:
                total = product + plus
            assert found[row, col] == wrap(total, bits, signed=True)


def _limits(bits: int, signed: bool) -> tuple[bool, int, int]:
    if signed:
        return True, -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return False, 0, (1 << bits) - 1


def test_saturation_of_wide_integers() -> None:
    most = np.full((1, 1), 2**63 - 1)
    one = np.ones((1, 1), np.int64)
    types = ("i64", "i64", "i64", "i64")
    signs = "signed(a, b, c, result) saturating"
    assert multiply((1, 1, 1), types, signs, [one, one, most], np.int64) == 2**63 - 1
    found = multiply((1, 1, 1), types, signs, [-one, one, ~most], np.int64)
    assert found == -(2**63)
    found = multiply((1, 1, 1), types, "saturating", [one, one, -one], np.int64)
    assert found.view(np.uint64) == 2**64 - 1


FLOATS: dict[str, Any] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def stored(values: Any, type: str) -> Any:
    return to_bf16(values) if type == "bf16" else values.astype(FLOATS[type])


def numbers(array: Any, type: str) -> Any:
    return (from_bf16(array) if type == "bf16" else array).astype(np.float64)


@few
@given(st.data())
def test_floats(data: st.DataObject) -> None:
    m, n, k = (data.draw(st.integers(1, 5)) for _ in range(3))
    names = ["f16", "bf16", "f32", "f64"]
    a_type, b_type, c_type, d_type = (
        data.draw(st.sampled_from(names)) for _ in range(4)
    )
    random = np.random.default_rng(data.draw(st.integers(0, 1000)))
    a, b, c = (
        stored(random.standard_normal(shape) * 3, type)
        for shape, type in (((m, k), a_type), ((k, n), b_type), ((m, n), c_type))
    )
    types = (a_type, b_type, c_type, d_type)
    found = multiply((m, n, k), types, "", [a, b, c], FLOATS.get(d_type, np.uint16))
    accumulator = FORMATS["f64" if "f64" in types else "f32"]
    x, y, z = numbers(a, a_type), numbers(b, b_type), numbers(c, c_type)
    for row, col in np.ndindex(m, n):
        total = accumulator.round(float(z[row, col]))
        for i in range(k):
            product = accumulator.round(float(x[row, i]) * float(y[i, col]))
            total = accumulator.round(total + product)
        assert numbers(found, d_type)[row, col] == FORMATS[d_type].round(total)


def test_zero_times_nan_is_nan() -> None:
    a, b = np.zeros((1, 2), np.float16), np.array([[np.nan], [1.0]], np.float16)
    types = ("f16", "f16", "f32", "f32")
    found = multiply((1, 1, 2), types, "", [a, b, np.ones((1, 1), np.float32)], "f4")
    assert np.isnan(found).all()


def test_minus_zero_stays() -> None:
    a, b = -np.ones((1, 1), np.float16), np.zeros((1, 1), np.float16)
    minus = np.array([[-0.0]], np.float32)
    types = ("f16", "f16", "f32", "f32")
    assert np.signbit(multiply((1, 1, 1), types, "", [a, b, minus], "f4")).all()
    assert not np.signbit(multiply((1, 1, 1), types, "", [a, b, -minus], "f4")).any()


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_overflow_of_the_result(type: str) -> None:
    greatest = FORMATS[type].greatest
    a = stored(np.array([[greatest, -greatest]]), type)
    b = stored(np.array([[1.0], [0.5]]), type)
    c = stored(np.array([[greatest]]), type)
    types = (type, type, type, type)
    found = multiply((1, 1, 2), types, "", [a, b, c], FLOATS.get(type, np.uint16))
    assert numbers(found, type)[0, 0] == np.inf


def test_sums_in_f32_go_beyond_f16() -> None:
    greatest = np.float16(65504)
    a, b = np.array([[greatest, greatest]]), np.array([[1], [-1]], np.float16)
    types = ("f16", "f16", "f16", "f16")
    found = multiply((1, 1, 2), types, "", [a, b, np.array([[greatest]])], np.float16)
    assert found[0, 0] == greatest
