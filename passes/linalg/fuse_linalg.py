"""fuse-linalg: computes elementwise operations where their results are used.

Before:  functions of linalg.generic on tensors, as `generalize-linalg` makes them.
After:   a generic that is elementwise, or a constant in every element, has become part
         of those that read it; what nothing reads is gone.  A generic reads each tensor
         once by each map, and no elementwise one reads its outputs.
Fails:   never; what is not fused stays as it is.

What is computed is the same, element by element and in the same order: a value that
several generics read may be computed in each of them.  The operands of a product of
matrices stay tensors of their own unless they are only transposed or extended, which
the product does.

    %h = linalg.generic ins(%x) outs(%e) { exp }
    %y = linalg.generic ins(%h, %b) outs(%e) { add }

becomes `linalg.generic ins(%x, %b) outs(%e) { exp, add }`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseIntOrFPElementsAttr,
    ModuleOp,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects.narrow import is_tensor
from coopc.passes.linalg.match import CASTS, body_signs, loop_roles

MOST_READERS = 4
"""Generics that compute a value each for themselves, at most."""
MOST_OPERATIONS = 60
"""Operations of a body that is computed in several places, at most."""
MOST_REPEATED = 3
"""Operations of a body that is computed several times for one element, at most."""


def maps_of(op: linalg.GenericOp) -> list[AffineMap]:
    return [attr.data for attr in op.indexing_maps]


def is_parallel(op: linalg.GenericOp) -> bool:
    return all(kind.data == IteratorType.PARALLEL for kind in op.iterator_types)


def is_product(op: linalg.GenericOp) -> bool:
    """Whether a generic multiplies matrices, as the engines do."""
    if len(op.inputs) != 2 or len(op.outputs) != 1:
        return False
    return loop_roles(maps_of(op)) is not None and body_signs(op) is not None


def output_arguments(op: linalg.GenericOp) -> Sequence[BlockArgument]:
    return op.body.block.args[len(op.inputs) :]


def is_elementwise(op: linalg.GenericOp) -> bool:
    """Whether each element of the results is a function of elements of the inputs."""
    unread = not any(arg.uses for arg in output_arguments(op))
    maps = maps_of(op)[len(op.inputs) :]
    return is_parallel(op) and unread and all(map(_is_permutation, maps))


def _is_permutation(map: AffineMap) -> bool:
    dims = [x.position for x in map.results if isinstance(x, AffineDimExpr)]
    return sorted(dims) == list(range(map.num_dims)) and len(dims) == len(map.results)


def operations(op: linalg.GenericOp) -> list[Operation]:
    """Return what a body computes with, without constants."""
    last = op.body.block.last_op
    return [
        x
        for x in op.body.block.ops
        if x is not last and not isinstance(x, arith.ConstantOp)
    ]


def rebuilt(
    op: linalg.GenericOp, inputs: Sequence[tuple[SSAValue, AffineMap]], body: Block
) -> linalg.GenericOp:
    """Return a generic with the loops and outputs of another one."""
    kept = maps_of(op)[len(op.inputs) :]
    maps = [*(map for _, map in inputs), *kept]
    new = linalg.GenericOp(
        [value for value, _ in inputs],
        op.outputs,
        Region(body),
        [AffineMapAttr(map) for map in maps],
        op.iterator_types,
        [x.type for x in op.results],
    )
    new.location = op.location
    for old, result in zip(op.results, new.results, strict=True):
        result.name_hint = old.name_hint
    return new


def has_bounds(maps: Iterable[AffineMap], loops: int) -> bool:
    """Whether the shapes of operands tell how long each loop is."""
    known = {
        x.position for map in maps for x in map.results if isinstance(x, AffineDimExpr)
    }
    return len(known) == loops


def simplified(op: linalg.GenericOp) -> linalg.GenericOp | None:
    """Return a generic that reads nothing twice, and no outputs if it is elementwise.

    None where it already is so.
    """
    block, maps, count = op.body.block, maps_of(op), len(op.inputs)
    pairs = list(zip(op.inputs, maps, strict=False))
    first: dict[tuple[SSAValue, AffineMap], int] = {}
    into: list[int | None] = []
    for at, pair in enumerate(pairs):
        used = bool(block.args[at].uses)
        if used:
            first.setdefault(pair, len(first))
        into.append(first.get(pair) if used else None)
    # Shapes of what is not read may be needed.
    if not has_bounds([*(m for _, m in first), *maps[count:]], maps[0].num_dims):
        return None
    moved: list[int] = []
    if is_parallel(op):
        for at, arg in enumerate(output_arguments(op)):
            if arg.uses:
                first.setdefault((op.outputs[at], maps[count + at]), len(first))
                moved.append(at)
    if len(first) == count and not moved:
        return None
    inputs = list(first)
    types = [_element(x) for x, _ in inputs]
    new = Block(arg_types=[*types, *(x.type for x in output_arguments(op))])
    args: list[SSAValue] = []
    for at, arg in enumerate(block.args[:count]):
        found = into[at]
        args.append(arg if found is None else new.args[found])
    for at in range(len(op.outputs)):
        key = (op.outputs[at], maps[count + at])
        args.append(new.args[first[key] if at in moved else len(first) + at])
    _clone(block, new, args)
    return rebuilt(op, inputs, new)


def _element(value: SSAValue) -> Attribute:
    return value.type.element_type if is_tensor(value.type) else value.type


def _clone(old: Block, new: Block, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Copy a body, with its end, to the end of another block; return what it yields."""
    values: dict[SSAValue, SSAValue] = dict(zip(old.args, args, strict=True))
    for op in old.ops:
        new.add_op(op.clone(values))
    assert new.last_op is not None, old
    return new.last_op.operands


def constant_of(value: SSAValue) -> SSAValue | arith.ConstantOp | None:
    """Return the number that every element of a tensor is, or None."""
    owner = value.owner
    if isinstance(owner, linalg.FillOp):
        return owner.inputs[0]
    if not isinstance(owner, arith.ConstantOp):
        return None
    attr = owner.value
    if not isinstance(attr, DenseIntOrFPElementsAttr) or not attr.is_splat():
        return None
    (first,) = attr.get_attrs()[:1]
    return arith.ConstantOp(first)


def fused(op: linalg.GenericOp, at: int) -> linalg.GenericOp | None:
    """Return a generic with one of its inputs computed in it; None if it cannot be."""
    value = op.inputs[at]
    if (number := constant_of(value)) is not None:
        return None if is_product(op) else _with_constant(op, at, number)
    producer = value.owner
    if not isinstance(producer, linalg.GenericOp) or not is_elementwise(producer):
        return None
    if not _may_move(producer, op, maps_of(op)[at]):
        return None
    made = _with_producer(op, at, producer)
    if made is None or not is_product(op):
        return made
    if (found := simplified(made)) is not None:
        made.erase()
        made = found
    if is_product(made):
        return made
    made.erase()
    return None


def _others(op: linalg.GenericOp, at: int) -> list[tuple[SSAValue, AffineMap]]:
    pairs = zip(op.inputs, maps_of(op), strict=False)
    return [pair for n, pair in enumerate(pairs) if n != at]


def _with_constant(
    op: linalg.GenericOp, at: int, number: SSAValue | arith.ConstantOp
) -> linalg.GenericOp | None:
    inputs, maps = _others(op, at), maps_of(op)
    if not has_bounds([m for n, m in enumerate(maps) if n != at], maps[0].num_dims):
        return None
    types = [x.type for n, x in enumerate(op.body.block.args) if n != at]
    new = Block(arg_types=types)
    if isinstance(number, arith.ConstantOp):
        new.add_op(number)
        number = number.result
    args: list[SSAValue] = list(new.args)
    args.insert(at, number)
    _clone(op.body.block, new, args)
    return rebuilt(op, inputs, new)


def _with_producer(
    op: linalg.GenericOp, at: int, producer: linalg.GenericOp
) -> linalg.GenericOp | None:
    which = producer.results.index(op.inputs[at])
    maps, theirs = maps_of(op), maps_of(producer)
    inverse = theirs[len(producer.inputs) + which].inverse_permutation()
    assert inverse is not None, producer
    through = inverse.compose(maps[at])
    pairs = zip(producer.inputs, theirs, strict=False)
    added = [(x, m.compose(through)) for x, m in pairs]
    inputs = [*added, *_others(op, at)]
    known = [*(m for _, m in inputs), *maps[len(op.inputs) :]]
    if not has_bounds(known, maps[at].num_dims):
        return None
    outputs = output_arguments(op)
    types = [*(_element(x) for x, _ in inputs), *(x.type for x in outputs)]
    new = Block(arg_types=types)
    unread: list[SSAValue] = list(output_arguments(producer))
    body = producer.body.block
    found = _clone(body, new, [*new.args[: len(added)], *unread])[which]
    assert new.last_op is not None, producer
    Rewriter.erase_op(new.last_op)
    for inside in list(new.ops):
        if isinstance(inside, linalg.IndexOp):
            _replace_index(inside, through)
    args: list[SSAValue] = list(new.args[len(added) :])
    args.insert(at, found)
    _clone(op.body.block, new, args)
    return rebuilt(op, inputs, new)


def _replace_index(op: linalg.IndexOp, through: AffineMap) -> None:
    expr = through.results[op.dim.value.data]
    if isinstance(expr, AffineDimExpr):
        new: Operation = linalg.IndexOp(expr.position)
    else:
        assert isinstance(expr, AffineConstantExpr), expr
        new = arith.ConstantOp.from_int_and_width(expr.value, op.result.type)
    Rewriter.replace_op(op, new)


def _may_move(
    producer: linalg.GenericOp, reader: linalg.GenericOp, map: AffineMap
) -> bool:
    """Whether it is no loss to compute an element where it is read."""
    body = operations(producer)
    if any(x.regions for x in body) or len(operations(reader)) > MOST_OPERATIONS:
        return False
    if is_product(reader) and not all(isinstance(x, CASTS) for x in body):
        return False
    simple = all(isinstance(x, AffineDimExpr | AffineConstantExpr) for x in map.results)
    if not simple and any(isinstance(x, linalg.IndexOp) for x in body):
        return False
    uses = [use for result in producer.results for use in result.uses]
    readers = {use.operation for use in uses}
    follows = any(
        isinstance(x.owner, linalg.GenericOp) and is_product(x.owner)
        for x in producer.inputs
    )
    if follows and (len(readers) > 1 or not is_parallel(reader)):
        return False  # it costs nothing in the kernel of the product
    if len(uses) > 1:
        if len(readers) > MOST_READERS or len(body) > MOST_OPERATIONS:
            return False
        for use in uses:
            other = use.operation
            if not isinstance(other, linalg.GenericOp) or is_product(other):
                return False
            if use.index >= len(other.inputs):
                return False
    repeats = len(map.used_dims()) < map.num_dims or not all(
        isinstance(x, AffineDimExpr) for x in map.results
    )
    costly = len(body) > MOST_REPEATED or any(
        isinstance(x, arith.DivfOp) or x.dialect_name() == "math" for x in body
    )
    return not (repeats and costly)


def erase_unused(block: Block) -> None:
    """Erase operations on tensors that nothing uses."""
    for op in reversed(list(block.ops)):
        known = linalg.GenericOp | linalg.FillOp | tensor.EmptyOp | arith.ConstantOp
        if isinstance(op, known) and op.results and not any(x.uses for x in op.results):
            Rewriter.erase_op(op)


def fuse(block: Block) -> None:
    """Fuse the generics of a block as far as they can be."""
    for op in list(block.ops):
        new: linalg.GenericOp | None = op if isinstance(op, linalg.GenericOp) else None
        while new is not None:
            op = new
            new = simplified(op)
            at = 0
            while new is None and at < len(op.inputs):
                new = fused(op, at)
                at += 1
            if new is not None:
                Rewriter.insert_op(new, InsertPoint.before(op))
                Rewriter.replace_op(op, [], new.results)
    erase_unused(block)


@dataclass(frozen=True)
class FuseLinalgPass(ModulePass):
    name = "fuse-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.ops:
            if isinstance(func, FuncOp) and len(func.body.blocks) == 1:
                fuse(func.body.block)
