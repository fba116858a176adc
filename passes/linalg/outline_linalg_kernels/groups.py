"""Which operations of a function are done by one kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, bf16, f16, f32
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from coopc.dialects.narrow import tensor_type
from coopc.ir.transaction import Refused
from coopc.passes.linalg.convert_attention_to_coopmatrix import (
    attention_of,
    why_not_kernel,
)
from coopc.passes.linalg.fuse_linalg import (
    is_contraction,
    is_parallel,
    is_product,
    maps_of,
    number_of,
    output_arguments,
)
from coopc.passes.linalg.rows import Nest, Statement, nest_of

LEAST: Mapping[Attribute, float] = {f16: -65504.0, bf16: -3.3e38, f32: -3.4e38}
"""What a maximum begins with at most: no number is less."""
FEW_ROWS = 4
"""Fewer leave most cores of any device idle."""
ASSUMED = 1 << 15
"""Elements of a row of several dynamic sizes."""
VIEWS = (
    tensor.CastOp,
    tensor.CollapseShapeOp,
    tensor.ExpandShapeOp,
    tensor.ExtractSliceOp,
)
"""Operations on tensors that see the same memory in another way."""


def users(value: SSAValue) -> Iterator[tuple[SSAValue, Operation]]:
    """Yield the operations that use a tensor or a view of it, with what they use."""
    todo = [value]
    while todo:
        each = todo.pop()
        for use in each.uses:
            if isinstance(use.operation, VIEWS):
                todo.append(use.operation.results[0])
            else:
                yield each, use.operation


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


def attention_group(last: Group) -> Group | None:
    """Return the group of attention that a product, and what follows it, ends."""
    product = last.ops[0]
    if not is_product(product):
        return None
    weights = product.inputs[0].owner
    if not isinstance(weights, linalg.GenericOp):
        return None
    found: set[Operation | Block] = {weights, *last.ops}
    for x in weights.inputs:
        found.add(x.owner)
        if not is_product_result(x) and isinstance(x.owner, linalg.GenericOp):
            found |= {y.owner for y in x.owner.inputs if is_product_result(y)}
    ops = [x for x in found if isinstance(x, linalg.GenericOp)]
    block = product.parent
    if len(ops) < len(found) or any(op.parent is not block for op in ops):
        return None
    order = {op: at for at, op in enumerate(block.ops)} if block else {}
    group = Group(tuple(sorted(ops, key=order.__getitem__)))
    its = attention_of(group.ops)
    if its is None or why_not_kernel(its) is not None:
        return None
    begins = [number_of(op.outputs[0]) for op in (its.scores, its.total, its.result)]
    top = number_of(its.top.outputs[0])
    element = tensor_type(its.top.outputs[0]).element_type
    if begins != [0, 0, 0] or top is None or top > LEAST[element]:
        return None
    return group if group.results == list(group.ops[-1].results) else None


def is_product_result(value: SSAValue) -> bool:
    op = value.owner
    return isinstance(op, linalg.GenericOp) and is_product(op)


def stores_scores(group: Group, most_scores: int) -> bool:
    """Whether attention is several kernels, with its scores in memory.

    It is if there are at most `most_scores`, and their number is known.
    """
    shape = tensor_type(group.ops[0].results[0]).get_shape()
    return DYNAMIC_INDEX not in shape and prod(shape) <= most_scores


def groups_of(
    block: Block, most_scores: int = 0, long_rows: int = 1 << 15
) -> Mapping[Operation, Group]:
    """Return the groups of a block, by their last operation.

    Args:
        block: of a function.
        most_scores: the most attention scores to store; with more, it is one kernel.
        long_rows: from how many elements on a row is stored by a kernel of its own, if
            there are few rows.
    """
    found: dict[Operation, Group] = {}
    for op in block.ops:
        if not isinstance(op, linalg.GenericOp):
            continue
        products = (x.owner for x in op.inputs if x.owner in found)
        for product in products:
            if (
                isinstance(product, linalg.GenericOp)
                and is_contraction(product)
                and is_epilogue(product, op)
            ):
                del found[product]
                found[op] = Group((product, op))
                break
        else:
            found[op] = Group((op,))
    for op, group in list(found.items()):
        whole = attention_group(group) if op in found else None
        if whole is not None and not stores_scores(whole, most_scores):
            for each in whole.ops:
                found.pop(each, None)
            found[op] = whole
    return _rows(block, found, long_rows)


def _rows(
    block: Block, found: dict[Operation, Group], long_rows: int
) -> dict[Operation, Group]:
    """Let a kernel of rows do what reads the results of the rows before it."""
    order = {op: at for at, op in enumerate(block.ops)}
    for op in block.ops:
        if op not in found or len(found[op].ops) > 1:
            continue
        for before, group in list(found.items()):
            is_read = any(x.owner in group.ops for x in found[op].ops[0].inputs)
            if before is op or not is_read or any(map(is_contraction, group.ops)):
                continue
            last = found[op].ops
            # What a kernel updates is in memory before it runs.
            if any(init.owner in group.ops for init in last[0].outputs):
                continue
            ops = tuple(sorted({*group.ops, *last}, key=order.__getitem__))
            of_group = [x for each in group.ops for x in each.results]
            # A body that extracts elements of what the group computes reads any row,
            # and so does what reads a view of it.
            outside = {
                block.find_ancestor_op_in_block(user)
                for x in of_group
                for part, user in users(x)
                if part is not x or user not in ops
            }
            if any(x is None or order[x] <= order[op] for x in outside):
                continue  # it would not be there yet
            if not is_contraction(last[0]) and _is_nest(ops, long_rows):
                del found[before]
                found[op] = Group(ops)
    return found


def _is_nest(ops: Sequence[linalg.GenericOp], long_rows: int) -> bool:
    """Whether one kernel can compute operations, with enough rows to run in parallel.

    Each row is one work-group's, so few long rows that are stored would run on few
    cores.
    """
    try:
        nest = nest_of(_with_fills(ops))
    except Refused:
        return False
    if not _are_told(nest, ops):
        return False
    rows = [nest.sizes.known(x) for x in nest.shared]
    if prod(x or FEW_ROWS for x in rows) >= FEW_ROWS:
        return True
    return all(
        _elements(nest, x) < long_rows
        for x in nest.statements
        if x in nest.loops and not x.reduces
    )


def _are_told(nest: Nest, ops: Sequence[linalg.GenericOp]) -> bool:
    """Whether what a kernel is given tells how long all loops are.

    A tensor that only the kernel reads has no memory, and `tensor.empty` is not given.
    """
    given = {x for op in ops for x in op.inputs if x.owner not in ops}
    given.update(Group(tuple(ops)).results)
    new = tensor.EmptyOp | linalg.FillOp
    given.update(x for op in ops for x in op.outputs if not isinstance(x.owner, new))
    loops = ((x.op, n) for x in nest.statements for n in range(len(x.reductions)))
    return all(
        nest.sizes.known(key) is not None
        or any(isinstance(x, tuple) and x[0] in given for x in nest.sizes.all(key))
        for key in loops
    )


def _elements(nest: Nest, statement: Statement) -> int:
    """Return the elements of a row, as far as they are known."""
    sizes = [nest.size(statement, n) for n in nest.own(statement)]
    known = prod(1 if x is None else x for x in sizes)
    return max(known, ASSUMED) if sizes.count(None) > 1 else known


def _with_fills(ops: Sequence[linalg.GenericOp]) -> list[Operation]:
    """Return operations with what writes into their outputs first."""
    fills = (x.owner for op in ops for x in op.outputs)
    known = [x for x in fills if isinstance(x, linalg.FillOp)]
    return [*dict.fromkeys(known), *ops]
