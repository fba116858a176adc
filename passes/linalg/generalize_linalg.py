"""generalize-linalg: rewrites the operations of linalg functions to `linalg.generic`.

Before:  linalg functions on tensors, of one block, without loops and calls.
After:   only `linalg.generic`, `linalg.fill`, tensor slices, reshapes and casts, and
         scalar arithmetic. Elements of tensors that are used as numbers are read in the
         bodies that use them; returned numbers are tensors of rank 0. Dead operations
         are erased, and `cf.assert`, with a remark, since kernels cannot fail.
Fails:   for any other operation, naming it and an alternative; for a number that more
         than 256 operations compute from elements. The module is then unchanged.

    tensor.extract_slice %x[%i]      with %i of an element of a tensor, or of an i32: a
                                     generic that reads each element of the slice
    linalg.softmax dimension(1)      a maximum of each row, exp(x - it), their sum, and
                                     the quotients: four generics and two fills
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TypeAlias

from xdsl.builder import ImplicitBuilder
from xdsl.context import Context
from xdsl.dialects import arith, bufferization, cf, math, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    ModuleOp,
    TensorType,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg import ops
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.utils.dynamic_index_list import (
    get_dynamic_index_list,
    split_dynamic_index_list,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.linalg_forms import SoftmaxOp, cast_to, scalar
from coopc.dialects.narrow import (
    as_tensor,
    is_integer,
    is_tensor,
    kept_dimensions,
)
from coopc.dialects.tensor_forms import GenerateOp
from coopc.ir.builder import Builder, Size
from coopc.ir.facts import constant_number
from coopc.ir.transaction import Refused
from coopc.passes.linalg.collapse_linalg import reassociated
from coopc.passes.linalg.fuse_linalg import (
    elementwise,
    empty,
    erase_dead,
    generic,
    maps_of,
    rebuilt,
    shape,
)
from coopc.passes.linalg.whole_functions import (
    cast,
    convert_whole_functions,
    drop_assertion,
    insert,
    replace,
)

NORMAL = frozenset(
    (
        "bufferization.materialize_in_destination",
        "bufferization.to_tensor",
        "func.return",
        "linalg.fill",
        "linalg.generic",
        "tensor.cast",
        "tensor.collapse_shape",
        "tensor.dim",
        "tensor.empty",
        "tensor.expand_shape",
        "tensor.extract",
        "tensor.extract_slice",
        "tensor.insert_slice",
    )
)
"""What a function of linalg is made of, beside arithmetic on numbers."""

MOST_COPIED = 256
"""Operations that compute numbers from elements: each body has copies of its own."""

ARITHMETIC = ("arith", "math", "ub")

ADVICE = {
    "func": "run inline-calls before",
    "memref": "run lift-memrefs-to-tensors before",
    "scf": "run unroll-loops before",
}
"""What could be done, by dialect."""


def softmax_region(type: TensorType, dimension: int) -> Region:
    """Return what a softmax of a tensor computes: the argument's, which it yields."""
    element, rank = type.get_element_type(), len(type.shape)
    assert isinstance(element, AnyFloat), type
    block = Block(arg_types=[type])
    whole = AffineMap.identity(rank)
    kept = [loop for loop in range(rank) if loop != dimension]
    row = AffineMap(rank, 0, tuple(whole.results[loop] for loop in kept))
    of_rows = TensorType(element, [type.get_shape()[loop] for loop in kept])
    with ImplicitBuilder(block) as (x,):
        sizes = {
            loop: tensor.DimOp(x, _index(loop)).result
            for loop, size in enumerate(type.get_shape())
            if size == DYNAMIC_INDEX
        }
        of_kept = [sizes[loop] for loop in kept if loop in sizes]

        def empty(dynamic: Sequence[SSAValue], type: TensorType) -> SSAValue:
            return tensor.EmptyOp(dynamic, type).tensor

        def rows(start: float, name: str, of: SSAValue) -> SSAValue:
            number = arith.ConstantOp(FloatAttr(start, element)).result
            target = empty(of_kept, of_rows)
            filled = ops.FillOp([number], [target], [of_rows]).results[0]

            def reduce(x: SSAValue, total: SSAValue) -> Operation:
                return scalar(name, total, x)

            maps = [whole, row]
            return generic([of], filled, maps, reduce, [dimension]).results[0]

        def by_row(
            of: SSAValue, value: SSAValue, compute: Callable[..., Operation]
        ) -> SSAValue:
            target = empty([*sizes.values()], type)
            maps = [whole, row, whole]
            return generic([of, value], target, maps, compute).results[0]

        def power(x: SSAValue, most: SSAValue, _: SSAValue) -> Operation:
            return math.ExpOp(arith.SubfOp(x, most).result)

        def quotient(x: SSAValue, total: SSAValue, _: SSAValue) -> Operation:
            return arith.DivfOp(x, total)

        most = rows(float("-inf"), "max", x)
        powers = by_row(x, most, power)
        ops.YieldOp(by_row(powers, rows(0.0, "add", powers), quotient))
    return Region(block)


def _index(number: int) -> SSAValue:
    return arith.ConstantOp.from_int_and_width(number, IndexType()).result


def generalized(op: LinalgStructuredOperation) -> ops.GenericOp:
    """Return an operation with its maps and its body; it keeps no body."""
    return ops.GenericOp(
        op.inputs,
        op.outputs,
        op.detach_region(op.body),
        op.get_indexing_maps(),
        op.get_iterator_types(),
        op.result_types,
    )


def _on_elements(op: Operation) -> None:
    """Replace arithmetic on tensors by a generic operation."""
    type = as_tensor(op.results[0].type)
    shaped = next(x for x in op.operands if is_tensor(x.type))

    def compute(*elements: SSAValue) -> Operation:
        given = iter(elements)
        operands = [next(given) if is_tensor(x.type) else _number(x) for x in found]
        return type_of.create(
            operands=operands,
            result_types=[type.get_element_type()],
            properties=op.properties,
            attributes=op.attributes,
        )

    type_of, found = op.__class__, op.operands
    output = empty(Builder.at(op), shaped, type.get_element_type())
    replaced = [x for x in found if is_tensor(x.type)]
    if len(replaced) < len(found) and not type.has_static_shape():
        raise Refused(
            op, f"expected static sizes, as {op.name} of one condition has, got {type}"
        )
    replace(op, insert(elementwise(replaced, output, compute), op))


def _folded(numbers: Sequence[Size]) -> list[Size]:
    """Replace constant values by their numbers."""
    known = [x if isinstance(x, int) else constant_number(x) for x in numbers]
    return [x if y is None else int(y) for x, y in zip(numbers, known, strict=True)]


def _pad(op: tensor.PadOp) -> None:
    """Replace a pad by a fill around a slice."""
    last = op.region.block.last_op
    assert last is not None, op
    value, b = last.operands[0], Builder.at(op)
    if value.owner is op.region.block or _is_inside(value, op):
        if not isinstance(value.owner, arith.ConstantOp):
            raise Refused(
                op, "expected tensor.pad with one number: write linalg.generic"
            )
        value = b.effect(value.owner.clone()).results[0]
    low, high = (
        _folded(get_dynamic_index_list(*edge, DYNAMIC_INDEX))
        for edge in (
            (op.static_low.get_values(), op.low),
            (op.static_high.get_values(), op.high),
        )
    )
    source, type = _cropped(b, op, low, high), op.result.type
    inside = shape(b, source)
    low, high = (
        [max(x, 0) if isinstance(x, int) else x for x in edge] for edge in (low, high)
    )
    known = zip(type.get_shape(), low, inside, high, strict=True)
    total = [b.total(*parts) for size, *parts in known if size == DYNAMIC_INDEX]
    target = b.effect(tensor.EmptyOp([b.value(x) for x in total], type)).results[0]
    filled = b.effect(ops.FillOp([value], [target], [type])).results[0]
    replace(op, [_inserted(b, source, filled, low, inside)])


def _cropped(
    b: Builder, op: tensor.PadOp, low: Sequence[Size], high: Sequence[Size]
) -> SSAValue:
    """Return what is padded, without what negative numbers cut off.

    Raises:
        Refused: it is not known to have that many elements.
    """
    given = as_tensor(op.source.type)
    offsets, sizes, known = [0] * len(low), shape(b, op.source), given.get_shape()
    for at, edges in enumerate(zip(low, high, strict=True)):
        first, last = (max(-x, 0) if isinstance(x, int) else 0 for x in edges)
        if not first and not last:
            continue
        if known[at] < first + last:
            raise Refused(
                op,
                f"expected {first + last} known elements along dimension {at}, which "
                f"negative padding cuts off, got {given}",
            )
        offsets[at], sizes[at] = first, known[at] - first - last
    steps, type = (
        [1] * len(sizes),
        tensor.ExtractSliceOp.infer_result_type(given, sizes),
    )
    if type == given:
        return op.source
    part = tensor.ExtractSliceOp(op.source, offsets, sizes, steps, type)
    return b.effect(part).results[0]


def _inserted(
    b: Builder,
    part: SSAValue,
    whole: SSAValue,
    offsets: Sequence[Size],
    sizes: Sequence[Size],
) -> SSAValue:
    (static_offsets, offsets), (static_sizes, sizes) = (
        split_dynamic_index_list(x, DYNAMIC_INDEX) for x in (offsets, sizes)
    )
    steps = [1] * len(static_sizes)
    new = tensor.InsertSliceOp.get(
        part, whole, static_sizes, static_offsets, steps, offsets, sizes
    )
    return b.effect(new).results[0]


def _is_inside(value: SSAValue, op: Operation) -> bool:
    owner = value.owner
    return isinstance(owner, Operation) and owner.parent_op() is op


def _concat(op: tensor.ConcatOp) -> None:
    """Replace a concatenation by slices set one after the other."""
    type, at, b = op.result.type, op.dim.value.data, Builder.at(op)
    shapes = [shape(b, part) for part in op.inputs]
    total: list[Size] = [*shapes[0]]
    total[at] = b.total(*(x[at] for x in shapes))
    known = zip(type.get_shape(), total, strict=True)
    dynamic = [b.value(x) for size, x in known if size == DYNAMIC_INDEX]
    value = b.effect(tensor.EmptyOp(dynamic, type)).results[0]
    offsets: list[Size] = [0] * len(total)
    for part, sizes in zip(op.inputs, shapes, strict=True):
        value = _inserted(b, part, value, offsets, sizes)
        offsets[at] = b.total(offsets[at], sizes[at])
    replace(op, [value])


def generalize(op: Operation) -> None:
    """Make an operation a generic one, or another one of `NORMAL`.

    Raises:
        Refused: it is none of those that are known.
    """
    if isinstance(op, ops.CopyOp | SoftmaxOp) and not op.results:
        raise Refused(op, f"expected tensors: {ADVICE['memref']}")
    if (rule := RULES.get(type(op))) is not None:
        rule(op)
    elif op.name in NORMAL:
        return
    elif isinstance(op, LinalgStructuredOperation):
        replace(op, insert(generalized(op), op))
    elif op.dialect_name() in ARITHMETIC:
        if any(is_tensor(x.type) for x in op.operands):
            _on_elements(op)
    else:
        advice = ADVICE.get(op.dialect_name(), "write it as linalg.generic")
        raise Refused(
            op, f"{op.name} is not supported in a function of linalg: {advice}"
        )


def _copy(op: ops.CopyOp) -> None:
    same = op.inputs[0].type == op.outputs[0].type
    replace(op, op.inputs if same else insert(generalized(op), op))


def _softmax(op: SoftmaxOp) -> None:
    """Compute a softmax in the type that has each size that either type says."""
    given, target = as_tensor(op.input.type), as_tensor(op.output.type)
    if given.element_type != target.element_type:
        raise Refused(op, f"expected a softmax of one type, got {given} and {target}")
    sizes = zip(given.get_shape(), target.get_shape(), strict=True)
    shape = [y if x == DYNAMIC_INDEX else x for x, y in sizes]
    type = TensorType(given.element_type, shape)
    region = softmax_region(type, op.dimension.value.data)
    (found,) = _inlined(region, [cast(op.input, type, op)], op)
    replace(op, [cast(found, target, op)])


def _splat(op: tensor.SplatOp) -> None:
    (target,) = insert(tensor.EmptyOp(op.dynamicSizes, op.result.type), op)
    replace(op, insert(ops.FillOp([op.input], [target], [target.type]), op))


def _from_elements(op: tensor.FromElementsOp) -> None:
    """Choose each element of a tensor by its position."""
    type, elements = op.result.type, op.elements
    count = prod(type.get_shape())
    if count != len(elements):
        raise Refused(op, f"expected {count} elements of {type}, got {len(elements)}")
    (target,) = insert(tensor.EmptyOp([], type), op)

    def compute() -> SSAValue:
        position = _index(0)
        for loop, size in enumerate(type.get_shape()):
            position = arith.MuliOp(position, _index(size)).result
            position = arith.AddiOp(position, ops.IndexOp(loop).result).result
        *first, value = map(_number, elements)
        for n, element in enumerate(first):
            here = arith.CmpiOp(position, _index(n), "eq").result
            value = arith.SelectOp(here, element, value).result
        return value

    replace(op, insert(elementwise([], target, compute), op) if count else [target])


def _generate(op: GenerateOp) -> None:
    """Compute each element of a tensor from the loops of a generic operation."""
    (target,) = insert(tensor.EmptyOp(op.sizes, op.result.type), op)
    region = op.detach_region(op.body)
    block = region.block
    for arg in reversed(block.args):
        index = ops.IndexOp(arg.index)
        Rewriter.insert_op(index, InsertPoint.at_start(block))
        arg.replace_all_uses_with(index.result)
        block.erase_arg(arg)
    block.insert_arg(op.result.type.element_type, 0)
    last = block.last_op
    assert last is not None, op
    Rewriter.replace_op(last, ops.YieldOp(*last.operands))
    maps = [AffineMapAttr(AffineMap.identity(op.result.type.get_num_dims()))]
    kinds = [IteratorTypeAttr.parallel()] * op.result.type.get_num_dims()
    types = [op.result.type]
    new = ops.GenericOp([], [target], region, ArrayAttr(maps), kinds, types)
    replace(op, insert(new, op))


def _reshape(op: tensor.ReshapeOp) -> None:
    """Make one dimension of all, and of that those of the result.

    Raises:
        Refused: nothing tells a dynamic size.
    """
    type, flat, listed = op.result.type, op.source, op.shape.owner
    sizes: list[SSAValue] = []
    if not type.has_static_shape():
        if not isinstance(listed, tensor.FromElementsOp):
            raise Refused(op, "expected sizes of tensor.from_elements, or static ones")
        known = zip(type.get_shape(), listed.elements, strict=True)
        sizes = [_as_index(x, op) for size, x in known if size == DYNAMIC_INDEX]
    for each, dynamic in ((_row(flat.type), []), (_row(type), []), (type, sizes)):
        flat = _regrouped(flat, each, dynamic, op)
    replace(op, [flat])
    if isinstance(listed, tensor.FromElementsOp) and not listed.result.uses:
        Rewriter.erase_op(listed)  # linalg has no tensors of indices


def _row(type: Attribute) -> TensorType:
    """Return a type of one dimension, for the elements of a tensor."""
    type = as_tensor(type)
    is_known = type.has_static_shape()
    return TensorType(
        type.element_type, [type.element_count() if is_known else DYNAMIC_INDEX]
    )


def _regrouped(
    value: SSAValue, type: TensorType, sizes: Sequence[SSAValue], op: Operation
) -> SSAValue:
    """Return a tensor with one dimension in place of all, or all in place of one."""
    before, after = as_tensor(value.type).get_num_dims(), type.get_num_dims()
    if before == after:
        return cast(value, type, op)
    # A tensor of rank 0 has no groups.
    groups = reassociated([tuple(range(max(before, after)))] * min(before, after))
    if before < after:
        new = tensor.ExpandShapeOp(value, sizes, groups, type.get_shape(), type)
    else:
        new = tensor.CollapseShapeOp.build(
            operands=[value], result_types=[type], properties={"reassociation": groups}
        )
    return insert(new, op)[0]


def _as_index(number: SSAValue, op: Operation) -> SSAValue:
    if isinstance(number.type, IndexType):
        return number
    return insert(arith.IndexCastOp(number, IndexType()), op)[0]


def _insert(op: tensor.InsertOp) -> None:
    """Replace one element of a tensor."""

    def compute(old: SSAValue) -> SSAValue:
        here = arith.ConstantOp.from_int_and_width(1, 1).result
        for loop, at in enumerate(op.indices):
            is_at = arith.CmpiOp(ops.IndexOp(loop).result, _number(at), "eq").result
            here = arith.AndIOp(here, is_at).result
        return arith.SelectOp(here, _number(op.scalar), old).result

    output = empty(Builder.at(op), op.dest, as_tensor(op.dest.type).get_element_type())
    replace(op, insert(elementwise([op.dest], output, compute), op))


def _alloc_tensor(op: bufferization.AllocTensorOp) -> None:
    made = op.copy
    if made is None:
        (made,) = insert(tensor.EmptyOp(op.dynamic_sizes, op.tensor.type), op)
    replace(op, [made])


def _materialize(op: bufferization.MaterializeInDestinationOp) -> None:
    if op.results:  # in the place of a tensor, which says nothing of its value
        replace(op, [op.source])


def _inlined(
    region: Region, operands: Sequence[SSAValue], op: Operation
) -> Sequence[SSAValue]:
    """Put a region of one block in front of an operation; return what it yields."""
    block = region.detach_block(0)
    for each in block.walk():
        each.location = op.location
    last = block.last_op
    assert last is not None, op
    Rewriter.inline_block(block, InsertPoint.before(op), operands)
    values = [*last.operands]
    Rewriter.erase_op(last)
    return values


def _fill(op: ops.FillOp) -> None:
    """Fill with a number of the type of the elements."""
    value, element = op.inputs[0], as_tensor(op.outputs[0].type).get_element_type()
    if value.type != element:
        block = Block(arg_types=[value.type])
        with ImplicitBuilder(block) as (number,):
            ops.YieldOp(cast_to(number, element))
        (value,) = _inlined(Region(block), [value], op)
        replace(op, insert(ops.FillOp([value], op.outputs, op.result_types), op))


Slice: TypeAlias = tensor.ExtractSliceOp | tensor.InsertSliceOp


def _slice(op: Slice) -> None:
    """Make constant offsets static; where the host knows one not, make a generic.

    It knows neither elements of tensors nor integers that are no index, so a kernel
    finds the slice.
    """
    static, dynamic = op.static_offsets.get_values(), op.offsets
    found = get_dynamic_index_list(static, dynamic, DYNAMIC_INDEX)
    folded = _folded(found)
    if any(isinstance(x, SSAValue) and not _is_of_host(x) for x in folded):
        extracts = isinstance(op, tensor.ExtractSliceOp)
        new = _extracted(op, folded) if extracts else _replaced_part(op, folded)
        replace(op, insert(new, op))
    elif folded != found:
        static, dynamic = split_dynamic_index_list(folded, DYNAMIC_INDEX)
        first = op.operands[: 1 if isinstance(op, tensor.ExtractSliceOp) else 2]
        new = type(op).build(
            operands=(*first, dynamic, op.sizes, op.strides),
            result_types=(op.result.type,),
            properties={
                "static_offsets": DenseArrayBase.from_list(i64, static),
                "static_sizes": op.static_sizes,
                "static_strides": op.static_strides,
            },
        )
        new.verify_()  # constants may be outside
        replace(op, insert(new, op))


def _origins(number: SSAValue) -> Iterator[SSAValue]:
    """Yield what a number is computed from: elements of tensors, and arguments."""
    seen: set[SSAValue] = set()
    left = [number]
    while left:
        value = left.pop()
        op = value.owner
        if isinstance(op, tensor.ExtractOp | Block):
            yield value
        elif value not in seen and not is_tensor(value.type):
            seen.add(value)
            left += op.operands


def _is_read(number: SSAValue) -> bool:
    """Whether a number is computed from elements of tensors, which a host cannot."""
    return any(isinstance(x.owner, tensor.ExtractOp) for x in _origins(number))


def _is_of_host(number: SSAValue) -> bool:
    """Whether a host may compute a number: it is given indices, but no elements."""
    of_kernels = (
        x
        for x in _origins(number)
        if isinstance(x.owner, tensor.ExtractOp) or is_integer(x.type)
    )
    return not any(of_kernels)


def _sizes_and_steps(op: Slice) -> tuple[list[Size], list[Size]]:
    sizes = get_dynamic_index_list(
        op.static_sizes.get_values(), op.sizes, DYNAMIC_INDEX
    )
    steps = op.static_strides.get_values()
    return sizes, get_dynamic_index_list(steps, op.strides, DYNAMIC_INDEX)


def _extracted(op: tensor.ExtractSliceOp, offsets: Sequence[Size]) -> ops.GenericOp:
    """Return a generic operation that reads each element of a slice."""
    sizes, steps = _sizes_and_steps(op)
    kept = kept_dimensions(sizes, op.result.type.get_shape())

    def compute(_: SSAValue) -> Operation:
        at = [_number(x) for x in offsets]
        for loop, n in enumerate(kept):
            step = arith.MuliOp(ops.IndexOp(loop).result, _number(steps[n]))
            at[n] = arith.AddiOp(at[n], step).result
        return tensor.ExtractOp(op.source, at, op.result.type.element_type)

    dynamic = [x for n in kept if isinstance(x := sizes[n], SSAValue)]
    (target,) = insert(tensor.EmptyOp(dynamic, op.result.type), op)
    return generic([], target, [AffineMap.identity(len(kept))], compute)


def _replaced_part(op: tensor.InsertSliceOp, offsets: Sequence[Size]) -> ops.GenericOp:
    """Return a generic operation that chooses each element from a tensor or its part.

    Raises:
        Refused: the part may be empty, or has gaps.
    """
    sizes, steps = _sizes_and_steps(op)
    if any(x != 1 for x in steps) or not all(isinstance(x, int) and x for x in sizes):
        raise Refused(
            op,
            "expected constant sizes and steps of 1 at an offset that the host does "
            "not know",
        )
    whole = op.result.type.get_shape()
    kept = kept_dimensions(sizes, as_tensor(op.source.type).get_shape())

    def compute(old: SSAValue) -> Operation:
        at: list[SSAValue] = []
        inside = arith.ConstantOp.from_int_and_width(1, 1).result
        for n, (offset, size) in enumerate(zip(offsets, sizes, strict=True)):
            index = ops.IndexOp(n).result
            if offset != 0 or size != whole[n]:
                index = arith.SubiOp(index, _number(offset)).result
                fits = arith.CmpiOp(index, _number(size), "ult").result
                inside = arith.AndIOp(inside, fits).result
                index = arith.SelectOp(fits, index, _index(0)).result
            at += [index] if n in kept else []
        new = tensor.ExtractOp(op.source, at, old.type)
        return arith.SelectOp(inside, new, old)

    output = empty(Builder.at(op), op.dest, op.result.type.get_element_type())
    return elementwise([op.dest], output, compute)


def _number(x: Size) -> SSAValue:
    """Return a number in the body of an operation, where it is read."""
    return _index(x) if isinstance(x, int) else _copied(x, {})


def _copied(x: SSAValue, known: dict[SSAValue, SSAValue]) -> SSAValue:
    """Copy the operations that compute a number from elements; `known` has the copies.

    Raises:
        Refused: there are too many.
    """
    left = [x]
    while left:
        value = left[-1]
        if value in known or not (isinstance(value, OpResult) and _is_read(value)):
            left.pop()
            continue
        op = value.op
        numbers = [y for y in op.operands if not is_tensor(y.type)]
        if before := [y for y in numbers if y not in known and _is_read(y)]:
            left += before
        elif len(known) < MOST_COPIED:
            known[value] = op.clone(known).results[value.index]
        else:
            raise Refused(
                op,
                f"expected at most {MOST_COPIED} operations that compute a number from "
                "elements of tensors, got more: keep it in a tensor of rank 0",
            )
    return known.get(x, x)


def read_in_body(op: ops.GenericOp) -> ops.GenericOp | None:
    """Return a generic with the reads of captured elements in its body.

    None if there are none. The host knows no elements of tensors, so it cannot pass
    these numbers.
    """
    inside, old = set(op.body.walk()), op.body.block
    taken = dict.fromkeys(x for each in op.body.walk() for x in each.operands)
    captured = [x for x in taken if x.owner not in inside and _is_read(x)]
    read = [not is_tensor(x.type) and _is_read(x) for x in op.inputs]
    if not captured and not any(read):
        return None
    inputs = list(zip(op.inputs, maps_of(op), strict=False))
    kept = [pair for pair, is_number in zip(inputs, read, strict=True) if not is_number]
    read += [False] * len(op.outputs)
    args = list(zip(old.args, read, strict=True))
    new = Block(arg_types=[x.type for x, is_number in args if not is_number])
    values: dict[SSAValue, SSAValue] = {}
    with ImplicitBuilder(new):
        for x in captured:
            _copied(x, values)
        given = iter(new.args)
        for n, (arg, is_number) in enumerate(args):
            values[arg] = _copied(op.inputs[n], values) if is_number else next(given)
    for each in old.ops:
        new.add_op(each.clone(values))
    return rebuilt(op, kept, new)


RULES: dict[type[Operation], Callable[..., None]] = {
    bufferization.AllocTensorOp: _alloc_tensor,
    bufferization.MaterializeInDestinationOp: _materialize,
    ops.CopyOp: _copy,
    ops.FillOp: _fill,
    GenerateOp: _generate,
    SoftmaxOp: _softmax,
    tensor.ConcatOp: _concat,
    tensor.ExtractSliceOp: _slice,
    tensor.FromElementsOp: _from_elements,
    tensor.InsertOp: _insert,
    tensor.InsertSliceOp: _slice,
    tensor.PadOp: _pad,
    tensor.SplatOp: _splat,
}
"""What becomes of operations other than the named ones of linalg, and of a few."""


def _return_tensors(func: FuncOp) -> None:
    """Return numbers as tensors of rank 0, which a kernel can write."""
    last = func.body.block.last_op
    assert isinstance(last, ReturnOp), func
    for at, value in enumerate(last.arguments):
        if isinstance(value.type, AnyFloat) or is_integer(value.type):
            type = TensorType(value.type, [])
            new = tensor.FromElementsOp(value, result_type=type)
            (last.operands[at],) = insert(new, last)
    func.update_function_type()


def generalize_function(func: FuncOp) -> None:
    _return_tensors(func)
    for each in [*func.walk()]:
        if isinstance(each, cf.AssertOp):
            drop_assertion(each, constant_number(each.arg))
        elif isinstance(each, tensor.ReshapeOp):  # while what its sizes are is there
            _reshape(each)
    for each in [*func.body.block.ops]:
        try:
            generalize(each)
        except VerifyException as error:  # of what would be in its place
            raise Refused(each, str(error)) from error
    for each in [*func.body.block.ops]:
        if isinstance(each, ops.FillOp) and _is_read(number := each.inputs[0]):
            filled = elementwise([], each.outputs[0], partial(_number, number))
            replace(each, insert(filled, each))
        elif isinstance(each, ops.GenericOp) and (new := read_in_body(each)):
            replace(each, insert(new, each))
    # No operation of a normal form has an effect by itself.
    erase_dead(func.body.block)


@dataclass(frozen=True)
class GeneralizeLinalgPass(ModulePass):
    name = "generalize-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert_whole_functions(op, generalize_function)
