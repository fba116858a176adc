"""`linalg` on memrefs, against numpy."""

from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.linalg import Linalg
from xdsl.parser import Parser

from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.simulate import simulate

RANDOM = np.random.default_rng(0)


def module_of(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, arith.Arith, func.Func, Linalg):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


TYPES: list[tuple[str, Any, str, Any]] = [
    ("f16", np.float16, "f32", np.float32),
    ("f32", np.float32, "f32", np.float32),
    ("i8", np.int8, "i32", np.int32),
]


@pytest.mark.parametrize(("narrow", "narrow_dtype", "wide", "wide_dtype"), TYPES)
def test_matmul(narrow: str, narrow_dtype: Any, wide: str, wide_dtype: Any) -> None:
    types = f"memref<3x5x{narrow}>", f"memref<5x?x{narrow}>", f"memref<3x?x{wide}>"
    module = module_of(
        f"""
        func.func @f(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}) {{
          linalg.matmul ins(%a, %b : {types[0]}, {types[1]}) outs(%c : {types[2]})
          func.return
        }}
        """
    )
    a = RANDOM.integers(-9, 9, (3, 5)).astype(narrow_dtype)
    b = RANDOM.integers(-9, 9, (5, 4)).astype(narrow_dtype)
    c = RANDOM.integers(-9, 9, (3, 4)).astype(wide_dtype)
    expected = c + a.astype(wide_dtype) @ b.astype(wide_dtype)
    simulate(module, "f", [a, b, c])
    assert (c == expected).all()


def test_fill_converts() -> None:
    module = module_of(
        """
        func.func @f(%v: f32, %c: memref<2x3xf16>) {
          linalg.fill ins(%v : f32) outs(%c : memref<2x3xf16>)
          func.return
        }
        """
    )
    c = np.zeros((2, 3), np.float16)
    simulate(module, "f", [1.0009765625, c])
    assert (c == np.float16(1.0009765625)).all()


GENERIC = """
#x = affine_map<(i, j, k) -> (k, i)>
#y = affine_map<(i, j, k) -> (i, j)>
func.func @f(%x: memref<4x3xi32>, %y: memref<3x2xi32>) {
  linalg.generic {indexing_maps = [#x, #y],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : memref<4x3xi32>) outs(%y : memref<3x2xi32>) {
  ^body(%a: i32, %b: i32):
    %j = linalg.index 1 : index
    %n = arith.index_cast %j : index to i32
    %c = arith.muli %a, %n : i32
    %d = arith.addi %b, %c : i32
    linalg.yield %d : i32
  }
  func.return
}
"""


def test_generic() -> None:
    x = RANDOM.integers(-9, 9, (4, 3), np.int32)
    y = RANDOM.integers(-9, 9, (3, 2), np.int32)
    expected = y + x.sum(0)[:, None] * np.arange(2, dtype=np.int32)
    simulate(module_of(GENERIC), "f", [x, y])
    assert (y == expected).all()


def test_what_is_undefined_in_a_body() -> None:
    module = module_of(GENERIC.replace("arith.muli %a, %n", "arith.divsi %a, %n"))
    x, y = np.ones((4, 3), np.int32), np.zeros((3, 2), np.int32)
    with pytest.raises(UndefinedBehaviour, match=r"^arith\.divsi: .*division by zero"):
        simulate(module, "f", [x, y])


def test_memrefs_that_disagree() -> None:
    text = GENERIC.replace("memref<3x2xi32>", "memref<?x2xi32>")
    x, y = np.zeros((4, 3), np.int32), np.zeros((5, 2), np.int32)
    with pytest.raises(UndefinedBehaviour, match=r"linalg\.generic"):
        simulate(module_of(text), "f", [x, y])


def test_not_in_kernels() -> None:
    text = GENERIC.replace(
        "%y: memref<3x2xi32>) {",
        "%y: memref<3x2xi32>) attributes {simt.kernel, "
        "simt.subgroup_size = 4 : i32, simt.grid = affine_map<() -> (1)>} {",
    )
    x, y = np.zeros((4, 3), np.int32), np.zeros((3, 2), np.int32)
    with pytest.raises(SimulationError, match="no simulation of linalg in kernels"):
        simulate(module_of(text), "f", [x, y])
