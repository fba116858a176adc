"""Views of memory: parts, other shapes, other elements."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.programs import kernel, module_of

from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.simulate import simulate

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
