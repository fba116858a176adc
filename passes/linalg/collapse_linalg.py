"""collapse-linalg: merges loops of products and of what reads reshaped tensors.

Before:  functions of `linalg.generic` on tensors, as from `generalize-linalg`.
After:   loops of a product that follow each other and are both of its batch, of M, N or
         K are one loop; so are the expanded or collapsed
         loops of a generic that reads an expanded tensor or whose result is only
         collapsed.  Unit dimensions that hold the reduction of a row are removed, and
         so are dead results.
Fails:   never; other operations are unchanged.

    %x = tensor.expand_shape %s [[0, 1], [2], [3]] : .. into tensor<2x4x5x6xf32>
    %y = linalg.generic ins(%x, %mask) .. (b, h, m, n)

becomes a generic of (b * 4 + h, m, n) that reads %s, and whose result is expanded to
%y.  A tensor that has only one of b and h is indexed by the quotient or the remainder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.bufferization import MaterializeInDestinationOp, ToTensorOp
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    ModuleOp,
    NoneAttr,
    TensorType,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.dialects.narrow import is_memref, is_tensor, memref_type, tensor_type
from coopc.ir.builder import Builder
from coopc.passes.linalg.fuse_linalg import (
    erase_dead,
    erase_unused,
    is_elementwise,
    maps_of,
    output_arguments,
    remade,
    shape,
    sizes,
)
from coopc.passes.linalg.match import body_signs, groups_of, order

Groups = Sequence[tuple[int, ...]]
"""Numbers of dimensions, or of loops, that become one; every dimension is in one."""


def shape_of(value: SSAValue) -> Sequence[int]:
    return tensor_type(value).get_shape() if is_tensor(value.type) else ()


def reassociation(op: tensor.ExpandShapeOp | tensor.CollapseShapeOp) -> Groups:
    return [tuple(x.value.data for x in group) for group in op.reassociation]


def reassociated(groups: Groups) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    return ArrayAttr(ArrayAttr(IntegerAttr(x, i64) for x in g) for g in groups)


def cut(b: Builder, value: SSAValue, at: int, parts: int) -> SSAValue:
    """Return a tensor with a static dimension cut into parts, which are in front."""
    type = tensor_type(value)
    shape = [*type.get_shape()]
    groups = [(n, n + 1) if n == at else (n + (n > at),) for n in range(len(shape))]
    shape[at : at + 1] = [parts, shape[at] // parts]
    new = TensorType(type.element_type, shape)
    expand = tensor.ExpandShapeOp(value, [], reassociated(groups), shape, new)
    return b.effect(expand).results[0]


# --- Which loops become one. ---


def is_whole(value: SSAValue) -> bool:
    """Whether the rows of a tensor in memory follow each other without gaps."""
    if isinstance(value.owner, tensor.ExtractSliceOp):
        return False
    memory = [value.owner.memref] if isinstance(value.owner, ToTensorOp) else []
    for use in value.uses:
        if isinstance(use.operation, MaterializeInDestinationOp) and use.index == 0:
            memory.append(use.operation.dest)
    types = [memref_type(x) for x in memory if is_memref(x.type)]
    return all(isinstance(x.layout, NoneAttr) for x in types)


def of_product(op: linalg.GenericOp) -> Iterator[tuple[int, ...]]:
    """Yield pairs of loops of a product that are both of its batch, of M, N or K."""
    if (len(op.inputs), len(op.outputs)) != (2, 1) or body_signs(op) is None:
        return
    operands = [order(map) for map in maps_of(op)]
    if groups_of(operands) is None:
        return
    values = (*op.inputs, op.outputs[0], op.results[0])
    gaps = [not is_whole(x) for x in values]
    has_gaps = gaps[0], gaps[1], gaps[2] or gaps[3]
    for loops in operands:
        for pair in pairwise(loops):
            # Two loops are of one group if every operand has both or neither.
            both = [{*pair} <= {*x} for x in operands]
            either = [bool({*pair} & {*x}) for x in operands]
            if both != either:
                continue
            # To merge dimensions with gaps is to copy: for batches, which are not
            # multiplied otherwise.
            if all(both) or not any(
                x and y for x, y in zip(both, has_gaps, strict=True)
            ):
                yield pair


def wanted(op: linalg.GenericOp) -> Iterator[tuple[int, ...]]:
    """Yield loops that a generic should have as one."""
    yield from of_product(op)
    values, maps = (*op.inputs, *op.results), maps_of(op)
    for value, map in zip(values, maps, strict=False):
        reshape: Operation | None = None
        if value in op.results:
            users = {use.operation for use in value.uses}
            reshape = users.pop() if len(users) == 1 else None
            if not isinstance(reshape, tensor.CollapseShapeOp):
                continue
        elif isinstance(value.owner, tensor.ExpandShapeOp):
            reshape = value.owner
        if isinstance(reshape, tensor.ExpandShapeOp | tensor.CollapseShapeOp):
            for group in reassociation(reshape):
                loops = [order(map)[x] for x in group]
                if len(loops) > 1 and -1 not in loops and len({*loops}) == len(loops):
                    yield tuple(loops)


@dataclass(frozen=True, slots=True)
class Collapsed:
    """An operand of which some dimensions are one."""

    groups: Groups
    map: AffineMap


def whole(map: AffineMap) -> Collapsed:
    """Return an operand of which no dimensions are one."""
    return Collapsed([(x,) for x in range(len(map.results))], map)


@dataclass(frozen=True, slots=True)
class Collapse:
    """How a generic gets one loop for several."""

    loops: tuple[int, ...]
    numbers: dict[int, int]
    """The new numbers of loops."""
    operands: tuple[Collapsed, ...]


def plan(op: linalg.GenericOp, loops: tuple[int, ...]) -> Collapse | None:
    """Return how some loops of a generic become one; None where they cannot."""
    kinds = [kind.data for kind in op.iterator_types]
    if len({kinds[loop] for loop in loops}) > 1:
        return None
    own = [x for x in op.body.walk() if isinstance(x, linalg.IndexOp)]
    if any(x.dim.value.data in loops for x in own):
        return None
    maps = maps_of(op)
    kept = [x for x in range(maps[0].num_dims) if x not in loops[1:]]
    numbers = {loop: at for at, loop in enumerate(kept)}
    numbers |= dict.fromkeys(loops, numbers[loops[0]])
    lengths = {
        expr.position: size
        for value, map in zip(op.operands, maps, strict=True)
        for expr, size in zip(map.results, shape_of(value), strict=True)
        if isinstance(expr, AffineDimExpr)
    }
    found: list[Collapsed] = []
    for at, map in enumerate(maps):
        apart = is_elementwise(op) and at < len(op.inputs)
        own_lengths = [lengths[loop] for loop in loops]
        each = _operand(map, loops, numbers, own_lengths if apart else None)
        if each is None:
            return None
        found.append(each)
    return Collapse(loops, numbers, tuple(found))


def _operand(
    map: AffineMap,
    loops: tuple[int, ...],
    numbers: dict[int, int],
    lengths: Sequence[int] | None,
) -> Collapsed | None:
    """Return how an operand is read where some loops are one.

    A part of some of the loops may be used, where their `lengths` are given.
    """
    dims = [x.position if isinstance(x, AffineDimExpr) else -1 for x in map.results]
    groups: list[tuple[int, ...]] = []
    exprs: list[AffineExpr] = []
    new = [AffineDimExpr(numbers[loop]) for loop in range(map.num_dims)]
    at = 0
    while at < len(dims):
        count = 1
        expr = map.results[at].replace_dims_and_symbols(new, ())
        if tuple(dims[at : at + len(loops)]) == loops:
            count = len(loops)
        elif {*map.results[at].used_dims()} & {*loops}:
            if lengths is None or dims[at] < 0:
                return None
            place = loops.index(dims[at])
            if min(lengths[max(place, 1) :]) < 1:
                return None  # dynamic, or nothing to divide by
            if prod(lengths[place + 1 :]) != 1:
                expr = expr // prod(lengths[place + 1 :])
            if prod(lengths[:place]) != 1:
                expr = expr % lengths[place]
        groups.append(tuple(range(at, at + count)))
        exprs.append(expr)
        at += count
    return Collapsed(groups, AffineMap(len({*numbers.values()}), 0, tuple(exprs)))


# --- Rewrite. ---


def _type(value: SSAValue, groups: Groups) -> TensorType:
    parts = [[shape_of(value)[x] for x in group] for group in groups]
    shape = [DYNAMIC_INDEX if DYNAMIC_INDEX in x else prod(x) for x in parts]
    return TensorType(tensor_type(value).element_type, shape)


def collapsed(b: Builder, value: SSAValue, groups: Groups) -> SSAValue:
    """Return a tensor of which dimensions are one: what was expanded, if it was."""
    if all(len(group) == 1 for group in groups):
        return value
    type, owner = _type(value, groups), value.owner
    match owner:
        case tensor.ExpandShapeOp() if reassociation(owner) == list(groups):
            return owner.src
        case tensor.EmptyOp():
            known = shape(b, value)
            found = (reduce(b.product, (known[x] for x in g)) for g in groups)
            own = [
                b.value(x)
                for x, size in zip(found, type.get_shape(), strict=True)
                if size == DYNAMIC_INDEX
            ]
            return b.effect(tensor.EmptyOp(own, type)).results[0]
        case arith.ConstantOp(value=DenseIntOrFPElementsAttr(data=data)):
            attr = DenseIntOrFPElementsAttr(type, data)  # pyright: ignore[reportArgumentType]
            return b.effect(arith.ConstantOp(attr)).results[0]
        case linalg.FillOp():
            target = collapsed(b, owner.outputs[0], groups)
            filled = linalg.FillOp(owner.inputs, [target], [target.type])
            return b.effect(filled).results[0]
        case _:
            for user in (use.operation for use in value.uses):
                is_known = isinstance(user, tensor.CollapseShapeOp)
                if is_known and reassociation(user) == list(groups):
                    user.detach()
                    break
            else:
                user = tensor.CollapseShapeOp.build(
                    operands=[value],
                    result_types=[type],
                    properties={"reassociation": reassociated(groups)},
                )
            return Builder.after(value, b.location).effect(user).results[0]


def replace_expanded(b: Builder, old: SSAValue, new: SSAValue, groups: Groups) -> None:
    """Let what used a tensor use one with some dimensions as one."""
    if old.type == new.type:
        old.replace_all_uses_with(new)
        return
    for use in list(old.uses):
        user = use.operation
        is_same = isinstance(user, tensor.CollapseShapeOp)
        if is_same and reassociation(user) == list(groups):
            Rewriter.replace_op(user, [], [new])
    if old.uses:
        type = tensor_type(old)
        expand = tensor.ExpandShapeOp(
            new, sizes(b, old), reassociated(groups), type.get_shape(), type
        )
        old.replace_all_uses_with(b.effect(expand).results[0])


def rebuilt(
    op: linalg.GenericOp,
    operands: Sequence[Collapsed],
    kinds: Sequence[IteratorTypeAttr],
) -> None:
    """Put a generic on other tensors in the place of one."""
    b = Builder.at(op)
    pairs = zip(op.operands, operands, strict=True)
    values = [
        collapsed(b, value, each.groups) if is_tensor(value.type) else value
        for value, each in pairs
    ]
    count = len(op.inputs)
    maps = [each.map for each in operands]
    new = b.effect(remade(op, values[:count], values[count:], maps, kinds))
    for old, result, each in zip(
        op.results, new.results, operands[count:], strict=True
    ):
        result.name_hint = old.name_hint
        replace_expanded(b, old, result, each.groups)
    Rewriter.erase_op(op)


def collapse_loops(op: linalg.GenericOp, how: Collapse) -> None:
    for index in op.body.walk():
        if isinstance(index, linalg.IndexOp):
            dim = how.numbers[index.dim.value.data]
            index.dim = IntegerAttr(dim, i64)
    kept = how.loops[1:]
    kinds = [x for n, x in enumerate(op.iterator_types) if n not in kept]
    rebuilt(op, how.operands, kinds)


def without_units(value: SSAValue, map: AffineMap) -> Collapsed | None:
    """Return a tensor without dimensions of size 1 at which it is read at 0, alone.

    None where it has none, or no others.
    """
    shape = shape_of(value)
    is_unit = [
        size == 1 and isinstance(expr, AffineConstantExpr)
        for size, expr in zip(shape, map.results, strict=True)
    ]
    if not any(is_unit) or all(is_unit):
        return None
    groups: list[tuple[int, ...]] = []
    exprs: list[AffineExpr] = []
    first: tuple[int, ...] = ()
    for at, expr in enumerate(map.results):
        if not is_unit[at]:
            groups.append((*first, at))
            exprs.append(expr)
            first = ()
        elif groups:
            groups[-1] = (*groups[-1], at)
        else:
            first = (*first, at)
    return Collapsed(groups, AffineMap(map.num_dims, 0, tuple(exprs)))


def drop_units(op: linalg.GenericOp) -> bool:
    """Let results, and what was expanded from some, have no dimensions of size 1."""
    found: list[Collapsed] = []
    for at, (value, map) in enumerate(zip(op.operands, maps_of(op), strict=True)):
        each = without_units(value, map) if is_tensor(value.type) else None
        owner = value.owner
        is_input = at < len(op.inputs)
        if each is not None and is_input:
            is_expanded = isinstance(owner, tensor.ExpandShapeOp)
            if not is_expanded or reassociation(owner) != list(each.groups):
                each = None
        found.append(each or whole(map))
    if [each.map for each in found] == maps_of(op):
        return False
    rebuilt(op, found, list(op.iterator_types))
    return True


def _needed(values: Iterable[SSAValue]) -> set[SSAValue]:
    """Return what values of a body are computed of."""
    found, todo = set[SSAValue](), list(values)
    while todo:
        value = todo.pop()
        if value not in found:
            found.add(value)
            todo += value.owner.operands if isinstance(value.owner, Operation) else ()
    return found


def drop_unused(op: linalg.GenericOp) -> bool:
    """Drop a result that nothing uses, with what computes it alone."""
    last, count = op.body.block.last_op, len(op.inputs)
    unused = [n for n, x in enumerate(op.results) if not x.uses]
    if len(op.results) < 2 or not unused or last is None:
        return False
    at = unused[0]
    kept = [n for n in range(len(op.results)) if n != at]
    argument = output_arguments(op)[at]
    if argument in _needed(last.operands[n] for n in kept):
        return False
    Rewriter.replace_op(last, linalg.YieldOp(*(last.operands[n] for n in kept)))
    erase_dead(op.body.block)
    op.body.block.erase_arg(argument)
    outputs = [op.outputs[n] for n in kept]
    maps = [x for n, x in enumerate(maps_of(op)) if n != count + at]
    new = Builder.at(op).effect(remade(op, op.inputs, outputs, maps))
    for n, result in zip(kept, new.results, strict=True):
        result.name_hint = op.results[n].name_hint
        op.results[n].replace_all_uses_with(result)
    Rewriter.erase_op(op)
    return True


def simplify(op: Operation) -> bool:
    """Do one step for an operation; return whether there was one."""
    if not isinstance(op, linalg.GenericOp) or not op.results:
        return False
    if drop_unused(op) or drop_units(op):
        return True
    plans = (plan(op, loops) for loops in wanted(op))
    if (how := next((x for x in plans if x is not None), None)) is not None:
        collapse_loops(op, how)
    return how is not None


@dataclass(frozen=True)
class CollapseLinalgPass(ModulePass):
    name = "collapse-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.ops:
            if not isinstance(func, FuncOp) or len(func.body.blocks) != 1:
                continue
            while any(map(simplify, list(func.body.block.ops))):
                erase_unused(list(func.body.block.ops))
