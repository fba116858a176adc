"""Which operations of a function are done by one kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from coopc.passes.linalg.fuse_linalg import (
    is_parallel,
    is_product,
    maps_of,
    output_arguments,
)


@dataclass(frozen=True, slots=True)
class Group:
    """Operations that one kernel does, in order."""

    ops: tuple[linalg.GenericOp, ...]

    @property
    def results(self) -> list[SSAValue]:
        """What others read of it."""
        return [
            x
            for op in self.ops
            for x in op.results
            if any(use.operation not in self.ops for use in x.uses)
        ]


def is_epilogue(product: linalg.GenericOp, op: linalg.GenericOp) -> bool:
    """Whether an operation can follow a product in the kernel of that.

    It is elementwise, it alone reads the product, and it needs no indices.
    """
    (result,) = product.results
    if not is_parallel(op) or any(use.operation is not op for use in result.uses):
        return False
    if any(arg.uses for arg in output_arguments(op)):
        return False
    maps = maps_of(op)
    identity = AffineMap.identity(maps[0].num_dims)
    projections = (isinstance(x, AffineDimExpr) for map in maps for x in map.results)
    own = [m for x, m in zip(op.operands, maps, strict=True) if x is result]
    whole = [*own, *maps[len(op.inputs) :]]
    return (
        all(projections)
        and all(map == identity for map in whole)
        and not any(
            x.regions or x.dialect_name() not in ("arith", "math")
            for x in op.body.block.ops
            if not isinstance(x, linalg.YieldOp)
        )
    )


def groups_of(block: Block) -> Mapping[Operation, Group]:
    """Return the groups of a block, by their last operation."""
    found: dict[Operation, Group] = {}
    for op in block.ops:
        if not isinstance(op, linalg.GenericOp):
            continue
        products = (x.owner for x in op.inputs if x.owner in found)
        for product in products:
            if (
                isinstance(product, linalg.GenericOp)
                and is_product(product)
                and is_epilogue(product, op)
            ):
                del found[product]
                found[op] = Group((product, op))
                break
        else:
            found[op] = Group((op,))
    return found
