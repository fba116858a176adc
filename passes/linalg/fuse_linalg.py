"""fuse-linalg: computes elementwise operations where their results are used.

Before:  functions of `linalg.generic` on tensors, as from `generalize-linalg`.
After:   generics that are elementwise, or fill with a constant, are fused into their
         consumers; dead operations are erased.  A generic reads each tensor once per
         indexing map, and elementwise ones do not read their outputs.
Fails:   never; other operations are unchanged.

Each element is computed as before and in the same order; a value with several consumers
may be recomputed in each.  Producers of matmul operands are fused only if they
transpose or extend.

    %h = linalg.generic ins(%x) outs(%e) { exp }
    %y = linalg.generic ins(%h, %b) outs(%e) { add }

becomes `linalg.generic ins(%x, %b) outs(%e) { exp, add }`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import compress

from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    TensorType,
    f32,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.utils.dynamic_index_list import get_dynamic_index_list
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects.linalg_forms import body, cast_to, product_body, scalar
from coopc.dialects.narrow import as_tensor, is_tensor, tensor_type
from coopc.dialects.shaped_arith import IndexCastUIOp
from coopc.ir.builder import INDEX, Builder, Size
from coopc.ir.facts import constant_number
from coopc.passes.linalg.match import CASTS, body_signs, loop_roles, window_of
from coopc.passes.linalg.rows import plain

MOST_READERS = 4
"""Generics that compute a value each for themselves, at most."""
MOST_OPERATIONS = 60
"""Operations of a body that is computed in several places, at most."""
MOST_REPEATED = 3
"""Operations of a body that is computed several times for one element, at most; what
counts elements is free."""


def maps_of(op: linalg.GenericOp) -> list[AffineMap]:
    return [attr.data for attr in op.indexing_maps]


def is_parallel(op: linalg.GenericOp) -> bool:
    return all(kind.data == IteratorType.PARALLEL for kind in op.iterator_types)


def is_product(op: linalg.GenericOp) -> bool:
    """Whether a generic multiplies matrices, as the engines do."""
    if len(op.inputs) != 2 or len(op.outputs) != 1:
        return False
    return loop_roles(maps_of(op)) is not None and body_signs(op) is not None


def is_contraction(op: linalg.GenericOp) -> bool:
    """Whether a matrix engine may do a generic: a product, or a convolution."""
    if is_product(op):
        return True
    sizes = len(op.inputs), len(op.outputs)
    is_window = sizes == (2, 1) and window_of(maps_of(op)) is not None
    return is_window and body_signs(op) is not None


def output_arguments(op: linalg.GenericOp) -> Sequence[BlockArgument]:
    return op.body.block.args[len(op.inputs) :]


def is_covered(op: linalg.GenericOp, at: int) -> bool:
    """Whether an operation writes each element of one of its outputs."""
    shape = as_tensor(op.outputs[at].type).get_shape()
    exprs = maps_of(op)[len(op.inputs) + at].results
    loops = {x for x in exprs if isinstance(x, AffineDimExpr)}
    units = sum(
        size == 1 and isinstance(expr, AffineConstantExpr)
        for size, expr in zip(shape, exprs, strict=True)
    )
    return len(loops) + units == len(exprs)


def keeps(op: linalg.GenericOp, at: int) -> bool:
    """Whether a result depends on what the output holds before."""
    return bool(output_arguments(op)[at].uses) or not is_covered(op, at)


def is_elementwise(op: linalg.GenericOp) -> bool:
    """Whether each element of the results is a function of elements of the inputs."""
    unread = not any(arg.uses for arg in output_arguments(op))
    maps = maps_of(op)[len(op.inputs) :]
    return is_parallel(op) and unread and all(map(_is_permutation, maps))


def _is_permutation(map: AffineMap) -> bool:
    dims = plain(map)
    return sorted(dims) == list(range(map.num_dims)) and len(dims) == len(map.results)


def operations(op: linalg.GenericOp) -> list[Operation]:
    """Return what a body computes with, without constants."""
    last = op.body.block.last_op
    return [
        x
        for x in op.body.block.ops
        if x is not last and not isinstance(x, arith.ConstantOp)
    ]


def remade(
    op: linalg.GenericOp,
    inputs: Sequence[SSAValue],
    outputs: Sequence[SSAValue],
    maps: Sequence[AffineMap] | None = None,
    kinds: Sequence[IteratorTypeAttr] | None = None,
    body: Region | None = None,
) -> linalg.GenericOp:
    """Return a generic as another one, on other tensors.

    It has the maps, kinds of loops and a copy of the body of that, unless others are
    given.
    """
    return linalg.GenericOp(
        inputs,
        outputs,
        op.body.clone() if body is None else body,
        op.indexing_maps if maps is None else [AffineMapAttr(x) for x in maps],
        op.iterator_types if kinds is None else kinds,
        [x.type for x in outputs],
    )


def rebuilt(
    op: linalg.GenericOp, inputs: Sequence[tuple[SSAValue, AffineMap]], body: Block
) -> linalg.GenericOp:
    """Return a generic with the loops and outputs of another one."""
    kept = maps_of(op)[len(op.inputs) :]
    maps = [*(map for _, map in inputs), *kept]
    new = remade(op, [x for x, _ in inputs], op.outputs, maps, body=Region(body))
    new.location = op.location
    for old, result in zip(op.results, new.results, strict=True):
        result.name_hint = old.name_hint
    return new


def generic(
    inputs: Sequence[SSAValue],
    output: SSAValue,
    maps: Sequence[AffineMap],
    compute: Callable[..., SSAValue | Operation],
    reduced: Sequence[int] = (),
) -> linalg.GenericOp:
    """Return a generic operation of one output.

    Args:
        inputs: tensors or numbers.
        output: a tensor or memref, whose elements are the last argument of `compute`.
        maps: of the inputs and the output.
        compute: makes an element from elements.
        reduced: the loops that are reductions.
    """
    kinds = [IteratorTypeAttr.parallel(), IteratorTypeAttr.reduction()]
    return linalg.GenericOp(
        inputs,
        [output],
        body((*inputs, output), compute),
        ArrayAttr(AffineMapAttr(map) for map in maps),
        [kinds[loop in reduced] for loop in range(maps[-1].num_dims)],
        [output.type] if is_tensor(output.type) else [],
    )


def elementwise(
    inputs: Sequence[SSAValue],
    output: SSAValue,
    compute: Callable[..., SSAValue | Operation],
) -> linalg.GenericOp:
    """Return a generic operation of each element of tensors, or memrefs, of a shape."""
    identity = AffineMap.identity(len(as_tensor(output.type).shape))
    maps = [identity] * (len(inputs) + 1)

    def of_inputs(*elements: SSAValue) -> SSAValue | Operation:
        return compute(*elements[: len(inputs)])

    return generic(inputs, output, maps, of_inputs)


def has_bounds(maps: Iterable[AffineMap], loops: int) -> bool:
    """Whether the shapes of operands tell how long each loop is."""
    return len({x for map in maps for x in plain(map)}) == loops


def simplified(op: linalg.GenericOp) -> linalg.GenericOp | None:
    """Return a generic that reads nothing twice, and no outputs if it is elementwise.

    None where it already is so.
    """
    block, maps, count = op.body.block, maps_of(op), len(op.inputs)
    # What outputs hold is an input of an elementwise one.
    movable = len(maps) if is_parallel(op) else count
    pairs = list(zip(op.operands, maps, strict=True))
    read = [bool(arg.uses) and arg.index < movable for arg in block.args]
    inputs = list(dict.fromkeys(compress(pairs, read)))
    # Shapes of what is not read may be needed.
    known = [*(map for _, map in inputs), *maps[count:]]
    if not has_bounds(known, maps[0].num_dims):
        return None
    if len(inputs) == count and not any(read[count:]):
        return None
    types = [_element(x) for x, _ in inputs]
    new = Block(arg_types=[*types, *(x.type for x in output_arguments(op))])
    unread = [*block.args[:count], *new.args[len(inputs) :]]
    args = [
        new.args[inputs.index(pair)] if is_read else other
        for pair, is_read, other in zip(pairs, read, unread, strict=True)
    ]
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


def number_of(value: SSAValue) -> float | None:
    """Return the number that every element of a tensor is, if it is known."""
    found = constant_of(value)
    op = found.owner if isinstance(found, SSAValue) else found
    attr = op.value if isinstance(op, arith.ConstantOp) else None
    return attr.value.data if isinstance(attr, FloatAttr | IntegerAttr) else None


def fused(op: linalg.GenericOp, at: int) -> linalg.GenericOp | None:
    """Return a generic with one of its inputs computed in it; None if it cannot be."""
    value = op.inputs[at]
    if (number := constant_of(value)) is not None:
        return None if is_contraction(op) else _with_constant(op, at, number)
    producer = value.owner
    if not isinstance(producer, linalg.GenericOp) or not is_elementwise(producer):
        return None
    if not _may_move(producer, op, maps_of(op)[at]):
        return None
    made = _with_producer(op, at, producer)
    if made is None or not is_contraction(op):
        return made
    if (found := simplified(made)) is not None:
        made.erase()
        made = found
    if is_contraction(made):
        return made
    made.erase()
    return None


def _with_constant(
    op: linalg.GenericOp, at: int, number: SSAValue | arith.ConstantOp
) -> linalg.GenericOp | None:
    def compute(body: Block, _: Sequence[SSAValue]) -> SSAValue:
        if isinstance(number, SSAValue):
            return number
        body.add_op(number)
        return number.result

    return _computing(op, at, (), compute)


def _with_producer(
    op: linalg.GenericOp, at: int, producer: linalg.GenericOp
) -> linalg.GenericOp | None:
    which = producer.results.index(op.inputs[at])
    theirs = maps_of(producer)
    inverse = theirs[len(producer.inputs) + which].inverse_permutation()
    assert inverse is not None, producer
    through = inverse.compose(maps_of(op)[at])
    read = zip(producer.inputs, theirs, strict=False)

    def compute(body: Block, args: Sequence[SSAValue]) -> SSAValue:
        unread = output_arguments(producer)
        found = _clone(producer.body.block, body, [*args, *unread])[which]
        assert body.last_op is not None, producer
        Rewriter.erase_op(body.last_op)
        for inside in list(body.ops):
            if isinstance(inside, linalg.IndexOp):
                _replace_index(inside, through)
        return found

    return _computing(op, at, [(x, m.compose(through)) for x, m in read], compute)


def _computing(
    op: linalg.GenericOp,
    at: int,
    added: Sequence[tuple[SSAValue, AffineMap]],
    compute: Callable[[Block, Sequence[SSAValue]], SSAValue],
) -> linalg.GenericOp | None:
    """Return a generic that computes one of its inputs; None if it has no bounds then.

    Args:
        op: the generic.
        at: which of the inputs.
        added: what it reads in place of that.
        compute: writes the input's element into a body, from those that are added.
    """
    maps, pairs = maps_of(op), list(zip(op.inputs, maps_of(op), strict=False))
    inputs = [*pairs[:at], *added, *pairs[at + 1 :]]  # factors keep their order
    known = [*(m for _, m in inputs), *maps[len(op.inputs) :]]
    if not has_bounds(known, maps[0].num_dims):
        return None
    types = [*(_element(x) for x, _ in inputs), *(x.type for x in output_arguments(op))]
    new = Block(arg_types=types)
    args: list[SSAValue] = list(new.args)
    end = at + len(added)
    args[at:end] = [compute(new, args[at:end])]
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
    if is_contraction(reader) and not all(isinstance(x, CASTS) for x in body):
        return False
    simple = all(isinstance(x, AffineDimExpr | AffineConstantExpr) for x in map.results)
    if not simple and any(isinstance(x, linalg.IndexOp) for x in body):
        return False
    uses = [use for result in producer.results for use in result.uses]
    readers = {use.operation for use in uses}
    follows = any(
        isinstance(x.owner, linalg.GenericOp)
        and is_contraction(x.owner)
        and all(use.operation is producer for use in x.uses)
        for x in producer.inputs
    )
    if follows and (len(readers) > 1 or not is_parallel(reader)):
        return False  # it costs nothing in the kernel of the product
    if len(uses) > 1:
        if len(readers) > MOST_READERS or len(body) > MOST_OPERATIONS:
            return False
        for use in uses:
            other = use.operation
            if not isinstance(other, linalg.GenericOp) or is_contraction(other):
                return False
            if use.index >= len(other.inputs):
                return False
    repeats = len(map.used_dims()) < map.num_dims or not all(
        isinstance(x, AffineDimExpr) for x in map.results
    )
    counters = linalg.IndexOp | arith.IndexCastOp | IndexCastUIOp
    counted = [x for x in body if not isinstance(x, counters)]
    costly = len(counted) > MOST_REPEATED or any(
        isinstance(x, arith.DivfOp) or x.dialect_name() == "math" for x in body
    )
    return not (repeats and costly)


def sizes(b: Builder, value: SSAValue) -> list[SSAValue]:
    """Return the dynamic sizes of a tensor, from those that it is computed from."""
    op = value.owner
    if isinstance(op, linalg.GenericOp | linalg.FillOp):
        at = [x is value for x in op.results].index(True)
        return sizes(b, op.outputs[at])
    if isinstance(op, tensor.EmptyOp):
        return list(op.dynamic_sizes)
    if isinstance(op, tensor.ExpandShapeOp):
        return list(op.dynamic_output_shape)
    shape = tensor_type(value).get_shape()
    return [
        b.pure(tensor.DimOp, value, b.constant(INDEX, at))
        for at, size in enumerate(shape)
        if size == DYNAMIC_INDEX
    ]


def shape(b: Builder, value: SSAValue) -> list[Size]:
    """Return the shape of a tensor: numbers, and values that are computed here."""
    known = tensor_type(value).get_shape()
    return get_dynamic_index_list(known, sizes(b, value), DYNAMIC_INDEX)


def fold_size(op: tensor.DimOp) -> None:
    """Replace the size of what is computed by that of what it is computed from."""
    at, type = constant_number(op.index), op.source.type
    if at is None or not is_tensor(type) or isinstance(op.source.owner, Block):
        return
    b, known = Builder.at(op), type.get_shape()[int(at)]
    found = shape(b, op.source)[int(at)] if known == DYNAMIC_INDEX else known
    Rewriter.replace_op(op, [], [b.value(found)])


def empty(b: Builder, like: SSAValue, element: Attribute) -> SSAValue:
    """Return a tensor of the shape of another one, which holds anything."""
    type = TensorType(element, tensor_type(like).get_shape())
    return b.pure(tensor.EmptyOp, tuple(sizes(b, like)), type)


def filled(
    b: Builder, value: SSAValue, type: TensorType, sizes: Sequence[SSAValue] = ()
) -> SSAValue:
    """Return a tensor of one number; `sizes` are its dynamic ones."""
    empty = b.effect(tensor.EmptyOp(sizes, type)).results[0]
    return b.effect(linalg.FillOp([value], [empty], [type])).results[0]


def forget_outputs(op: linalg.GenericOp) -> None:
    """Let outputs of which nothing is read be empty tensors."""
    b = Builder.at(op)
    for at, value in enumerate(op.outputs):
        if not keeps(op, at) and not isinstance(value.owner, tensor.EmptyOp):
            element = tensor_type(value).element_type
            op.operands[len(op.inputs) + at] = empty(b, value, element)


def is_sum(op: linalg.GenericOp) -> bool:
    """Whether a generic adds to its one output, whose elements nothing else uses."""
    last, outputs = op.body.block.last_op, output_arguments(op)
    if len(outputs) != 1 or is_parallel(op) or last is None:
        return False
    (out,), total = outputs, last.operands[0].owner
    used = [use.operation for use in out.uses]
    return isinstance(total, arith.AddfOp | arith.AddiOp) and used == [total]


def split_sums(op: linalg.GenericOp) -> None:
    """Let sums begin with zero, and those of products be of f32 if they are narrower.

    What they began with is added to them, and they are rounded, once, by an operation
    behind: linalg says no order of sums.
    """
    if not is_sum(op) or not is_covered(op, 0):
        return
    (init,), (result,) = op.outputs, op.results
    element = tensor_type(result).element_type
    wide = isinstance(element, Float16Type | BFloat16Type) and is_contraction(op)
    is_zero = number_of(init) == 0
    if is_zero and not wide:
        return
    b = Builder.at(op)
    sums = f32 if wide else element
    start = empty(b, init, sums)
    zeros = [b.constant(sums, 0)], [start], [start.type]
    begin = b.effect(linalg.FillOp(*zeros)).results[0]
    region = product_body(op.inputs, [begin], None) if wide else None
    total = b.effect(remade(op, op.inputs, [begin], body=region)).results[0]
    total.name_hint = result.name_hint

    def rounded(found: SSAValue, before: SSAValue) -> SSAValue:
        if not is_zero:
            found = scalar("add", found, cast_to(before, sums)).results[0]
        return cast_to(found, element)

    last = elementwise([total, init], empty(b, init, element), rounded)
    Rewriter.replace_op(op, [], b.effect(last).results)


def erase_dead(block: Block) -> None:
    """Erase operations whose results nothing uses; none may have an effect."""
    for op in reversed([*block.ops]):
        if op.results and all(x.first_use is None for x in op.results):
            Rewriter.erase_op(op)


def erase_unused(ops: Sequence[Operation]) -> None:
    """Erase operations on tensors that nothing uses."""
    for op in reversed(ops):
        known = linalg.GenericOp | linalg.FillOp | tensor.EmptyOp | arith.ConstantOp
        known = known | tensor.ExpandShapeOp | tensor.CollapseShapeOp
        if isinstance(op, known) and op.results and not any(x.uses for x in op.results):
            Rewriter.erase_op(op)


def fuse(block: Block) -> None:
    """Fuse the generics of a block as far as they can be."""
    for op in list(block.ops):
        if isinstance(op, tensor.DimOp):
            fold_size(op)
        elif isinstance(op, linalg.GenericOp) and op.results:
            split_sums(op)
    erase_unused(list(block.ops))
    for op in list(block.ops):
        new: linalg.GenericOp | None = None
        if isinstance(op, linalg.GenericOp) and op.results:
            new = op
        while new is not None:
            op = new
            if (new := simplified(op)) is None:
                forget_outputs(op)
            at = 0
            while new is None and at < len(op.inputs):
                new = fused(op, at)
                at += 1
            if new is not None:
                Rewriter.insert_op(new, InsertPoint.before(op))
                owners = dict.fromkeys(x.owner for x in op.inputs)
                producers = [x for x in owners if isinstance(x, linalg.GenericOp)]
                Rewriter.replace_op(op, [], new.results)
                erase_unused(producers)  # they would seem to read a product, too
    erase_unused(list(block.ops))


@dataclass(frozen=True)
class FuseLinalgPass(ModulePass):
    name = "fuse-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.ops:
            if isinstance(func, FuncOp) and len(func.body.blocks) == 1:
                fuse(func.body.block)
