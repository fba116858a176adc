"""Sizes that are the same: said by kernels, checked before anything runs."""

import re
from dataclasses import replace

import numpy as np
import pytest
from xdsl.dialects import builtin, func
from xdsl.dialects.builtin import MemRefType, f16, f32
from xdsl.dialects.linalg.ops import MatmulOp

import coopc
from coopc.dialects import simt
from coopc.dialects.simt import EqualSizes
from coopc.interface import SECOND_ENTRY, Condition, Interface
from coopc.interface_call import entry_for, pack
from coopc.passes.linalg.rows import equal_sizes, sizes_of
from coopc.run.arguments import make_arguments, read_word

SIZES = {
    "matmul": ((64, 32), (32, 48), (64, 48)),
    "batched": ((2, 64, 32), (2, 32, 48), (2, 64, 48)),
    "transposed": ((64, 32), (48, 32), (64, 48)),
}
"""A, B and C of multiplications of M, N, K = 64, 48, 32, and of a batch of 2."""

MAPS = {
    "matmul": ("m, k", "k, n", "m, n"),
    "batched": ("b, m, k", "b, k, n", "b, m, n"),
    "transposed": ("m, k", "n, k", "m, n"),
}


def text(name: str) -> str:
    """A function that multiplies memrefs of dynamic sizes."""
    loops = "b, m, n, k" if name == "batched" else "m, n, k"
    maps = ", ".join(f"affine_map<({loops}) -> ({x})>" for x in MAPS[name])
    kinds = ["parallel"] * loops.count(",") + ["reduction"]
    dynamic = "x".join("?" * len(SIZES[name][0]))
    a, c = f"memref<{dynamic}xf16>", f"memref<{dynamic}xf32>"
    return f"""
func.func @{name}(%a: {a}, %b: {a}, %c: {c}) {{
  linalg.generic {{indexing_maps = [{maps}],
      iterator_types = [{", ".join(f'"{kind}"' for kind in kinds)}]}}
      ins(%a, %b : {a}, {a}) outs(%c : {c}) {{
  ^bb0(%x: f16, %y: f16, %z: f32):
    %x1 = arith.extf %x : f16 to f32
    %y1 = arith.extf %y : f16 to f32
    %p = arith.mulf %x1, %y1 : f32
    %s = arith.addf %p, %z : f32
    linalg.yield %s : f32
  }}
  func.return
}}"""


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    types = ("float16", "float16", "float32")
    return [np.ones(shape, type) for shape, type in zip(shapes, types, strict=True)]


def interfaces(name: str, staged: str) -> tuple[Interface, ...]:
    passes = f"coopc-khr{{device=lavapipe staged={staged}}}"
    return coopc.compile(text(name), passes, "spirv").interface


@pytest.mark.parametrize("staged", ["true", "false"])
@pytest.mark.parametrize("name", sorted(SIZES))
def test_every_size_is_compared(name: str, staged: str) -> None:
    """Whichever dimension of whichever argument is another, it is refused."""
    *_, interface = interfaces(name, staged)  # the one for sizes of all kinds
    shapes = SIZES[name]
    pack(interface, arrays(*shapes))
    for argument, shape in enumerate(shapes):
        for dimension, size in enumerate(shape):
            other = (*shape[:dimension], size + 16, *shape[dimension + 1 :])
            wrong = [*shapes[:argument], other, *shapes[argument + 1 :]]
            with pytest.raises(ValueError, match=r"size \d of [bc]: expected \d+"):
                pack(interface, arrays(*wrong))


def test_message() -> None:
    (interface,) = interfaces("matmul", "false")
    message = "size 0 of b: expected 32, which is size 1 of a, got 16"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        pack(interface, arrays((64, 32), (16, 48), (64, 48)))


def test_second_entries_are_no_way_out() -> None:
    """A kernel for any memory takes no other sizes either."""
    (any_memory,) = interfaces("matmul", "false")
    demanding = (Condition("size", 0, 1, multiple_of=64), *any_memory.conditions)
    first = replace(any_memory, conditions=demanding)
    second = replace(any_memory, name=f"{first.name}{SECOND_ENTRY}")
    given = arrays((64, 32), (16, 48), (64, 48))
    assert entry_for([first, second], first, given) is second
    with pytest.raises(ValueError, match="expected 32, which is size 1 of a"):
        pack(second, given)


def test_defaults_are_the_same() -> None:
    """What words leave open is as long as what it must be as long as."""
    (interface,) = interfaces("matmul", "false")

    def shapes(**words: str) -> list[tuple[int, ...]]:
        read = {name: read_word(word) for name, word in words.items()}
        return [np.shape(each) for each in make_arguments(interface, read, size=16)]

    assert shapes() == [(16, 16), (16, 16), (16, 16)]
    assert shapes(a="zeros:64x32") == [(64, 32), (32, 16), (64, 16)]
    assert shapes(c="zeros:64x32") == [(64, 16), (16, 32), (64, 32)]
    assert shapes(a="ones:8x9", b="ones:9x10") == [(8, 9), (9, 10), (8, 10)]
    assert shapes(a="ones:8x9", b="ones:7x10") == [(8, 9), (7, 10), (8, 10)]


def multiplication(*types: MemRefType) -> func.FuncOp:
    function = func.FuncOp("f", (types, ()))
    block = function.body.block
    block.add_op(MatmulOp(block.args[:2], block.args[2:]))
    return function


def test_types_say_some() -> None:
    """What both types fix is nothing that a caller has to see to."""
    dynamic = builtin.DYNAMIC_INDEX
    found = multiplication(
        MemRefType(f16, (64, 32)),
        MemRefType(f16, (32, dynamic)),
        MemRefType(f32, (64, dynamic)),
    )
    sizes = sizes_of(found.body.block.ops)
    assert equal_sizes(found, sizes) == [EqualSizes(2, 1, 1, 1)]


def test_attribute_is_read_back() -> None:
    sizes = (EqualSizes(1, 0, 0, 1), EqualSizes(1, 1, 0, 0))
    function = func.FuncOp("k", ((MemRefType(f16, (4, 4)),) * 2, ()))
    assert simt.equal_sizes(function) == ()
    function.attributes[simt.EQUAL_SIZES] = simt.equal_sizes_attr(sizes)
    assert simt.equal_sizes(function) == sizes


def test_forgotten() -> None:
    """Nothing is said of an argument that becomes another memref."""
    function = func.FuncOp("k", ((MemRefType(f16, (4, 4)),) * 3, ()))
    first, second = EqualSizes(1, 0, 0, 1), EqualSizes(2, 0, 0, 0)
    function.attributes[simt.EQUAL_SIZES] = simt.equal_sizes_attr((first, second))
    simt.forget_sizes(function, 1)
    assert simt.equal_sizes(function) == (second,)
    simt.forget_sizes(function, 0)
    assert simt.EQUAL_SIZES not in function.attributes


def test_packed_matrices_have_sizes_of_their_own() -> None:
    passes = "coopc-khr{device=intel-cpu pack_b=true}"
    _, second = coopc.compile(text("matmul"), passes, "spirv").interface
    (condition,) = second.conditions
    assert (condition.argument, condition.like_argument) == (2, 0)
