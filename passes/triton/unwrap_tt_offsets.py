"""unwrap-tt-offsets: removes remainders from offsets where wrapped rows have no effect.

Before: (pid * 64 + range) % m    rows of a tile in a matrix of m rows; those behind its
                                  end are its first rows again, as in Triton's tutorial
        where(row < m, row, 0)    or all its first one, as in its persistent kernel
After:  pid * 64 + range          and what is loaded there is masked
Fails:  never; offsets are unchanged if rows past the end may have an effect.

A value loaded at row i only affects row i of the product and of its elementwise users.
If every store masks rows from m on, wrapped rows have no effect, and the tile can be
loaded as a 2D block.  Coordinates are assumed to be non-negative, since a matrix begins
at its pointer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.dialects.scf import ForOp, IfOp, YieldOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import effects, tt, ttg, ttig
from coopc.dialects.narrow import is_tensor
from coopc.dialects.shaped_arith import shaped
from coopc.dialects.tt.types import shape_of
from coopc.ir.polynomial import ONE
from coopc.passes.triton.affine_tensors import (
    Indices,
    NotAffine,
    ViewOp,
    bounds,
    mask_of,
)

Reached = list[tuple[SSAValue, int]]
"""Values, and in which dimension of each the coordinate is."""


class Seen(Exception):
    """What is behind the end may be seen."""


def forward_slice(
    value: SSAValue, dim: int, rule: Callable[[Operation, int, int], Reached | None]
) -> tuple[dict[SSAValue, int], list[tuple[Operation, int]]]:
    """Follow a value, which varies in a dimension, to all that is made of it.

    Args:
        value: the value.
        dim: in which its coordinate is.
        rule: what an operation makes of an operand by its number and the dimension;
            None where the way ends. Views and loops are the same for all.

    Returns:
        values, with the dimension in which the coordinate is; and the operations where
        a way ends, with that of the operand.

    Raises:
        Seen: it goes where that is not known.
    """
    dims: dict[SSAValue, int] = {}
    ends: list[tuple[Operation, int]] = []
    todo = [(value, dim)]
    while todo:
        value, dim = todo.pop()
        if value in dims:
            if dims[value] != dim:
                raise Seen
            continue
        dims[value] = dim
        for use in value.uses:
            op = use.operation
            reached = passed_on(op, use.index, dim)
            if reached is None and (reached := rule(op, use.index, dim)) is None:
                ends.append((op, dim))
            todo += reached or []
    return dims, ends


def passed_on(op: Operation, index: int, dim: int) -> Reached | None:
    """Return what a view or a loop makes of an operand; None for other operations."""
    match op:
        case tt.ExpandDimsOp():
            return [(op.result, dim + (dim >= op.axis.value.data))]
        case tt.TransOp():
            return [(op.result, op.permutation.index(dim))]
        case (
            tt.BroadcastOp()
            | ttg.ConvertLayoutOp()
            | ttg.LocalAllocOp()
            | ttg.LocalLoadOp()
        ):
            return [(op.results[0], dim)]
        case ttg.LocalDeallocOp():
            return []
        case ForOp():
            if index < 3:
                raise Seen
            at = index - 3
            return [(op.body.block.args[at + 1], dim), (op.results[at], dim)]
        case YieldOp() if isinstance(loop := op.parent_op(), ForOp):
            return [(loop.body.block.args[index + 1], dim), (loop.results[index], dim)]
        case YieldOp() if isinstance(branch := op.parent_op(), IfOp):
            return [(branch.results[index], dim)]
        case _:
            return None


def of_address(op: Operation, index: int, dim: int) -> Reached | None:
    """From a remainder, sums and products of indices, pointers; loads are ends."""
    match op:
        case arith.AddiOp() | arith.MuliOp() | arith.ExtSIOp() | tt.AddPtrOp():
            return [(op.results[0], dim)]
        case tt.LoadOp() if index == 0:
            return None
        case ttig.PrefetchOp() if index == 0:
            return []
        case _:
            raise Seen


def of_result(op: Operation, index: int, dim: int) -> Reached | None:
    """From a load, products' rows and columns, arithmetic by element; stores end it."""
    match op:
        case tt.DotOp() if not is_reduced(op, index, dim):
            return [(op.d, dim)]
        case tt.StoreOp() if index == 1:
            return None
        case tt.AtomicRMWOp() if index == 1 and not op.result.uses:
            return None
        case _ if is_elementwise(op):
            return [(result, dim) for result in op.results]
        case _:
            raise Seen


def is_reduced(op: tt.DotOp, index: int, dim: int) -> bool:
    """Whether a dimension of an operand is K, the last one of A."""
    rank = len(shape_of(op.d.type))
    return (index, dim) in ((0, rank - 1), (1, rank - 2))


def is_elementwise(op: Operation) -> bool:
    """Whether each element of the results is made of the same element of operands.

    Whatever that is: quotients of integers are undefined where zeros are loaded.
    """
    if isinstance(op, effects.DIVISIONS):
        return False
    known = op.dialect_name() in ("arith", "math") or isinstance(op, tt.FpToFpOp)
    return known and all(is_tensor(x.type) for x in op.results)


def wrapped(op: Operation) -> tuple[SSAValue, SSAValue] | None:
    """Return coordinates and the size below which an operation leaves them."""
    match op:
        case arith.RemSIOp() | arith.RemUIOp() if is_tensor(op.result.type):
            return op.lhs, op.rhs
        case arith.SelectOp(cond=SSAValue(owner=arith.CmpiOp() as inside)) if (
            inside.predicate.value.data == arith.CMPI_COMPARISON_OPERATIONS.index("slt")
            and inside.lhs is op.lhs
        ):
            return inside.lhs, inside.rhs
        case _:
            return None


def unwrap(op: Operation, coordinate: SSAValue, end: SSAValue) -> None:
    """Mask the loads behind wrapped coordinates, and unwrap them, if nobody sees it."""
    indices = Indices()
    (result,) = op.results
    try:
        place, size = indices.of(coordinate), indices.of(end)
        if place.steps != (ONE,) or not size.is_uniform:
            return
        # Below this coordinate elements are those of the matrix.
        limit = size.start - place.start
        dims, loads = forward_slice(result, 0, of_address)
        for load, dim in loads:
            for store, at in forward_slice(load.results[0], dim, of_result)[1]:
                assert isinstance(store, tt.AtomicRMWOp | tt.StoreOp), store
                if store.mask is None or not is_tensor(store.ptr.type):
                    return
                rank = len(shape_of(store.ptr.type))
                if bounds(mask_of(store.mask, indices), rank)[at].below != limit:
                    return
    except (NotAffine, Seen):
        return
    if not loads:
        return
    inside = after(result, arith.CmpiOp(coordinate, end, "slt"))
    masks: dict[SSAValue, SSAValue] = {result: inside}
    for load, _ in loads:
        assert isinstance(load, tt.LoadOp), load
        mask = mask_like(load.ptr, dims, masks)
        if load.mask is not None:
            both = arith.AndIOp(load.mask, mask)
            both.location = load.location
            Rewriter.insert_op(both, InsertPoint.before(load))
            mask = both.result
        new = tt.LoadOp(load.ptr, mask, load.other)
        new.properties |= {
            name: x for name, x in load.properties.items() if "egment" not in name
        }
        new.attributes |= load.attributes
        new.location = load.location
        new.result.name_hint = load.result.name_hint
        Rewriter.replace_op(load, new)
    Rewriter.replace_op(op, [], [coordinate])


def mask_like(
    value: SSAValue, dims: Mapping[SSAValue, int], masks: dict[SSAValue, SSAValue]
) -> SSAValue:
    """Return which elements of a value are not behind the end: made as the value is.

    The values of `dims` are made of the remainder; `masks` are known already.
    """
    if value in masks:
        return masks[value]
    owner = value.owner
    if isinstance(value, BlockArgument):
        loop = value.block.parent_op()
        assert isinstance(loop, ForOp), value
        source = loop.iter_args[value.index - 1]
    elif isinstance(owner, ForOp):
        source = owner.iter_args[owner.results.index(value)]
    else:
        assert isinstance(owner, Operation), value
        source = next(x for x in owner.operands if x in dims)
    mask = mask_like(source, dims, masks)
    if isinstance(owner, ViewOp):
        view = type(owner).create(
            operands=[mask],
            result_types=[shaped(value.type, i1)],
            properties=dict(owner.properties),
        )
        mask = after(value, view)
    masks[value] = mask
    return mask


def after(value: SSAValue, new: Operation) -> SSAValue:
    """Insert an operation right behind the one that gives a value."""
    owner = value.owner
    assert isinstance(owner, Operation), value
    new.location = owner.location
    Rewriter.insert_op(new, InsertPoint.after(owner))
    return new.results[0]


@dataclass(frozen=True)
class UnwrapTtOffsetsPass(ModulePass):
    name = "unwrap-tt-offsets"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.ops:
            if not isinstance(func, tt.FuncOp):
                continue
            for each in list(func.body.walk()):
                if (found := wrapped(each)) is not None:
                    unwrap(each, *found)
