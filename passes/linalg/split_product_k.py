"""split-product-k: splits products with few tiles and a long K along K.

Before:  linalg functions on tensors, as from `pad-product-rows`, or with one product of
         memrefs.
After:   if the costs of the device's tiles say that it is faster, a batch of products
         of parts of K, and their sum: deterministic, the same bits in each run.
Fails:   never; products of dynamic sizes, of a batch, of memory with gaps between rows,
         and for devices whose tiles have no costs are unchanged.

    %x = tensor.expand_shape %a [[0], [1, 2]] : .. into tensor<16x4x1024xf16>
    %y = tensor.expand_shape %b [[0, 1], [2]] : .. into tensor<4x1024x4096xf16>
    %p = linalg.generic .. ins(%x, %y) .. -> tensor<4x16x4096xf32>
    %r = linalg.generic .. ins(%p) .. -> tensor<16x4096xf32>      adds along the first
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.device import Device
from coopc.dialects.linalg_forms import scalar
from coopc.dialects.narrow import tensor_type
from coopc.ir.builder import Builder
from coopc.ir.device_option import device_of
from coopc.passes.linalg.collapse_linalg import cut, is_whole
from coopc.passes.linalg.fuse_linalg import filled, generic, remade
from coopc.passes.linalg.match import map_of
from coopc.passes.linalg.pad_product_rows import (
    ProductLoops,
    change_products,
    loops_of,
    problem_of,
)
from coopc.plan.gemm import parts_along_k

Parts: TypeAlias = tuple[ProductLoops, int]
"""The loops of a product, and how many parts it has."""


def parts_of(op: linalg.GenericOp, its: ProductLoops, device: Device) -> int:
    """Return in how many parts along K a product is to be computed; 1 to let it be."""
    if its.batch is not None or not all(map(is_whole, op.inputs)):
        return 1
    return parts_along_k(problem_of(op, its), device)


def split(op: linalg.GenericOp, its: ProductLoops, parts: int) -> None:
    """Put a batch of products and their sum in the place of a product."""
    b, along_k = Builder.at(op), its.along_k
    (init,), (result,) = op.outputs, op.results
    loops = len(its.sizes)
    element = tensor_type(result).element_type

    def in_parts(at: int) -> SSAValue:
        return cut(b, op.operands[at], its.of[at].index(along_k), parts)

    def in_order(at: int) -> AffineMap:
        found = [*its.of[at]]
        found.insert(0 if at == 2 else found.index(along_k), loops)
        return map_of(found, loops + 1)

    shape = tensor_type(result).get_shape()
    type = TensorType(element, [parts, *shape])
    begin = filled(b, b.constant(element, 0), type)
    inputs, maps = [in_parts(0), in_parts(1)], [in_order(at) for at in range(3)]
    kinds = [*op.iterator_types, IteratorTypeAttr.parallel()]
    found = b.effect(remade(op, inputs, [begin], maps, kinds)).results[0]
    maps = map_of((2, 0, 1), 3), map_of((0, 1), 3)

    def add(x: SSAValue, sum: SSAValue) -> Operation:
        return scalar("add", sum, x)

    total = b.effect(generic([found], init, maps, add, [2])).results[0]
    total.name_hint = result.name_hint
    Rewriter.replace_op(op, [], [total])


@dataclass(frozen=True)
class SplitProductKPass(ModulePass):
    name = "split-product-k"

    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        device = device_of(self.device, op, self.name)

        def parts(op: linalg.GenericOp) -> Parts | None:
            its = loops_of(op, device)
            count = 1 if its is None else parts_of(op, its, device)
            return None if its is None or count == 1 else (its, count)

        change_products(op, parts, lambda x, found: split(x, *found))
