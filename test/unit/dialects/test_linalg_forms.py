"""Named operations of linalg: what cannot be read, and what their tables say."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.linalg.attrs import IteratorType

from coopc.compiler import new_context
from coopc.diagnostic import CompileError
from coopc.dialects.linalg_forms import (
    LOOPS_OF,
    QUANTIZED,
    SCALARS,
    kinds_of_loops,
    maps_of,
)
from coopc.parsing import parse
from coopc.run.toolchain import run_filter
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

INVALID = {
    "linalg.pack %a": "linalg.pack is not supported: write tensor.pad",
    "linalg.unpack %a": "linalg.unpack is not supported: write linalg.transpose",
    "linalg.elementwise kind=#linalg.elementwise_kind<cosh> ins(%a : tensor<8xf32>)": (
        "expected abs, add, .*, got cosh"
    ),
    "linalg.map { memref.load } ins(%a : tensor<8xf32>)": (
        "expected an operation on numbers, got memref.load"
    ),
    "linalg.quantized_matmul ins(%a, %a, %a : tensor<8xf32>, tensor<8xf32>, "
    "tensor<8xf32>) outs(%a : tensor<8xf32>)": "expected 4 inputs and one output",
    "linalg.exp ins(%a : tensor<8xf32>)": r"expected outs\(\.\.\)",
    "linalg.add indexing_maps = [#id] ins(%a : tensor<8xf32>) outs(%a : tensor<8xf32>)"
    " -> tensor<8xf32>": "expected 2 maps, got",
}


@pytest.mark.parametrize(("operation", "message"), INVALID.items())
def test_cannot_be_read(operation: str, message: str) -> None:
    text = (
        "#id = affine_map<(d0) -> (d0)>\nfunc.func @f(%a: tensor<8xf32>) {\n"
        f"  %r = {operation}\n  func.return\n}}\n"
    )
    with pytest.raises(CompileError, match=message):
        parse(new_context(everything()), Source(text))


@pytest.mark.parametrize("name", LOOPS_OF)
def test_loops_of_products(name: str) -> None:
    """Each loop is a dimension by itself; those of the output come first."""
    maps = maps_of(LOOPS_OF[name])
    kinds = [kind.data for kind in kinds_of_loops(maps)]
    outer = kinds.count(IteratorType.PARALLEL)
    assert kinds == sorted(kinds)
    assert [str(x) for x in maps[2].results] == [f"d{n}" for n in range(outer)]
    alone = {str(x) for map in maps for x in map.results}
    assert {f"d{n}" for n in range(len(kinds))} <= alone


def test_scalars_have_an_operation() -> None:
    assert all(floats or integers for _, floats, integers in SCALARS.values())


LENGTHS = dict(
    zip("bcdfghijklmnpw", (2, 3, 4, 5, 2, 6, 2, 3, 3, 2, 4, 2, 2, 5), strict=True)
)
"""How long loops are, by their names."""


def lengths(dimensions: str) -> Sequence[int]:
    parts = (x.split("+") for x in dimensions.split())
    return [sum(LENGTHS[y] for y in x) - len(x) + 1 for x in parts]


OF_MLIR = [x for x in LOOPS_OF if not x.endswith(("_transpose_a", "_transpose_b"))]
"""Without those that MLIR 22 has no longer."""


@pytest.mark.parametrize("name", OF_MLIR)
def test_bodies_are_those_of_mlir(name: str, tool: Callable[[str], Path]) -> None:
    """A named operation computes what its generic form of mlir-opt does."""
    tool("mlir-opt")
    inputs, of_c = LOOPS_OF[name].split("->")
    of_a, of_b = inputs.split(",")
    if (is_narrow := name in QUANTIZED) or name.endswith("_unsigned"):
        kinds, zero_points = ("i8", "i8", "i32" if is_narrow else "i8"), is_narrow
    else:
        kinds, zero_points = ("i32", "i32", "i32"), False
    shapes = [lengths(x) for x in (of_a, of_b, of_c)]
    types = [
        f"memref<{''.join(f'{n}x' for n in shape)}{kind}>"
        for shape, kind in zip(shapes, kinds, strict=True)
    ]
    numbers, more = (", %y, %z", ", i32, i32") if zero_points else ("", "")
    text = f"""func.func @f(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}) {{
      %y = arith.constant 3 : i32
      %z = arith.constant -7 : i32
      linalg.{name} ins(%a, %b{numbers} : {types[0]}, {types[1]}{more})
          outs(%c : {types[2]})
      return
    }}"""
    flag = "--linalg-generalize-named-ops"
    generic, message = run_filter("mlir-opt", flag, data=text.encode())
    assert generic is not None, message
    rng = np.random.default_rng(0)
    arrays = [
        rng.integers(-100, 100, shape).astype(f"int{kind[1:]}")
        for shape, kind in zip(shapes, kinds, strict=True)
    ]
    found = [[x.copy() for x in arrays] for _ in range(2)]
    for given, arguments in zip((text, generic.decode()), found, strict=True):
        module = parse(new_context(everything()), Source(given))
        simulate(module, "f", arguments)
    np.testing.assert_array_equal(found[0][2], found[1][2])
    assert (found[0][2] != arrays[2]).any()
