"""Matrices and memory: every layout, check, position and stride, element by element."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.programs import kernel, module_of

from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.numerics import to_bf16
from coopc.sim.simulate import simulate

few = settings(max_examples=40, deadline=None)
RANDOM = np.random.default_rng(0)


@dataclass(frozen=True)
class Place:
    """Where a matrix is in memory, and what is checked."""

    rows: int
    cols: int
    shape: tuple[int, int]
    layout: str
    checked: tuple[str, ...]
    position: tuple[int, int]

    def coordinates(self, row: int, col: int) -> tuple[int, int]:
        """The formulas of the dialect."""
        first, second = self.position
        match self.layout:
            case "row_major":
                return first + row, second + col
            case "col_major":
                return first + col, second + row
            case _:
                return first + row // 4, second + col * 4 + row % 4

    def outside(self, row: int, col: int) -> tuple[set[str], set[str]]:
        """The axes of the matrix that leave memory: checked ones and others."""
        axes = ("cols", "rows") if self.layout == "col_major" else ("rows", "cols")
        place = self.coordinates(row, col)
        wrong = {
            axis
            for axis, at, size in zip(axes, place, self.shape, strict=True)
            if not 0 <= at < size
        }
        return wrong & set(self.checked), wrong - set(self.checked)

    @property
    def suffix(self) -> str:
        return f"checked({', '.join(self.checked)})" if self.checked else ""


@st.composite
def places(draw: st.DrawFn, layouts: tuple[str, ...]) -> Place:
    layout = draw(st.sampled_from(layouts))
    rows = draw(st.integers(1, 5)) * (4 if layout == "packed" else 1)
    shape = draw(st.tuples(st.integers(1, 24), st.integers(1, 24)))
    return Place(
        rows,
        draw(st.integers(1, 7)),
        shape,
        layout,
        draw(st.sampled_from([(), ("rows",), ("cols",), ("rows", "cols")])),
        draw(st.tuples(st.integers(-6, 20), st.integers(-6, 20))),
    )


def type_of(place: Place, strides: tuple[int, int]) -> str:
    rows, cols = place.shape
    return f"memref<{rows}x{cols}xi8, strided<[{strides[0]}, {strides[1]}]>>"


def copy_kernel(place: Place, memory: str, direction: str) -> Any:
    """Load a matrix from %x and store it densely in %y, or the other way round."""
    use = "b" if place.layout == "packed" else "acc"
    matrix = f"!coopmatrix.matrix<{place.rows}x{place.cols}xi8, {use}>"
    dense = f"memref<{place.rows}x{place.cols}xi8>"
    here = f"%x[%i, %j] {place.layout} {place.suffix}"
    there = "%y[%zero, %zero] row_major"
    if direction == "load":
        body = f"""
          %m = coopmatrix.load {here} : {memory} -> {matrix}
          coopmatrix.store %m, {there} : {matrix}, {dense}
        """
    else:
        body = f"""
          %m = coopmatrix.load {there} : {dense} -> {matrix}
          coopmatrix.store %m, {here} : {matrix}, {memory}
        """
    first, second = place.position
    return kernel(
        f"%x: {memory}, %y: {dense}",
        f"""
        %zero = arith.constant 0 : index
        %i = arith.constant {first} : index
        %j = arith.constant {second} : index
        {body}
        """,
        lanes=4,
    )


def strided(shape: tuple[int, int], strides: tuple[int, int]) -> Any:
    size = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    memory = RANDOM.integers(1, 100, size, np.int8)
    return np.lib.stride_tricks.as_strided(memory, shape, strides)


@few
@given(places(("row_major", "col_major", "packed")), st.data())
def test_load(place: Place, data: st.DataObject) -> None:
    """Strides may be anything, 0 too: one row for all."""
    strides = data.draw(st.tuples(st.integers(0, 30), st.integers(0, 30)))
    module = copy_kernel(place, type_of(place, strides), "load")
    x = strided(place.shape, strides)
    y = np.zeros((place.rows, place.cols), np.int8)
    elements = list(np.ndindex(place.rows, place.cols))
    undefined = [
        e for e in elements if place.outside(*e)[1] and not place.outside(*e)[0]
    ]
    if undefined:
        with pytest.raises(UndefinedBehaviour, match=r"coopmatrix\.load"):
            simulate(module, "f", [x, y])
        return
    simulate(module, "f", [x, y])
    for element in elements:
        checked, _ = place.outside(*element)
        expected = 0 if checked else x[place.coordinates(*element)]
        assert y[element] == expected


@few
@given(places(("row_major", "col_major", "packed")), st.booleans())
def test_store(place: Place, transposed: bool) -> None:
    rows, cols = place.shape
    strides = (1, rows + 1) if transposed else (cols + 2, 1)
    module = copy_kernel(place, type_of(place, strides), "store")
    x = strided(place.shape, strides)
    expected = x.copy()
    y = RANDOM.integers(1, 100, (place.rows, place.cols), np.int8)
    elements = list(np.ndindex(place.rows, place.cols))
    if any(place.outside(*e)[1] and not place.outside(*e)[0] for e in elements):
        with pytest.raises(UndefinedBehaviour, match=r"coopmatrix\.store"):
            simulate(module, "f", [x, y])
        return
    simulate(module, "f", [x, y])
    for element in elements:
        if not place.outside(*element)[0]:
            expected[place.coordinates(*element)] = y[element]
    assert (x == expected).all()


def test_rank_three() -> None:
    matrix = "!coopmatrix.matrix<2x3xf32, a>"
    module = kernel(
        "%x: memref<4x5x6xf32>, %y: memref<2x3xf32>",
        f"""
        %z = arith.constant 0 : index
        %i = arith.constant 3 : index
        %m = coopmatrix.load %x[%i, %z, %i] row_major : memref<4x5x6xf32> -> {matrix}
        coopmatrix.store %m, %y[%z, %z] row_major : {matrix}, memref<2x3xf32>
        """,
    )
    x = RANDOM.standard_normal((4, 5, 6)).astype(np.float32)
    y = np.zeros((2, 3), np.float32)
    simulate(module, "f", [x, y])
    assert (y == x[3, :2, 3:]).all()


def test_leading_indices_are_never_checked() -> None:
    matrix = "!coopmatrix.matrix<2x3xf32, a>"
    module = kernel(
        "%x: memref<4x5x6xf32>",
        f"""
        %z = arith.constant 0 : index
        %i = arith.constant 4 : index
        %m = coopmatrix.load %x[%i, %z, %z] row_major checked(rows, cols)
             : memref<4x5x6xf32> -> {matrix}
        """,
    )
    with pytest.raises(UndefinedBehaviour, match="dimension 0"):
        simulate(module, "f", [np.zeros((4, 5, 6), np.float32)])


def test_each_subgroup_has_its_own_matrix() -> None:
    matrix = "!coopmatrix.matrix<2x4xi32, acc>"
    module = kernel(
        "%x: memref<24x4xi32>, %y: memref<24x4xi32>",
        f"""
        %z = arith.constant 0 : index
        %two = arith.constant 2 : index
        %four = arith.constant 4 : index
        %g = simt.workgroup_id x : index
        %s = simt.subgroup_id : index
        %gs = arith.muli %g, %four : index
        %n = arith.addi %gs, %s : index
        %row = arith.muli %n, %two : index
        %m = coopmatrix.load %x[%row, %z] row_major : memref<24x4xi32> -> {matrix}
        %d = coopmatrix.add %m, %m : {matrix}
        coopmatrix.store %d, %y[%row, %z] row_major : {matrix}, memref<24x4xi32>
        """,
        subgroups=4,
        grid=(3,),
    )
    x = RANDOM.integers(0, 99, (24, 4), np.int32)
    y = np.zeros_like(x)
    simulate(module, "f", [x, y])
    assert (y == 2 * x).all()


def test_positions_differ_between_lanes() -> None:
    module = kernel(
        "%x: memref<24x4xi32>",
        """
        %lane = simt.lane_id : index
        %m = coopmatrix.load %x[%lane, %lane] row_major
             : memref<24x4xi32> -> !coopmatrix.matrix<2x2xi32, acc>
        """,
    )
    with pytest.raises(UndefinedBehaviour, match="expected a position to be the same"):
        simulate(module, "f", [np.zeros((24, 4), np.int32)])


SCOPES = ("subgroup", "workgroup", "invocation")


@pytest.mark.parametrize("scope", SCOPES)
def test_atomics_happen_once_for_each_matrix(scope: str) -> None:
    """Two work-groups of two subgroups of four lanes add 1 to a matrix in memory."""
    matrix = f"!coopmatrix.matrix<2x4xi32, acc, scope = {scope}>"
    module = kernel(
        "%x: memref<2x4xi32>",
        f"""
        %z = arith.constant 0 : index
        %one = arith.constant 1 : i32
        %m = coopmatrix.fill %one : i32 -> {matrix}
        %o = coopmatrix.atomic_add %m, %x[%z, %z] row_major relaxed
             : {matrix}, memref<2x4xi32> -> {matrix}
        """,
        lanes=4,
        subgroups=2,
        grid=(2,),
    )
    x = np.zeros((2, 4), np.int32)
    simulate(module, "f", [x])
    assert (x == {"subgroup": 4, "workgroup": 2, "invocation": 16}[scope]).all()


def unsigned(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The same on integers that count as unsigned."""
    return lambda x, y: compute(x.view(np.uint16), y.view(np.uint16)).view(np.int16)


@pytest.mark.parametrize(
    ("op", "compute"),
    [
        ("atomic_add", np.add),
        ("atomic_max signed", np.maximum),
        ("atomic_min signed", np.minimum),
        ("atomic_max", unsigned(np.maximum)),
        ("atomic_min", unsigned(np.minimum)),
    ],
)
def test_atomic_updates(op: str, compute: Callable[[Any, Any], Any]) -> None:
    matrix = "!coopmatrix.matrix<3x4xi16, acc>"
    module = kernel(
        "%x: memref<3x3xi16>, %y: memref<3x4xi16>, %old: memref<3x4xi16>",
        f"""
        %z = arith.constant 0 : index
        %m = coopmatrix.load %y[%z, %z] row_major : memref<3x4xi16> -> {matrix}
        %name = coopmatrix.{op} %m, %x[%z, %z] row_major checked(cols) relaxed
                : {matrix}, memref<3x3xi16> -> {matrix}
        coopmatrix.store %name, %old[%z, %z] row_major : {matrix}, memref<3x4xi16>
        """,
    )
    module.verify()
    x = RANDOM.integers(-(2**15), 2**15, (3, 3), np.int16)
    y = RANDOM.integers(-(2**15), 2**15, (3, 4), np.int16)
    before, old = x.copy(), np.full((3, 4), 9, np.int16)
    simulate(module, "f", [x, y, old])
    assert (x == compute(before, np.ascontiguousarray(y[:, :3]))).all()
    assert (old[:, :3] == before).all()
    assert (old[:, 3] == 0).all()


def test_atomic_load_and_store() -> None:
    matrix = "!coopmatrix.matrix<2x2xf32, acc>"
    module = kernel(
        "%x: memref<2x2xf32>, %y: memref<2x2xf32>",
        f"""
        %z = arith.constant 0 : index
        %m = coopmatrix.atomic_load %x[%z, %z] col_major acquire
             : memref<2x2xf32> -> {matrix}
        coopmatrix.atomic_store %m, %y[%z, %z] row_major release
             : {matrix}, memref<2x2xf32>
        """,
    )
    x, y = np.array([[1, 2], [3, 4]], np.float32), np.zeros((2, 2), np.float32)
    simulate(module, "f", [x, y])
    assert (y == x.T).all()


def test_prefetch_changes_nothing() -> None:
    module = kernel(
        "%x: memref<2x2xf32>",
        """
        %z = arith.constant 7 : index
        coopmatrix.prefetch %x[%z, %z] row_major level = 1
          : memref<2x2xf32>, !coopmatrix.matrix<2x2xf32, a>
        """,
    )
    simulate(module, "f", [np.zeros((2, 2), np.float32)])


FILLS: list[tuple[str, Any, str, Any, Any]] = [
    ("f32", 1.0009765625, "f16", np.float16, 1.0009765625),
    ("f32", 65520.0, "f16", np.float16, np.inf),
    ("f64", 1.00390625, "bf16", np.uint16, to_bf16(np.array([1.0]))[0]),
    ("f32", -2.9, "i8", np.int8, -2),
    ("i32", 300, "i8", np.int8, 44),
    ("i8", -1, "i32", np.int32, -1),
    ("i8", -1, "f32", np.float32, -1.0),
    ("index", 16777217, "f32", np.float32, 16777216.0),
]


@pytest.mark.parametrize(("type", "value", "element", "dtype", "expected"), FILLS)
@pytest.mark.parametrize("pointer", [False, True])
def test_fill(
    type: str, value: Any, element: str, dtype: Any, expected: Any, pointer: bool
) -> None:
    matrix = f"!coopmatrix.matrix<3x2x{element}, none>"
    argument = f"memref<{type}>" if pointer else type
    grid = f"affine_map<({'n' if argument == 'index' else ''}) -> (1)>"
    module = module_of(
        f"""
        func.func @f(%v: {argument}, %y: memref<3x2x{element}>) attributes {{
            simt.kernel, simt.grid = {grid}}} {{
          %z = arith.constant 0 : index
          %m = coopmatrix.fill %v : {argument} -> {matrix}
          coopmatrix.store %m, %y[%z, %z] row_major : {matrix}, memref<3x2x{element}>
          func.return
        }}
        """
    )
    given = value
    if pointer:
        dtypes = {"f32": "f4", "f64": "f8", "i32": "i4", "i8": "i1", "index": "i8"}
        given = np.array(value, dtypes[type])
    y = np.zeros((3, 2), dtype)
    simulate(module, "f", [given, y])
    assert (y == expected).all()


def test_fill_with_values_that_differ() -> None:
    module = kernel(
        "",
        """
        %lane = simt.lane_id : index
        %m = coopmatrix.fill %lane : index -> !coopmatrix.matrix<2x2xi32, acc>
        """,
    )
    with pytest.raises(UndefinedBehaviour, match="value of a fill to be the same"):
        simulate(module, "f", [])


def test_specialisation_constants() -> None:
    matrix = "!coopmatrix.matrix<@M x @N x i32, acc, scope = @S>"
    module = module_of(
        f"""
        coopmatrix.spec_constant @M = 2 : i32
        coopmatrix.spec_constant @N = 3 : i32
        coopmatrix.spec_constant @S = 3 : i32
        func.func @f(%y: memref<4x4xi32>) attributes {{simt.kernel,
            simt.grid = affine_map<() -> (1)>}} {{
          %z = arith.constant 0 : index
          %one = arith.constant 1 : i32
          %m = coopmatrix.fill %one : i32 -> {matrix}
          %o = coopmatrix.atomic_add %m, %y[%z, %z] row_major relaxed
               : {matrix}, memref<4x4xi32> -> {matrix}
          func.return
        }}
        """
    )
    y = np.zeros((4, 4), np.int32)
    simulate(module, "f", [y])
    assert y.tolist() == [[1, 1, 1, 0]] * 2 + [[0] * 4] * 2
    simulate(module, "f", [y], constants={"M": 4, "S": 4})
    assert (y[3] == [16, 16, 16, 0]).all()
    with pytest.raises(ValueError, match="which has M, N, S, got K"):
        simulate(module, "f", [y], constants={"K": 4})


def test_no_scale() -> None:
    """A type without 0 has its least number beyond memory and matrices."""
    matrix = "!coopmatrix.matrix<4x4xf8E8M0FNU, acc>"
    module = kernel(
        "%m: memref<2x4xf8E8M0FNU>, %n: memref<4x4xf8E8M0FNU>, "
        "%o: memref<4x4xf8E8M0FNU>",
        f"""
  %0 = arith.constant 0 : index
  %14 = arith.constant 14 : index
  %x = coopmatrix.load %m[%0, %0] row_major checked(rows)
      : memref<2x4xf8E8M0FNU> -> {matrix}
  %y = coopmatrix.abs %x : {matrix}
  coopmatrix.store %y, %n[%0, %0] row_major : {matrix}, memref<4x4xf8E8M0FNU>
  %s = coopmatrix.extract_row_slice %y[%14] : {matrix} -> vector<4xf8E8M0FNU>
  %z = coopmatrix.insert_row_slice %s, %y[%0] : vector<4xf8E8M0FNU>, {matrix}
  coopmatrix.store %z, %o[%0, %0] row_major : {matrix}, memref<4x4xf8E8M0FNU>
""",
    )
    given = np.full((2, 4), 127, np.uint8)
    loaded, sliced = np.ones((2, 4, 4), np.uint8)
    simulate(module, "f", [given, loaded, sliced])
    assert (loaded == np.repeat([[127], [0]], 2, axis=0)).all()
    assert (sliced[0] == 0).all()
