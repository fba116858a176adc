"""Elements of matrices: whose they are, what is computed on them, and all together."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, StringAttr

from coopc.dialects.coopmatrix import DISTRIBUTION
from coopc.layout.distribution import Distribution
from coopc.rounding import wrap
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.matrices import Provider, coopmatrix_layout, row_slices
from coopc.sim.simulate import simulate
from coopc.testing.programs import kernel, module_of

few = settings(max_examples=15, deadline=None)
RANDOM = np.random.default_rng(0)


def on_matrix(
    shape: tuple[int, int],
    type: str,
    body: str,
    *,
    result: str = "",
    use: str = "acc",
    scope: str = "subgroup",
    lanes: int = 8,
    subgroups: int = 1,
) -> Any:
    """A kernel that loads %m from %x, runs a body and stores %r in %y.

    `{matrix}` in the body is the type of %m.
    """
    rows, cols = shape
    matrix = f"!coopmatrix.matrix<{rows}x{cols}x{type}, {use}, scope = {scope}>"
    result = result or matrix
    out = result.partition("<")[2].partition(",")[0]
    return kernel(
        f"%x: memref<{rows}x{cols}x{type}>, %y: memref<{out}>",
        f"""
        %z = arith.constant 0 : index
        %m = coopmatrix.load %x[%z, %z] row_major
             : memref<{rows}x{cols}x{type}> -> {matrix}
        {body.replace("{matrix}", matrix)}
        coopmatrix.store %r, %y[%z, %z] row_major : {result}, memref<{out}>
        """,
        lanes=lanes,
        subgroups=subgroups,
    )


DOUBLE_OWNED = """
  %n = coopmatrix.length {matrix} : index
  %one = arith.constant 1 : index
  %lane = simt.lane_id : index
  %who = arith.index_cast %lane : index to i32
  %r = scf.for %k = %z to %n step %one iter_args(%c = %m) -> ({matrix}) {
    %e = coopmatrix.extract %c[%k] : {matrix}
    %row, %col = coopmatrix.coord %c[%k] : {matrix}
    %i = arith.index_cast %row : index to i32
    %j = arith.index_cast %col : index to i32
    %a = arith.addi %e, %e : i32
    %b = arith.muli %i, %j : i32
    %d = arith.addi %a, %b : i32
    %f = arith.muli %d, %d : i32
    %g = arith.addi %f, %who : i32
    %w = coopmatrix.insert %g, %c[%k] : {matrix}
    scf.yield %w : {matrix}
  }
"""


@pytest.mark.parametrize("provider", [coopmatrix_layout, row_slices])
@few
@given(st.integers(1, 12), st.integers(1, 12), st.sampled_from([4, 8, 16]))
def test_owned_elements(provider: Provider, rows: int, cols: int, lanes: int) -> None:
    """Each element is seen by its owner, once, with its coordinates."""
    seen: list[Distribution] = []

    def chosen(matrix: Any, count: int) -> Distribution:
        seen.append(provider(matrix, count))
        return seen[-1]

    module = on_matrix((rows, cols), "i32", DOUBLE_OWNED, lanes=lanes)
    x = RANDOM.integers(0, 99, (rows, cols), np.int32)
    y = np.zeros_like(x)
    simulate(module, "f", [x, y], distribution=chosen)
    row = np.arange(rows, dtype=np.int64)[:, None]
    col = np.arange(cols, dtype=np.int64)[None, :]
    owner, _ = seen[0].owners(row, col)
    assert (y == (2 * x + row * col) ** 2 + owner).all()


def test_owned_elements_of_a_work_group() -> None:
    body = DOUBLE_OWNED.replace(
        "%lane = simt.lane_id : index", "%lane = simt.local_id x : index"
    )
    module = on_matrix((5, 7), "i32", body, scope="workgroup", subgroups=3)
    x = RANDOM.integers(0, 99, (5, 7), np.int32)
    y = np.zeros_like(x)
    simulate(module, "f", [x, y])
    row, col = np.indices(x.shape)
    assert (y == (2 * x + row * col) ** 2 + (7 * row + col) % 24).all()


def test_padding() -> None:
    """2 x 3 over 4 lanes: lanes 2 and 3 have a slot of padding."""
    body = """
      %one = arith.constant 1 : index
      %lane = simt.lane_id : index
      %e = coopmatrix.extract %m[%one] : {matrix}
      %i, %j = coopmatrix.coord %m[%one] : {matrix}
      %w = coopmatrix.insert %e, %m[%one] : {matrix}
      %ij = arith.addi %i, %j : index
      %s = arith.index_cast %ij : index to i32
      %f = arith.addi %e, %s : i32
      %r = coopmatrix.insert %f, %w[%z] : {matrix}
    """
    module = on_matrix((2, 3), "i32", body, lanes=4)
    x = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
    y = np.zeros_like(x)
    simulate(module, "f", [x, y], distribution=row_slices)
    # Lanes 0 and 1 have 5 at (1, 1) and 6 at (1, 2); 0 at (2, 3) is padding.
    assert y.tolist() == [[5 + 2, 6 + 3, 0 + 5], [0 + 5, 5, 6]]


def test_slots_that_nobody_has() -> None:
    module = on_matrix(
        (2, 3),
        "i32",
        "%two = arith.constant 2 : index\n"
        "%e = coopmatrix.extract %m[%two] : {matrix}\n"
        "%r = coopmatrix.insert %e, %m[%z] : {matrix}",
        lanes=4,
    )
    x = np.zeros((2, 3), np.int32)
    with pytest.raises(UndefinedBehaviour, match="slot below 2"):
        simulate(module, "f", [x, x.copy()], distribution=row_slices)


def test_insertion_in_divergent_control_flow() -> None:
    body = """
      %lane = simt.lane_id : index
      %c2 = arith.constant 2 : index
      %nine = arith.constant 9 : i32
      %one = arith.constant 1 : index
      %lane32 = arith.index_cast %lane : index to i32
      %low = arith.cmpi ult, %lane, %c2 : index
      %r = scf.if %low -> ({matrix}) {
        %w = coopmatrix.insert %nine, %m[%z] : {matrix}
        scf.yield %w : {matrix}
      } else {
        %w = coopmatrix.insert %lane32, %m[%one] : {matrix}
        scf.yield %w : {matrix}
      }
    """
    module = on_matrix((2, 4), "i32", body, lanes=4)
    x = np.arange(8, dtype=np.int32).reshape(2, 4)
    y = np.zeros_like(x)
    simulate(module, "f", [x, y], distribution=row_slices)
    # Lanes 0 and 1 changed their first element, lanes 2 and 3 their second one.
    assert y.tolist() == [[9, 9, 2, 3], [4, 5, 2, 3]]


def with_distribution(module: ModuleOp, name: str) -> ModuleOp:
    """The module, its kernel with a distribution."""
    for func in module.ops:
        func.attributes[DISTRIBUTION] = StringAttr(name)
    return module


@pytest.mark.parametrize(("name", "length"), [("coopmatrix", 12), ("row_slices", 9)])
def test_distribution_of_the_kernel(name: str, length: int) -> None:
    """12 x 12 over 16 lanes: M is padded to 16 in one, nothing in the other."""
    body = """
      %n = coopmatrix.length {matrix} : index
      %r = coopmatrix.fill %n : index -> {matrix}
    """
    module = with_distribution(on_matrix((12, 12), "i32", body, lanes=16), name)
    x = np.zeros((12, 12), np.int32)
    simulate(module, "f", [x, x])
    assert (x == length).all()


def test_unknown_distribution() -> None:
    module = on_matrix((2, 2), "i32", "%r = coopmatrix.add %m, %m : {matrix}")
    x = np.zeros((2, 2), np.int32)
    with pytest.raises(SimulationError, match="coopmatrix, row_slices, got"):
        simulate(with_distribution(module, "mine"), "f", [x, x])


@few
@given(st.data())
def test_row_slices(data: st.DataObject) -> None:
    rows, cols = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    length = data.draw(st.integers(1, 6))
    source, target = (data.draw(st.integers(-3, rows * cols + 2)) for _ in range(2))
    masked = data.draw(st.booleans())
    mask = f"mask %k : vector<{length}xi1>" if masked else ""
    body = f"""
      %s = arith.constant {source} : index
      %t = arith.constant {target} : index
      %two = arith.constant 2 : index
      %k = vector.create_mask %two : vector<{length}xi1>
      %v = coopmatrix.extract_row_slice %m[%s] : {{matrix}} -> vector<{length}xi32>
      %r = coopmatrix.insert_row_slice %v, %m[%t] {mask}
           : vector<{length}xi32>, {{matrix}}
    """
    module = on_matrix((rows, cols), "i32", body)
    x = RANDOM.integers(1, 99, (rows, cols), np.int32)
    y = np.zeros_like(x)
    simulate(module, "f", [x, y])
    expected = x.reshape(-1).copy()
    for n in range(length):
        inside = 0 <= source + n < x.size
        if 0 <= target + n < x.size and (n < 2 or not masked):
            expected[target + n] = x.flat[source + n] if inside else 0
    assert (y.reshape(-1) == expected).all()


BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "shl": lambda x, y: x << (y % 8),
    "div": lambda x, y: x // y,
    "rem": lambda x, y: x % y,
    "min": min,
    "max": max,
    "shr": lambda x, y: x >> (y % 8),
    "div signed": lambda x, y: abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1),
    "rem signed": lambda x, y: abs(x) % abs(y) * (-1 if x < 0 else 1),
    "min signed": min,
    "max signed": max,
    "shr signed": lambda x, y: x >> (y % 8),
}


@pytest.mark.parametrize("name", BINARY)
def test_integers(name: str) -> None:
    rhs = "%b = coopmatrix.bitcast %m : {matrix} -> {matrix}"
    if "sh" in name:
        # Amounts below the width of an element.
        rhs = """
          %seven = arith.constant 7 : i8
          %s = coopmatrix.fill %seven : i8 -> {matrix}
          %b = coopmatrix.and %m, %s : {matrix}
        """
    op, _, signed = name.partition(" ")
    body = f"""
      {rhs}
      %t = coopmatrix.not %m : {{matrix}}
      %r = coopmatrix.{op} {signed} %t, %b : {{matrix}}
    """
    x = np.array([*range(-128, -1), *range(1, 127)], np.int8).reshape(11, 23)
    y = np.zeros_like(x)
    simulate(on_matrix(x.shape, "i8", body), "f", [x, y])
    is_signed = bool(signed) or op not in ("div", "rem", "min", "max", "shr")
    for value, found in zip(x.flat, y.flat, strict=True):
        left = wrap(~int(value), 8, is_signed)
        right = wrap(int(value), 8, is_signed)
        assert found == wrap(BINARY[name](left, right), 8, signed=True)


def test_division_by_zero() -> None:
    module = on_matrix((2, 2), "i32", "%r = coopmatrix.div %m, %m : {matrix}")
    with pytest.raises(UndefinedBehaviour, match=r"coopmatrix\.div.*divisor"):
        simulate(module, "f", [np.zeros((2, 2), np.int32)] * 2)


FLOAT_BINARY: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "rem": np.fmod,
    "min": np.fmin,
    "max": np.fmax,
}


@pytest.mark.parametrize("name", FLOAT_BINARY)
def test_floats(name: str) -> None:
    body = f"""
      %three = arith.constant 3.0 : f16
      %s = coopmatrix.scale %m, %three : {{matrix}}, f16
      %r = coopmatrix.{name} %m, %s : {{matrix}}
    """
    x = RANDOM.standard_normal((3, 5)).astype(np.float16) * np.float16(100)
    x[0] = [np.nan, np.inf, 0, -0.0, 65504]
    y = np.zeros_like(x)
    simulate(on_matrix(x.shape, "f16", body), "f", [x, y])
    with np.errstate(all="ignore"):
        expected = FLOAT_BINARY[name](x, x * np.float16(3))
    assert np.array_equal(y, expected, equal_nan=True)


def test_scale_of_integers() -> None:
    body = """
      %s = arith.constant 100 : i8
      %r = coopmatrix.scale %m, %s : {matrix}, i8
    """
    x = np.arange(-8, 7, dtype=np.int8).reshape(3, 5)
    y = np.zeros_like(x)
    simulate(on_matrix(x.shape, "i8", body), "f", [x, y])
    assert (y == (x.astype(np.int64) * 100).astype(np.int8)).all()


def test_signs() -> None:
    for name, compute in (("neg", np.negative), ("abs", np.abs)):
        for dtype, type in ((np.int8, "i8"), (np.float16, "f16")):
            x = np.array([[-128, -1, 0], [1, 5, 127]], dtype)
            y = np.zeros_like(x)
            module = on_matrix(x.shape, type, f"%r = coopmatrix.{name} %m : {{matrix}}")
            simulate(module, "f", [x, y])
            assert (y == compute(x)).all()
            assert (np.signbit(y) == np.signbit(compute(x))).all()


CONVERSIONS: list[tuple[str, Any, str, str, Callable[[Any], Any]]] = [
    ("f32", np.float32, "f16", "", lambda x: x.astype(np.float16)),
    ("f16", np.float16, "f32", "", lambda x: x.astype(np.float32)),
    ("f32", np.float32, "i8", "signed", lambda x: np.trunc(x).astype(np.int8)),
    ("f32", np.float32, "i32", "", lambda x: np.trunc(x).astype(np.int32)),
    ("i8", np.int8, "f32", "signed", lambda x: x.astype(np.float32)),
    ("i8", np.int8, "f32", "", lambda x: x.view(np.uint8).astype(np.float32)),
    ("i8", np.int8, "i32", "signed", lambda x: x.astype(np.int32)),
    ("i8", np.int8, "i32", "", lambda x: x.view(np.uint8).astype(np.int32)),
    ("i32", np.int32, "i8", "", lambda x: x.astype(np.int8)),
]


@pytest.mark.parametrize(("source", "dtype", "result", "sign", "compute"), CONVERSIONS)
def test_convert(source: str, dtype: Any, result: str, sign: str, compute: Any) -> None:
    """Another use keeps the elements where they are in the matrix."""
    target = f"!coopmatrix.matrix<4x6x{result}, a>"
    body = f"%r = coopmatrix.convert {sign} %m : {{matrix}} -> {target}"
    x = (RANDOM.standard_normal((4, 6)) * 20).astype(dtype)
    if not sign and source == "f32":
        x = np.abs(x)
    expected = compute(x)
    y = np.zeros_like(expected)
    module = on_matrix(x.shape, source, body, result=target)
    simulate(module, "f", [x, y])
    assert (y == expected).all()


def test_bitcast() -> None:
    target = "!coopmatrix.matrix<4x6xi32, acc>"
    body = f"%r = coopmatrix.bitcast %m : {{matrix}} -> {target}"
    x = RANDOM.standard_normal((4, 6)).astype(np.float32)
    y = np.zeros((4, 6), np.int32)
    simulate(on_matrix(x.shape, "f32", body, result=target), "f", [x, y])
    assert (y == x.view(np.int32)).all()


@pytest.mark.parametrize("axis", ["rows", "cols"])
@pytest.mark.parametrize("name", ["add", "max", "min", "max signed", "min signed"])
def test_reduce(name: str, axis: str) -> None:
    shape = "5x1" if axis == "rows" else "1x7"
    target = f"!coopmatrix.matrix<{shape}xi8, acc>"
    kind, _, signed = name.partition(" ")
    body = f"%r = coopmatrix.reduce {kind} {axis} {signed} %m : {{matrix}} -> {target}"
    x = RANDOM.integers(-128, 128, (5, 7), np.int8)
    plain = x if signed or kind == "add" else x.view(np.uint8)
    computes: dict[str, Any] = {"add": np.sum, "max": np.max, "min": np.min}
    expected = computes[kind](plain, axis=1 if axis == "rows" else 0, keepdims=True)
    y = np.zeros(expected.shape, np.int8)
    simulate(on_matrix(x.shape, "i8", body, result=target), "f", [x, y])
    assert (y == expected.astype(np.int8)).all()


def test_reduce_floats() -> None:
    target = "!coopmatrix.matrix<2x1xf16, acc>"
    for kind, expected in (("add", [2048.0, np.nan]), ("max", [2048.0, 3.0])):
        body = f"%r = coopmatrix.reduce {kind} rows %m : {{matrix}} -> {target}"
        x = np.array([[2048, 1, 1], [np.nan, 3, -1]], np.float16)
        y = np.zeros((2, 1), np.float16)
        simulate(on_matrix(x.shape, "f16", body, result=target), "f", [x, y])
        assert np.array_equal(y[:, 0], np.array(expected, np.float16), equal_nan=True)


APPLY = """
  %lane = simt.lane_id : index
  %two = arith.constant 2 : index
  %group = simt.subgroup_id : index
  %r = coopmatrix.apply (%i, %j, %v) in %m : {matrix} {
    %a = arith.muli %i, %two : index
    %b = arith.addi %a, %j : index
    %bias = arith.index_cast %b : index to i32
    %mine = arith.index_cast %lane : index to i32
    %late = simt.lane_id : index
    %again = arith.index_cast %late : index to i32
    %s = arith.addi %v, %bias : i32
    %t = arith.muli %mine, %again : i32
    %u = arith.addi %s, %t : i32
    %odd = arith.cmpi ugt, %i, %j : index
    %w = scf.if %odd -> (i32) {
      %x1 = arith.subi %u, %v : i32
      scf.yield %x1 : i32
    } else {
      scf.yield %u : i32
    }
    coopmatrix.yield %w : i32
  }
"""


@pytest.mark.parametrize("scope", ["subgroup", "workgroup"])
@few
@given(st.integers(1, 9), st.integers(1, 9))
def test_apply(scope: str, rows: int, cols: int) -> None:
    """Each element has its row, its column, and what its owner has from outside."""
    lanes, subgroups = 4, (1 if scope == "subgroup" else 3)
    module = on_matrix(
        (rows, cols), "i32", APPLY, scope=scope, lanes=lanes, subgroups=subgroups
    )
    x = RANDOM.integers(0, 99, (rows, cols), np.int32)
    y = np.zeros_like(x)
    simulate(module, "f", [x, y], distribution=row_slices)
    row, col = np.indices(x.shape)
    owner = (row * cols + col) % (lanes * subgroups) % lanes
    expected = x + 2 * row + col + owner**2
    assert (y == expected - np.where(row > col, x, 0)).all()


def test_apply_reads_memory_and_other_matrices() -> None:
    body = """
      %k = coopmatrix.add %m, %m : {matrix}
      %r = coopmatrix.apply (%i, %j, %v) in %m : {matrix} {
        %w = memref.load %x[%j, %i] : memref<3x3xf32>
        %s = arith.subf %v, %w : f32
        coopmatrix.yield %s : f32
      }
    """
    x = RANDOM.standard_normal((3, 3)).astype(np.float32)
    y = np.zeros_like(x)
    simulate(on_matrix((3, 3), "f32", body), "f", [x, y])
    assert (y == x - x.T).all()


def test_apply_in_uniform_control_flow_only() -> None:
    body = """
      %lane = simt.lane_id : index
      %first = arith.cmpi eq, %lane, %z : index
      %r = scf.if %first -> ({matrix}) {
        %s = coopmatrix.apply (%i, %j, %v) in %m : {matrix} {
          coopmatrix.yield %v : f32
        }
        scf.yield %s : {matrix}
      } else {
        scf.yield %m : {matrix}
      }
    """
    x = np.zeros((3, 3), np.float32)
    with pytest.raises(
        UndefinedBehaviour, match=r"coopmatrix\.apply.*some of the lanes"
    ):
        simulate(on_matrix((3, 3), "f32", body), "f", [x, x.copy()])


def test_no_exchange_in_apply() -> None:
    matrix = "!coopmatrix.matrix<2x2xf32, acc>"
    module = module_of(
        f"""
        func.func @sum(%v: f32) -> f32 {{
          %s = simt.reduce add %v : f32
          func.return %s : f32
        }}
        func.func @f(%v: f32) attributes {{simt.kernel,
            simt.grid = affine_map<() -> (1)>}} {{
          %m = coopmatrix.fill %v : f32 -> {matrix}
          %r = coopmatrix.apply (%i, %j, %e) in %m : {matrix} {{
            %s = func.call @sum(%e) : (f32) -> f32
            coopmatrix.yield %s : f32
          }}
          func.return
        }}
        """
    )
    with pytest.raises(UndefinedBehaviour, match=r"simt\.reduce.*no exchange"):
        simulate(module, "f", [1.0])


def test_matrices_of_each_work_item() -> None:
    body = """
      %lane = simt.lane_id : index
      %one = coopmatrix.fill %lane : index -> {matrix}
      %two = coopmatrix.add %m, %one : {matrix}
      %n = coopmatrix.length {matrix} : index
      %c1 = arith.constant 1 : index
      %hundred = arith.constant 100 : i32
      %r = coopmatrix.insert %hundred, %two[%c1] : {matrix}
    """
    module = on_matrix((2, 2), "i32", body, scope="invocation", lanes=4)
    x = np.array([[1, 2], [3, 4]], np.int32)
    y = np.zeros_like(x)
    simulate(module, "f", [x, y])
    # All lanes write the same place; the last one wins.
    assert y.tolist() == [[4, 100], [6, 7]]
