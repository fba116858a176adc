"""convert-coopmatrix-to-amx: elements, row slices and fills, in loops and branches."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.amx_programs import converted, integers, runs_alike
from support.programs import module_of

from coopc.sim.simulate import simulate

ELEMENTS = {
    "neg f32": "coopmatrix.neg %x : T",
    "abs i32": "coopmatrix.abs %x : T",
    "not i8": "coopmatrix.not %x : T",
    "add i8": "coopmatrix.add %x, %y : T",
    "mul bf16": "coopmatrix.mul %x, %y : T",
    "max i32": "coopmatrix.max signed %x, %y : T",
    "shr i8": "coopmatrix.shr %x, %seven : T",
    "div i32": "coopmatrix.div signed %x, %seven : T",
    "scale f16": "coopmatrix.scale %x, %s : T, E",
}


@pytest.mark.parametrize("use", ["acc", "a", "b"])
@pytest.mark.parametrize("case", ELEMENTS)
def test_arithmetic_of_elements(case: str, use: str):
    element = case.split()[1]
    literal = "7" if element.startswith("i") else "7.0"
    operation = ELEMENTS[case].replace("E", element).replace("T", "!t")
    text = f"""
    !t = !coopmatrix.matrix<17x5x{element}, {use}>
    func.func @f(%m: memref<17x5x{element}>, %n: memref<17x5x{element}>) {{
      %c0 = arith.constant 0 : index
      %s = arith.constant {literal} : {element}
      %seven = coopmatrix.fill %s : {element} -> !t
      %x = coopmatrix.load %m[%c0, %c0] row_major : memref<17x5x{element}> -> !t
      %y = coopmatrix.load %n[%c0, %c0] row_major : memref<17x5x{element}> -> !t
      %z = {operation}
      coopmatrix.store %z, %n[%c0, %c0] row_major : !t, memref<17x5x{element}>
      func.return
    }}"""
    arrays = [integers(seed, (17, 5), element) for seed in (3, 4)]
    runs_alike(text, arrays, 1)


def test_conversion_and_places():
    """An odd number of columns of a, rows of b: padding is not multiplied."""
    text = """
    !a = !coopmatrix.matrix<5x7xbf16, a>
    !b = !coopmatrix.matrix<7x3xbf16, b>
    !c = !coopmatrix.matrix<5x3xf32, acc>
    func.func @f(%c: memref<5x3xf32>) {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1.0 : bf16
      %zero = arith.constant 0.0 : f32
      %x = coopmatrix.fill %one : bf16 -> !a
      %y = coopmatrix.fill %one : bf16 -> !b
      %s = coopmatrix.add %y, %y : !b
      %z = coopmatrix.fill %zero : f32 -> !c
      %t = coopmatrix.mul_add %x, %s, %z : !a, !b, !c
      %i = coopmatrix.convert signed %t : !c -> !coopmatrix.matrix<5x3xi32, acc>
      %g = coopmatrix.convert signed %i : !coopmatrix.matrix<5x3xi32, acc> -> !c
      %h = coopmatrix.apply (%p, %q, %v) in %g : !c {
        %k = arith.addi %p, %q : index
        %l = arith.index_cast %k : index to i32
        %m = arith.sitofp %l : i32 to f32
        %w = arith.addf %v, %m : f32
        coopmatrix.yield %w : f32
      }
      coopmatrix.store %h, %c[%c0, %c0] row_major : !c, memref<5x3xf32>
      func.return
    }"""
    (found,) = runs_alike(text, [np.zeros((5, 3), np.float32)], 1)
    np.testing.assert_array_equal(found, 14 + np.add.outer(np.arange(5), np.arange(3)))


@given(
    st.tuples(st.integers(1, 20), st.integers(1, 20)),
    st.sampled_from(["i32", "f32", "i8", "bf16"]),
    st.sampled_from(["none", "acc", "b"]),
    st.sampled_from([4, 8, 16]),
)
@settings(max_examples=15, deadline=None)
def test_row_slices_in_a_loop(
    shape: tuple[int, int], element: str, use: str, lanes: int
):
    """Each slice is doubled in memory: one store before the loop, one load after it."""
    rows, cols = shape
    memory = f"memref<{rows}x{cols}x{element}>"
    add = "arith.addi" if element.startswith("i") else "arith.addf"
    text = f"""
    !t = !coopmatrix.matrix<{rows}x{cols}x{element}, {use}>
    func.func @f(%m: {memory}) {{
      %c0 = arith.constant 0 : index
      %step = arith.constant {lanes} : index
      %end = arith.constant {rows * cols} : index
      %x = coopmatrix.load %m[%c0, %c0] row_major : {memory} -> !t
      %r = scf.for %k = %c0 to %end step %step iter_args(%t = %x) -> (!t) {{
        %s = coopmatrix.extract_row_slice %t[%k] : !t -> vector<{lanes}x{element}>
        %d = {add} %s, %s : vector<{lanes}x{element}>
        %u = coopmatrix.insert_row_slice %d, %t[%k] : vector<{lanes}x{element}>, !t
        scf.yield %u : !t
      }}
      coopmatrix.store %r, %m[%c0, %c0] row_major : !t, {memory}
      func.return
    }}"""
    runs_alike(text, [integers(5, shape, element)], 1)
    (loop,) = [
        op
        for op in converted(text).walk()
        if op.name == "scf.for"
        and any(x.name == "vector.maskedload" for x in op.walk())
    ]
    assert not [op for op in loop.walk() if op.dialect_name() == "amx"]


def test_old_matrices_are_kept():
    """A loop that needs a matrix as it was before an insertion, masks, and no loop."""
    text = """
    !t = !coopmatrix.matrix<5x5xi32, none>
    func.func @f(%m: memref<5x5xi32>, %o: memref<5x5xi32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %mask = arith.constant dense<[true, false, true, true]> : vector<4xi1>
      %x = coopmatrix.load %m[%c0, %c0] row_major : memref<5x5xi32> -> !t
      %r = scf.for %k = %c0 to %c3 step %c1 iter_args(%t = %x) -> (!t) {
        %s = coopmatrix.extract_row_slice %t[%k] : !t -> vector<4xi32>
        %u = coopmatrix.insert_row_slice %s, %t[%c4] : vector<4xi32>, !t
        %v = coopmatrix.extract_row_slice %t[%c4] : !t -> vector<4xi32>
        %w = coopmatrix.insert_row_slice %v, %u[%k] mask %mask : vector<4xi1> :
             vector<4xi32>, !t
        scf.yield %w : !t
      }
      %a = coopmatrix.extract_row_slice %x[%c0] : !t -> vector<4xi32>
      %b = coopmatrix.insert_row_slice %a, %r[%c1] : vector<4xi32>, !t
      coopmatrix.store %r, %m[%c0, %c0] row_major : !t, memref<5x5xi32>
      coopmatrix.store %b, %o[%c0, %c0] row_major : !t, memref<5x5xi32>
      func.return
    }"""
    arrays = [integers(7, (5, 5), "i32"), integers(8, (5, 5), "i32")]
    runs_alike(text, arrays, 2)


FILLS = {
    "0.0 : f32": True,
    "-0.0 : f32": False,
    "1.5 : f32": False,
    "0 : i32": True,
    "-7 : i32": False,
}


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("value", FILLS)
def test_only_plus_zero_is_native(value: str, lanes: int):
    """The other values go through memory, which each lane has for itself."""
    element = value.split()[-1]
    text = f"""
    !t = !coopmatrix.matrix<17x5x{element}, acc>
    func.func @f(%m: memref<17x5x{element}>) attributes {{
      simt.kernel, simt.work_group_size = array<i32: {lanes}, 1, 1>,
      simt.subgroup_size = {lanes} : i32
    }} {{
      %c0 = arith.constant 0 : index
      %v = arith.constant {value}
      %x = coopmatrix.fill %v : {element} -> !t
      coopmatrix.store %x, %m[%c0, %c0] row_major : !t, memref<17x5x{element}>
      func.return
    }}"""
    module = converted(text)
    names = [op.name for op in module.walk()]
    assert ("amx.tile_zero" in names) == FILLS[value]
    assert ("memref.alloca" in names) != FILLS[value]
    found = integers(1, (17, 5), element)
    simulate(module, "f", [found], grid=(1, 1, 1))
    expected = np.full_like(found, float(value.split()[0]))
    np.testing.assert_array_equal(found.view(np.int32), expected.view(np.int32))


def test_a_zero_of_another_type_is_a_zero():
    text = """
    func.func @f(%m: memref<4x4xbf16>, %i: index) {
      %v = arith.constant 0 : i32
      %x = coopmatrix.fill %v : i32 -> !coopmatrix.matrix<4x4xbf16, a>
      coopmatrix.store %x, %m[%i, %i] row_major :
        !coopmatrix.matrix<4x4xbf16, a>, memref<4x4xbf16>
      func.return
    }"""
    assert "amx.tile_zero : !amx.tile<4x4xbf16>" in str(converted(text))


@pytest.mark.parametrize("chosen", [True, False])
def test_slices_in_nested_control_flow(chosen: bool):
    """Of what the loop carries, of what an outer loop does, and of what is outside."""
    text = """
    !t = !coopmatrix.matrix<5x7xi32, none>
    func.func @f(%m: memref<5x7xi32>, %o: memref<5x7xi32>, %p: i1) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %c35 = arith.constant 35 : index
      %x = coopmatrix.load %m[%c0, %c0] row_major : memref<5x7xi32> -> !t
      %y = coopmatrix.load %o[%c0, %c0] row_major : memref<5x7xi32> -> !t
      %r, %q = scf.for %i = %c0 to %c2 step %c1 iter_args(%t = %x, %w = %y)
          -> (!t, !t) {
        %u = scf.for %k = %c0 to %c35 step %c4 iter_args(%v = %t) -> (!t) {
          %s = coopmatrix.extract_row_slice %v[%k] : !t -> vector<4xi32>
          %h = coopmatrix.extract_row_slice %y[%k] : !t -> vector<4xi32>
          %g = coopmatrix.extract_row_slice %w[%k] : !t -> vector<4xi32>
          %d = arith.addi %s, %h : vector<4xi32>
          %e = arith.addi %d, %g : vector<4xi32>
          %z = coopmatrix.insert_row_slice %e, %v[%k] : vector<4xi32>, !t
          scf.yield %z : !t
        }
        %a = scf.if %p -> (!t) {
          %s2 = coopmatrix.extract_row_slice %u[%i] : !t -> vector<4xi32>
          %b = coopmatrix.insert_row_slice %s2, %w[%c4] : vector<4xi32>, !t
          scf.yield %b : !t
        } else {
          scf.yield %u : !t
        }
        scf.yield %a, %u : !t, !t
      }
      %sum = coopmatrix.add %r, %q : !t
      coopmatrix.store %sum, %m[%c0, %c0] row_major : !t, memref<5x7xi32>
      coopmatrix.store %q, %o[%c0, %c0] row_major : !t, memref<5x7xi32>
      func.return
    }
    """
    arrays = [integers(1, (5, 7), "i32"), integers(2, (5, 7), "i32")]
    before: list[Any] = [*(x.copy() for x in arrays), chosen]
    after: list[Any] = [*arrays, chosen]
    simulate(module_of(text), "f", before, subgroup_size=1)
    simulate(converted(text), "f", after, subgroup_size=1)
    for one, other in zip(before[:2], after[:2], strict=True):
        np.testing.assert_array_equal(one, other)
