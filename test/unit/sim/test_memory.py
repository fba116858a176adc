"""Memory: vectors, globals, atomics, and what programs must not do with it."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.programs import kernel, module_of

from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.simulate import simulate

few = settings(max_examples=25, deadline=None)


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
