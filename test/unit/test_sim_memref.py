"""Memory: arguments, views, atomics, and what programs must not do with it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.formats import to_bf16
from coopc.sim.simulate import simulate
from coopc.testing.programs import kernel, module_of

few = settings(max_examples=25, deadline=None)


def view_of(
    operations: str, source: str, result: str, indices: int, arguments: str = ""
) -> Any:
    """A function that reads one element of a view, %v, of %x."""
    names = ", ".join(f"%i{n}" for n in range(indices))
    types = "".join(f", %i{n}: index" for n in range(indices))
    return module_of(
        f"""
        func.func @f(%x: {source}{arguments}{types}) -> i32 {{
          {operations}
          %e = memref.load %v[{names}] : {result}
          func.return %e : i32
        }}
        """
    )


def element(module: Any, *arguments: Any) -> int:
    (result,) = simulate(module, "f", arguments).results
    assert result is not None
    return int(result)


ARRAY = np.arange(1, 61, dtype=np.int32).reshape(5, 12)


@few
@given(st.data())
def test_subview(data: st.DataObject) -> None:
    module = view_of(
        "%v = memref.subview %x[%o, 2] [%s, 3] [2, %t] : memref<5x12xi32> to "
        "memref<?x3xi32, strided<[24, ?], offset: ?>>",
        "memref<5x12xi32>",
        "memref<?x3xi32, strided<[24, ?], offset: ?>>",
        2,
        ", %o: index, %s: index, %t: index",
    )
    offset, size = data.draw(st.integers(0, 2)), data.draw(st.integers(1, 2))
    step = data.draw(st.integers(1, 4))
    expected = ARRAY[offset : offset + 2 * size : 2, 2 : 2 + 3 * step : step]
    row, col = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, 2))
    found = element(module, ARRAY, offset, size, step, row, col)
    assert found == expected[row, col]


def test_subview_that_is_outside() -> None:
    module = view_of(
        "%v = memref.subview %x[0] [%s] [1] "
        ": memref<8xi32> to memref<?xi32, strided<[1]>>",
        "memref<8xi32>",
        "memref<?xi32, strided<[1]>>",
        1,
        ", %s: index",
    )
    x = np.arange(8, dtype=np.int32)
    assert element(module, x, 8, 7) == 7
    with pytest.raises(UndefinedBehaviour, match=r"memref\.subview.*dimension 0"):
        element(module, x, 9, 0)


def test_subview_that_drops_dimensions() -> None:
    module = view_of(
        "%v = memref.subview %x[2, 3, 0] [1, 2, 1] [1, 1, 1] : memref<4x5x1xi32> to "
        "memref<2xi32, strided<[1], offset: 13>>",
        "memref<4x5x1xi32>",
        "memref<2xi32, strided<[1], offset: 13>>",
        1,
    )
    x = np.arange(20, dtype=np.int32).reshape(4, 5, 1)
    assert [element(module, x, i) for i in range(2)] == [13, 14]


def test_reinterpret_cast_forgets_the_source() -> None:
    module = view_of(
        """
        %s = memref.subview %x[2, 0] [2, 4] [1, 1] : memref<5x12xi32> to
             memref<2x4xi32, strided<[12, 1], offset: 24>>
        %v = memref.reinterpret_cast %s to offset: [%o], sizes: [4, 3], strides: [1, %t]
             : memref<2x4xi32, strided<[12, 1], offset: 24>> to
             memref<4x3xi32, strided<[1, ?], offset: ?>>
        """,
        "memref<5x12xi32>",
        "memref<4x3xi32, strided<[1, ?], offset: ?>>",
        2,
        ", %o: index, %t: index",
    )
    assert element(module, ARRAY, 7, 5, 2, 1) == ARRAY.flat[7 + 2 + 5]


def test_reshapes() -> None:
    module = view_of(
        """
        %a = memref.expand_shape %x [[0], [1, 2]] output_shape [5, 3, 4]
             : memref<5x12xi32> into memref<5x3x4xi32>
        %v = memref.collapse_shape %a [[0, 1], [2]] : memref<5x3x4xi32> into
             memref<15x4xi32>
        """,
        "memref<5x12xi32>",
        "memref<15x4xi32>",
        2,
    )
    expected = ARRAY.reshape(15, 4)
    assert element(module, ARRAY, 14, 3) == expected[14, 3]
    assert element(module, ARRAY, 7, 1) == expected[7, 1]


def test_metadata() -> None:
    module = module_of(
        """
        func.func @f(%x: memref<5x12xi32>, %o: index) -> (index, index, index, index) {
          %s = memref.subview %x[%o, 1] [2, 4] [1, 2] : memref<5x12xi32> to
               memref<2x4xi32, strided<[12, 2], offset: ?>>
          %b, %offset, %m, %n, %p, %q = "memref.extract_strided_metadata"(%s)
            : (memref<2x4xi32, strided<[12, 2], offset: ?>>) ->
              (memref<i32>, index, index, index, index, index)
          %r = "memref.rank"(%s)
            : (memref<2x4xi32, strided<[12, 2], offset: ?>>) -> index
          func.return %offset, %n, %q, %r : index, index, index, index
        }
        """
    )
    results = simulate(module, "f", [ARRAY, 3]).results
    assert [int(x) for x in results if x is not None] == [37, 4, 2, 2]


def test_view_of_bytes() -> None:
    module = kernel(
        "%x: memref<4xf32>, %y: memref<4xi32>, %z: memref<2xi16>",
        """
        %c0 = arith.constant 0 : index
        %c16 = arith.constant 16 : index
        %slm = memref.alloca() : memref<64xi8, #simt.memory<workgroup>>
        %a = "memref.view"(%slm, %c16) : (memref<64xi8, #simt.memory<workgroup>>, index)
             -> memref<4xf32, #simt.memory<workgroup>>
        %b = "memref.view"(%slm, %c16) : (memref<64xi8, #simt.memory<workgroup>>, index)
             -> memref<4xi32, #simt.memory<workgroup>>
        %c = "memref.view"(%slm, %c16) : (memref<64xi8, #simt.memory<workgroup>>, index)
             -> memref<2xi16, #simt.memory<workgroup>>
        %v = vector.load %x[%c0] : memref<4xf32>, vector<4xf32>
        vector.store %v, %a[%c0]
          : memref<4xf32, #simt.memory<workgroup>>, vector<4xf32>
        %w = vector.load %b[%c0]
          : memref<4xi32, #simt.memory<workgroup>>, vector<4xi32>
        vector.store %w, %y[%c0] : memref<4xi32>, vector<4xi32>
        %h = vector.load %c[%c0]
          : memref<2xi16, #simt.memory<workgroup>>, vector<2xi16>
        vector.store %h, %z[%c0] : memref<2xi16>, vector<2xi16>
        """,
    )
    x = np.array([1.0, -2.5, 3e10, 0.0], np.float32)
    y, z = np.zeros(4, np.int32), np.zeros(2, np.int16)
    simulate(module, "f", [x, y, z])
    assert (y == x.view(np.int32)).all()
    assert (z == x.view(np.int16)[:2]).all()


def test_elements_that_are_vectors() -> None:
    module = kernel(
        "%x: memref<2x3xvector<4xi32>>, %y: memref<24xi32>",
        """
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %c4 = arith.constant 4 : index
        %slm = memref.alloca() : memref<2x2xvector<4xi32>, #simt.memory<workgroup>>
        %v = memref.load %x[%c1, %c2] : memref<2x3xvector<4xi32>>
        memref.store %v, %slm[%c1, %c0]
          : memref<2x2xvector<4xi32>, #simt.memory<workgroup>>
        %part = memref.subview %slm[1, 0] [1, 2] [1, 1]
          : memref<2x2xvector<4xi32>, #simt.memory<workgroup>>
          to memref<2xvector<4xi32>, strided<[1], offset: 2>, #simt.memory<workgroup>>
        %w = memref.load %part[%c0]
          : memref<2xvector<4xi32>, strided<[1], offset: 2>, #simt.memory<workgroup>>
        vector.store %w, %y[%c4] : memref<24xi32>, vector<4xi32>
        """,
    )
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    y = np.zeros(24, np.int32)
    simulate(module, "f", [x, y])
    assert y.tolist() == [0] * 4 + [20, 21, 22, 23] + [0] * 16


@pytest.mark.parametrize("at", [0, 4, 3])
def test_alignment_of_a_vector_is_checked(at: int) -> None:
    module = kernel(
        "%x: memref<16xf32>",
        f"""
        %at = arith.constant {at} : index
        %v = vector.load %x[%at] {{alignment = 16 : i64}}
          : memref<16xf32>, vector<4xf32>
        """,
    )
    x = np.zeros(16, np.float32)
    if at % 4 == 0:
        simulate(module, "f", [x])
        return
    message = "expected an address in .* that is a multiple of 16 bytes"
    with pytest.raises(UndefinedBehaviour, match=message):
        simulate(module, "f", [x])


def test_globals_are_shared_by_work_groups() -> None:
    module = module_of(
        """
        "memref.global"() <{sym_name = "table", type = memref<4xf16>,
          sym_visibility = "private",
          initial_value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf16>}> : () -> ()
        func.func @f(%y: memref<4xf16>) attributes {simt.kernel,
            simt.subgroup_size = 1 : i32, simt.grid = affine_map<() -> (4)>} {
          %i = simt.workgroup_id x : index
          %t = "memref.get_global"() <{name = @table}> : () -> memref<4xf16>
          %v = memref.load %t[%i] : memref<4xf16>
          memref.store %v, %y[%i] : memref<4xf16>
          func.return
        }
        """
    )
    y = np.zeros(4, np.float16)
    simulate(module, "f", [y], chunk=3)
    assert y.tolist() == [1, 2, 3, 4]


def test_copy() -> None:
    module = module_of(
        """
        func.func @f(%x: memref<?x3xi8>, %y: memref<?x3xi8, strided<[1, ?]>>) {
          "memref.copy"(%x, %y)
            : (memref<?x3xi8>, memref<?x3xi8, strided<[1, ?]>>) -> ()
          func.return
        }
        """
    )
    x = np.arange(12, dtype=np.int8).reshape(4, 3)
    y = np.zeros((3, 4), np.int8).T
    simulate(module, "f", [x, y])
    assert (y == x).all()


KINDS: dict[int, tuple[str, Callable[[int, int], int]]] = {
    1: ("addi", lambda x, y: x + y),
    2: ("assign", lambda x, y: y),
    4: ("maxs", max),
    5: ("maxu", lambda x, y: max(x % 256, y % 256)),
    7: ("mins", min),
    8: ("minu", lambda x, y: min(x % 256, y % 256)),
    10: ("muli", lambda x, y: x * y),
    11: ("ori", lambda x, y: x | y),
    12: ("andi", lambda x, y: x & y),
    15: ("xori", lambda x, y: x ^ y),
}


@pytest.mark.parametrize("kind", KINDS)
@few
@given(st.data())
def test_atomics(kind: int, data: st.DataObject) -> None:
    module = kernel(
        "%x: memref<4xi8>, %p: memref<16xindex>, %v: memref<16xi8>, "
        "%old: memref<16xi8>",
        f"""
        %lane = simt.lane_id : index
        %place = memref.load %p[%lane] : memref<16xindex>
        %value = memref.load %v[%lane] : memref<16xi8>
        %o = "memref.atomic_rmw"(%value, %x, %place) <{{kind = {kind} : i64}}>
            : (i8, memref<4xi8>, index) -> i8
        memref.store %o, %old[%lane] : memref<16xi8>
        """,
    )
    numbers = st.integers(-128, 127)
    x = np.array(data.draw(st.lists(numbers, min_size=4, max_size=4)), np.int8)
    values = np.array(data.draw(st.lists(numbers, min_size=16, max_size=16)), np.int8)
    places = data.draw(st.lists(st.integers(0, 3), min_size=16, max_size=16))
    expected, before = x.tolist(), [0] * 16
    for lane, place in enumerate(places):
        before[lane] = expected[place]
        combined = KINDS[kind][1](expected[place], int(values[lane]))
        expected[place] = (combined + 128) % 256 - 128
    old = np.zeros(16, np.int8)
    simulate(module, "f", [x, np.array(places), values, old])
    assert x.tolist() == expected
    assert old.tolist() == before


def test_atomic_floats_round_each_time() -> None:
    module = kernel(
        "%x: memref<1xf16>",
        """
        %one = arith.constant 1.0 : f16
        %zero = arith.constant 0 : index
        %o = "memref.atomic_rmw"(%one, %x, %zero) <{kind = 0 : i64}>
            : (f16, memref<1xf16>, index) -> f16
        """,
        grid=(3,),
    )
    x = np.array([2040.0], np.float16)
    simulate(module, "f", [x])
    assert x[0] == 2048


@pytest.mark.parametrize("index", [-1, 4])
@pytest.mark.parametrize("op", ["load", "store"])
def test_out_of_bounds(op: str, index: int) -> None:
    access = (
        "%v = memref.load %x[%i] : memref<4xi32>"
        if op == "load"
        else "memref.store %c, %x[%i] : memref<4xi32>"
    )
    module = module_of(
        f"""
        func.func @f(%x: memref<4xi32>, %i: index) {{
          %c = arith.constant 0 : i32
          {access}
          func.return
        }}
        """
    )
    with pytest.raises(UndefinedBehaviour) as caught:
        simulate(module, "f", [np.zeros(4, np.int32), index])
    assert str(caught.value) == (
        f"memref.{op}: undefined behaviour: expected an index in dimension 0 of "
        f"argument 0 of 4 elements to be inside, got {index}"
    )


def test_outside_of_the_buffer() -> None:
    module = view_of(
        "%v = memref.reinterpret_cast %x to offset: [0], sizes: [9], strides: [1] "
        ": memref<8xi32> to memref<9xi32>",
        "memref<8xi32>",
        "memref<9xi32>",
        1,
    )
    with pytest.raises(UndefinedBehaviour, match="whose buffer has 8 elements"):
        element(module, np.zeros(8, np.int32), 8)


def test_read_only_arrays() -> None:
    module = module_of(
        """
        func.func @f(%x: memref<1xi32>) {
          %i = arith.constant 0 : index
          %v = memref.load %x[%i] : memref<1xi32>
          memref.store %v, %x[%i] : memref<1xi32>
          func.return
        }
        """
    )
    x = np.zeros(1, np.int32)
    x.flags.writeable = False
    with pytest.raises(SimulationError, match="argument 0 is read only"):
        simulate(module, "f", [x])


TYPES: list[tuple[str, Any]] = [
    ("i1", np.array([True, False])),
    ("i4", np.array([7, -8], np.int8)),
    ("i8", np.array([200, 3], np.uint8)),
    ("i64", np.array([-1, 2**62])),
    ("index", np.array([5, -6])),
    ("f16", np.array([0.1, np.inf], np.float16)),
    ("bf16", to_bf16(np.array([0.1, -np.inf]))),
    ("f64", np.array([0.1, 5e-324])),
]


@pytest.mark.parametrize(("type", "array"), TYPES)
def test_types_of_arrays(type: str, array: Any) -> None:
    module = module_of(
        f"""
        func.func @f(%x: memref<2x{type}>, %y: memref<2x{type}>) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %v = memref.load %x[%c0] : memref<2x{type}>
          %w = memref.load %x[%c1] : memref<2x{type}>
          memref.store %v, %y[%c1] : memref<2x{type}>
          memref.store %w, %y[%c0] : memref<2x{type}>
          func.return
        }}
        """
    )
    found = np.zeros_like(array)
    simulate(module, "f", [array, found])
    assert (found == array[::-1]).all()


WRONG: list[tuple[str, list[Any], str]] = [
    ("%x: memref<4xf32>", [], "expected 1 arguments, as @f has, got 0"),
    ("%x: memref<4xf32>", [3.0], "expected an array for argument 0"),
    ("%x: memref<4xf32>", [np.zeros(4)], "elements of float32.*got float64"),
    ("%x: memref<4xf32>", [np.zeros(5, np.float32)], r"shaped like.*got \(5,\)"),
    ("%x: memref<4xbf16>", [np.zeros(4, np.float32)], "elements of uint16"),
    ("%x: memref<?x4xf64>", [np.zeros((4, 4)).T], "strides of argument 0.*got"),
    ("%x: memref<?xf64, strided<[2]>>", [np.zeros(4)], "strides of argument 0"),
    ("%x: memref<?xf64, strided<[?]>>", [np.zeros(4)[::-1]], "at least 0"),
    ("%x: index", [np.zeros(4)], "expected a number for argument 0, a index"),
    ("%x: memref<4xf80>", [np.zeros(4)], "no values of type f80"),
]


@pytest.mark.parametrize(("arguments", "given_", "message"), WRONG)
def test_arguments_that_do_not_fit(
    arguments: str, given_: list[Any], message: str
) -> None:
    module = module_of(f"func.func @f({arguments}) {{ func.return }}")
    with pytest.raises((ValueError, SimulationError), match=message):
        simulate(module, "f", given_)


def test_no_such_function() -> None:
    module = module_of("func.func @f() { func.return }")
    with pytest.raises(ValueError, match=r"one of \['f'\], got g"):
        simulate(module, "g", [])
