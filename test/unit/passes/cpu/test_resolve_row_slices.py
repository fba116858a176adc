"""The passes down to row slices: programs compute what they did, after each of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from coopc.compiler import new_context
from coopc.layout.distribution import RowSlices
from coopc.parsing import parse
from coopc.passes.cpu.resolve_matrix_fill import ResolveMatrixFillPass
from coopc.passes.cpu.resolve_matrix_wi_slice import ResolveMatrixWiSlicePass
from coopc.passes.cpu.resolve_subgroup_wi_call import ResolveSubgroupWiCallPass
from coopc.passes.cpu.vectorize_subgroup.vectorize_subgroup import VectorizeSubgroupPass
from coopc.sim.matrices import row_slices
from coopc.sim.numerics import to_bf16
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

Array = np.ndarray[Any, Any]

INPUT = Path(__file__).parents[3] / "inputs" / "fill_scale_store.mlir"
PASSES: tuple[ModulePass, ...] = (
    ResolveMatrixFillPass(),
    ResolveMatrixWiSlicePass(),
    VectorizeSubgroupPass(),
    ResolveSubgroupWiCallPass(),
)


def read(text: str) -> ModuleOp:
    return parse(new_context(everything()), Source(text, "test"))


def kernel(arguments: str, body: str, lanes: int = 16, subgroups: int = 1) -> ModuleOp:
    return read(
        f"""func.func @f({arguments}) attributes {{
            simt.kernel, simt.subgroup_size = {lanes} : i32,
            simt.work_group_size = array<i32: {lanes * subgroups}>,
            simt.grid = affine_map<({"d0" if "index," in arguments else ""}) -> (1)>,
            coopmatrix.distribution = #layout.row_slice}} {{
          {body}
          func.return
        }}"""
    )


def outputs(module: ModuleOp, arguments: Sequence[Any], **how: Any) -> list[Array]:
    """Run the only function; return its arrays."""
    (func,) = (x for x in module.ops if isinstance(x, FuncOp))
    copies: list[Any] = [
        x.copy() if isinstance(x, np.ndarray) else x for x in arguments
    ]
    simulate(module, func.sym_name.data, copies, **how)
    found: list[Array] = [x for x in copies if isinstance(x, np.ndarray)]
    return found


def stages(module: ModuleOp) -> list[ModuleOp]:
    """Return a module before and after each pass."""
    found = [module]
    for each in PASSES:
        module = module.clone()
        each.apply(Context(), module)
        module.verify()
        found.append(module)
    assert not [x for x in module.walk() if x.dialect_name() == "row_slice"]
    return found


def same(module: ModuleOp, arguments: Sequence[Any], *expected: Array) -> None:
    """Check the last arrays, before and after each pass."""
    for stage in stages(module):
        found = outputs(stage, arguments)[-len(expected) :]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


# --- the whole way ---


def test_fill_scale_store() -> None:
    module = read(INPUT.read_text())
    memory = np.zeros((7, 9), np.int32)
    value, alpha = 123_456_789, -77
    expected = np.full((7, 9), value) * alpha
    expected = expected.astype(np.int32)  # the low bits
    for number, stage in enumerate(stages(module)):
        how = {"distribution": row_slices} if number < 2 else {}
        (found,) = outputs(stage, [memory, value, alpha], **how)
        np.testing.assert_array_equal(found, expected)


SIZES = [
    (4, 5, 4, 1),
    (12, 12, 16, 1),
    (7, 9, 16, 1),
    (5, 5, 16, 1),
    (4, 5, 8, 1),
    (1, 1, 16, 1),
]
GROUPS = [(12, 12, 16, 2), (12, 12, 16, 3), (7, 9, 16, 2), (7, 9, 8, 3), (5, 5, 4, 3)]


@pytest.mark.parametrize(("rows", "cols", "lanes", "subgroups"), SIZES + GROUPS)
def test_elements_and_coordinates(
    rows: int, cols: int, lanes: int, subgroups: int
) -> None:
    scope = ", scope = workgroup" if subgroups > 1 else ""
    matrix = f"!coopmatrix.matrix<{rows}x{cols}xi32, acc{scope}>"
    memory = f"memref<{rows}x{cols}xi32>"
    module = kernel(
        f"%a: {memory}, %b: {memory}",
        f"""
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %k = arith.constant 1000 : i32
        %m = coopmatrix.load %a[%c0, %c0] row_major : {memory} -> {matrix}
        %n = coopmatrix.length {matrix} : index
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%it = %m) -> ({matrix}) {{
          %e = coopmatrix.extract %it[%i] : {matrix}
          %row, %col = coopmatrix.coord %it[%i] : {matrix}
          %x = arith.index_cast %row : index to i32
          %y = arith.index_cast %col : index to i32
          %xk = arith.muli %x, %k : i32
          %xy = arith.addi %xk, %y : i32
          %s = arith.addi %e, %xy : i32
          %next = coopmatrix.insert %s, %it[%i] : {matrix}
          scf.yield %next : {matrix}
        }}
        coopmatrix.store %r, %b[%c0, %c0] row_major : {matrix}, {memory}
        """,
        lanes,
        subgroups,
    )
    a = np.arange(rows * cols, dtype=np.int32).reshape(rows, cols) * 1_000_000
    row, col = np.indices((rows, cols), dtype=np.int32)
    same(module, [a, np.zeros_like(a)], a + row * 1000 + col)


@pytest.mark.parametrize(("rows", "cols", "lanes", "subgroups"), SIZES)
def test_slots_are_those_of_the_layout(
    rows: int, cols: int, lanes: int, subgroups: int
) -> None:
    """Each slot's element and coordinates, padding too, written out by its lane."""
    layout = RowSlices(rows, cols, lanes)
    matrix = f"!coopmatrix.matrix<{rows}x{cols}xf32, none>"
    table = f"memref<{layout.components}x{lanes}x"
    module = kernel(
        f"%a: memref<{rows}x{cols}xf32>, %e: {table}f32>, %x: {table}index>, "
        f"%y: {table}index>",
        f"""
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %lane = simt.lane_id : index
        %m = coopmatrix.load %a[%c0, %c0] row_major :
          memref<{rows}x{cols}xf32> -> {matrix}
        %n = coopmatrix.length {matrix} : index
        scf.for %i = %c0 to %n step %c1 {{
          %v = coopmatrix.extract %m[%i] : {matrix}
          %row, %col = coopmatrix.coord %m[%i] : {matrix}
          memref.store %v, %e[%i, %lane] : {table}f32>
          memref.store %row, %x[%i, %lane] : {table}index>
          memref.store %col, %y[%i, %lane] : {table}index>
        }}
        """,
        lanes,
    )
    a = np.arange(1, rows * cols + 1, dtype=np.float32).reshape(rows, cols)
    row, col = layout.table()
    padded = np.zeros((rows + 1, cols + 1), np.float32)
    padded[:rows, :cols] = a
    empty = np.full((layout.components, lanes), -1, np.float32)
    places = empty.astype(np.int64)
    same(module, [a, empty, places, places], padded[row, col], row, col)


def test_the_mapping_of_the_document() -> None:
    layout = RowSlices(4, 5, 4)
    assert [layout.element(0, v) for v in range(5)] == [
        (0, 0),
        (0, 4),
        (1, 3),
        (2, 2),
        (3, 1),
    ]
    row, col = layout.table()
    slices = [
        list(zip(*x, strict=True)) for x in zip(row.tolist(), col.tolist(), strict=True)
    ]
    assert slices == [
        [(0, 0), (0, 1), (0, 2), (0, 3)],
        [(0, 4), (1, 0), (1, 1), (1, 2)],
        [(1, 3), (1, 4), (2, 0), (2, 1)],
        [(2, 2), (2, 3), (2, 4), (3, 0)],
        [(3, 1), (3, 2), (3, 3), (3, 4)],
    ]


# --- fills ---

NAN, INF = float("nan"), float("inf")
FILLS = [
    ("i32", "i32", np.int32(-5), np.int32(-5)),
    ("i64", "i8", np.int64(300), np.int8(44)),
    ("i8", "i32", np.int8(-3), np.int32(-3)),
    ("i32", "f16", np.int32(70_000), np.float16(INF)),
    ("i32", "f16", np.int32(2049), np.float16(2048)),
    ("index", "i32", 7, np.int32(7)),
    ("index", "f32", -2, np.float32(-2)),
    ("f32", "f16", np.float32(65_520), np.float16(INF)),
    ("f32", "f16", np.float32(65_519), np.float16(65_504)),
    ("f32", "f32", np.float32(-0.0), np.float32(-0.0)),
    ("f32", "f32", np.float32(NAN), np.float32(NAN)),
    ("f64", "f32", np.float64(0.1), np.float32(0.1)),
    ("f16", "f64", np.float16(-0.0), np.float64(-0.0)),
    ("f32", "i32", np.float32(-2.9), np.int32(-2)),
]


def fill_kernel(value: str, source: str, element: str) -> ModuleOp:
    matrix = f"!coopmatrix.matrix<3x7x{element}, acc>"
    return kernel(
        f"%value: {value}, %out: memref<3x7x{element}>",
        f"""
        %c0 = arith.constant 0 : index
        {source}
        %m = coopmatrix.fill %v : {value if source == "" else "T"} -> {matrix}
        coopmatrix.store %m, %out[%c0, %c0] row_major : {matrix}, memref<3x7x{element}>
        """.replace("%v :", "%value :").replace("T ->", f"{value} ->"),
    )


@pytest.mark.parametrize(("source", "target", "value", "expected"), FILLS)
@pytest.mark.parametrize("pointer", [False, True])
def test_a_fill_converts(
    source: str, target: str, value: Any, expected: Any, pointer: bool
) -> None:
    module = fill_kernel(f"memref<{source}>" if pointer else source, "", target)
    out = np.full((3, 7), 1, expected.dtype)
    given = np.array(value) if pointer else np.asarray(value).item()
    filled = np.full((3, 7), expected)
    for stage in stages(module):
        found = outputs(stage, [given, out])[-1]
        np.testing.assert_array_equal(found, filled)
        assert (np.signbit(found) == np.signbit(filled)).all()


def test_a_fill_with_bf16() -> None:
    module = fill_kernel("f32", "", "bf16")
    out = np.zeros((3, 7), np.uint16)
    expected = to_bf16(np.full((3, 7), 1.0078125, np.float32))
    same(module, [1.0078125, out], expected)


@pytest.mark.parametrize(
    ("constant", "native"),
    [
        ("0.0 : f32", True),
        ("-0.0 : f32", False),
        ("0 : i32", True),
        ("1 : i32", False),
        ("0x7fc00000 : f32", False),
    ],
)
def test_only_plus_zero_is_native(constant: str, native: bool) -> None:
    type = constant[-3:]
    matrix = f"!coopmatrix.matrix<3x7x{type}, acc>"
    module = kernel(
        f"%out: memref<3x7x{type}>",
        f"""
        %c0 = arith.constant 0 : index
        %v = arith.constant {constant}
        %m = coopmatrix.fill %v : {type} -> {matrix}
        coopmatrix.store %m, %out[%c0, %c0] row_major : {matrix}, memref<3x7x{type}>
        """,
    )
    _, filled, *_ = stages(module)
    loops = [x for x in filled.walk() if x.name == "scf.for"]
    assert (not loops) == native


def test_a_device_that_fills_with_anything() -> None:
    module = fill_kernel("memref<f32>", "", "f16")
    ResolveMatrixFillPass(device="lavapipe").apply(Context(), module)
    names = [x.name for x in module.walk()]
    assert "memref.load" in names
    assert "arith.truncf" in names
    assert "scf.for" not in names


def test_an_unknown_device() -> None:
    with pytest.raises(PassFailedException, match=r"unknown device 'x' .have .*, amx"):
        ResolveMatrixFillPass(device="x").apply(Context(), read("builtin.module {}"))
