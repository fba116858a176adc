"""Control flow: what loops and branches carry of tensors and pointers.

    %x: tensor          its elements are in a buffer, and nothing is carried
    %p: !tt.ptr         the offset, if the base is known before; else the address
    %d: a descriptor    that of its base, then its sizes, strides and starts

A tensor that a loop moves by the same amount each time is not carried, but computed
from the number of the round.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, Region, SSAValue

from coopc.dialects import tt
from coopc.dialects.narrow import is_tensor
from coopc.dialects.shaped_arith import element_of
from coopc.ir.builder import Builder, Values
from coopc.ir.control_flow import is_inside, yielded
from coopc.passes.triton.convert_tt_to_coopmatrix.kernel import (
    Rule,
    TtKernel,
    Value,
    kept_as,
    kind_of,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.rounds import POINTWISE
from coopc.passes.triton.convert_tt_to_coopmatrix.tensors import (
    Coordinates,
    Pointer,
    Tensor,
    address_of,
    addresses,
    index,
    offset,
    pointee_bytes,
    scaled,
)
from coopc.passes.triton.origins import bases_of


def parts(k: TtKernel, value: Value, form: Value) -> tuple[SSAValue, ...]:
    """Return the numbers that control flow carries of a value in a form."""
    match value, form:
        case Pointer(), Pointer():
            place = value.offset
            if form.is_carried_as_address:
                place = address_of(k.b, value.base, place)
            else:
                assert form.base is value.base, value
            return (place, *value.sizes, *value.strides, *value.starts)
        case SSAValue(), _:
            return (value,)
        case _:
            return ()


def like(k: TtKernel, form: Value, numbers: Iterator[SSAValue]) -> Value:
    """Return a value of a form, of numbers that were carried."""
    match form:
        case SSAValue():
            return next(numbers)
        case Pointer():
            place = Pointer(form.base, next(numbers))
            if form.is_carried_as_address:
                place = k.at_address(place.offset, kind_of(form.base))
            sizes, strides, starts = (
                tuple(islice(numbers, len(x)))
                for x in (form.sizes, form.strides, form.starts)
            )
            return replace(
                place,
                sizes=sizes,
                strides=strides,
                starts=starts,
                pads_with_nan=form.pads_with_nan,
            )
        case Tensor():
            return form


def has_base(value: SSAValue, around: Operation) -> bool:
    """Whether pointers count from one base that is known before an operation."""
    bases = bases_of(value)
    known = len(bases) == 1 and not around.is_ancestor(next(iter(bases)).owner)
    return known and not any(is_tensor(x.type) for x in bases)


def form_of(k: TtKernel, old: SSAValue, target: SSAValue, around: Operation) -> Value:
    """Return the form of a value as one that may be another: see `carried`."""
    value = k.values[old]
    if isinstance(value, Pointer) and not has_base(target, around):
        return replace(value, is_carried_as_address=True)
    return value


def carried(
    k: TtKernel,
    old: SSAValue,
    target: SSAValue,
    around: Operation,
    name: str,
    b: Builder | None = None,
) -> Value:
    """Return the form in which control flow carries a value: a tensor's buffer.

    A buffer is allocated where `b` is, in front of the control flow; here without it.
    """
    value = form_of(k, old, target, around)
    if not isinstance(value, Tensor):
        return value
    found = k.buffer(value.shape, kept_as(old), name, b)
    is_known = value.base is not None and has_base(target, around)
    return replace(found, base=value.base if is_known else None)


def hand_over(
    k: TtKernel, olds: Sequence[SSAValue], forms: Sequence[Value | None]
) -> list[SSAValue]:
    """Write what is yielded to its buffers; return the numbers that are yielded.

    A value without a form is not carried.  Elements of buffers are computed in place
    from the same elements of these; where others are needed, there is a copy first.
    """
    found: list[SSAValue] = []
    moves: dict[tuple[int, ...], list[tuple[Tensor, Tensor]]] = {}
    waiting: list[tuple[Tensor, Tensor]] = []
    targets = {x.buffer for x in forms if isinstance(x, Tensor)}
    for old, form in zip(olds, forms, strict=True):
        if form is None:
            continue
        value = k.values[old]
        if not isinstance(form, Tensor):
            found += parts(k, value, form)
            continue
        assert isinstance(value, Tensor), old
        if form.base is None:
            value = addresses(k.elements, value)
        assert form.base is value.base, old
        if value.buffer is form.buffer:
            continue
        if value.buffer is not None and value.buffer not in targets:
            waiting.append((form, value))
        elif needs_no_other(k, old, targets):
            moves.setdefault(value.shape, []).append((form, value))
        else:
            waiting.append((form, k.copy(value, kept_as(old), "next")))
    for shape, pairs in moves.items():
        exchange(k, shape, pairs)
    for form, value in waiting:
        k.assign(form, value)
    return found


def needs_no_other(
    k: TtKernel, old: SSAValue, targets: Container[SSAValue | None]
) -> bool:
    """Whether an element of a tensor needs no other element of what is in buffers."""
    tensor, op = k.values[old], old.owner
    if not isinstance(tensor, Tensor) or tensor.buffer is not None:
        return True
    if all(x not in targets for x in tensor.reads):
        return True
    if not isinstance(op, Operation) or type(op) not in POINTWISE:
        return False
    return all(needs_no_other(k, x, targets) for x in op.operands)


def exchange(
    k: TtKernel, shape: Sequence[int], pairs: Sequence[tuple[Tensor, Tensor]]
) -> None:
    """Copy tensors into the buffers of others of these."""

    def move(at: Coordinates) -> None:
        values = [k.elements.of(value, at) for _, value in pairs]
        for (form, _), value in zip(pairs, values, strict=True):
            k.put(form, at, value)

    k.fill_each(shape, move)


def enter(
    k: TtKernel,
    olds: Sequence[SSAValue],
    forms: Sequence[Value | None],
    numbers: Sequence[SSAValue],
) -> None:
    """Note what values of the old program are, of numbers that were carried."""
    left = iter(numbers)
    for old, form in zip(olds, forms, strict=True):
        if form is None:
            continue
        found = like(k, form, left)
        if isinstance(found, SSAValue):
            found.name_hint = old.name_hint
        k.values[old] = found


def steps(op: scf.ForOp) -> dict[int, Operation]:
    """Return what moves an argument by the same amount each round, by number."""
    found: dict[int, Operation] = {}
    args = op.body.block.args[1:]
    for number, value in enumerate(yielded(op.body)):
        owner = value.owner
        is_sum = isinstance(owner, tt.AddPtrOp | arith.AddiOp)
        if not is_sum or owner.parent is not op.body.block:
            continue
        if owner.operands[0] is not args[number] or op.results[number].uses:
            continue
        if is_tensor(value.type) and is_invariant(owner.operands[1], op):
            found[number] = owner
    return found


FREE = (tt.SplatOp, tt.BroadcastOp, tt.ExpandDimsOp, tt.MakeRangeOp)


def is_invariant(value: SSAValue, loop: scf.ForOp) -> bool:
    """Whether a value is the same in each round, without an access to memory."""
    owner = value.owner
    if not is_inside(value, loop) or isinstance(owner, arith.ConstantOp):
        return True
    if not isinstance(owner, FREE) and type(owner) not in tt.ELEMENTWISE:
        return False
    assert isinstance(owner, Operation), owner
    return not owner.regions and all(is_invariant(x, loop) for x in owner.operands)


def needed(value: SSAValue, loop: scf.ForOp) -> list[Operation]:
    """Return the operations in a loop that a value is computed by, in order."""
    owner = value.owner
    if isinstance(owner, Block) or not is_inside(value, loop):
        return []
    before = [op for x in owner.operands for op in needed(x, loop)]
    return list(dict.fromkeys([*before, owner]))


def moved(k: TtKernel, op: scf.ForOp, step: Operation, start: Tensor) -> Tensor:
    """Return a tensor that was moved once in each round so far."""
    b, e = k.b, k.elements
    for each in needed(step.operands[1], op):
        k.operation(each)
    counter, lower, stride = k.numbers((op.body.block.args[0], op.lb, op.step))
    rounds = b.pure(arith.SubiOp, counter, lower)
    rounds = b.pure(arith.DivUIOp, rounds, stride)
    by = k.tensor(step.operands[1])
    is_address = isinstance(step, tt.AddPtrOp) and start.base is None
    unit = pointee_bytes(step.results[0].type) if is_address else 1

    def element(at: Coordinates) -> SSAValue:
        first, more, count = e.of(start, at), e.of(by, at), rounds
        if isinstance(step, tt.AddPtrOp):
            first, more = offset(b, first), scaled(b, offset(b, more), unit)
        if count.type != more.type:
            count = b.pure(arith.IndexCastOp, index(b, count), more.type)
        return b.pure(arith.AddiOp, first, b.pure(arith.MuliOp, count, more))

    return Tensor(start.shape, element, None, start.reads | by.reads, start.base)


Change: TypeAlias = Callable[[], None]
"""Writes what becomes of matrices, and notes it in `kept`."""


def rewritten(
    k: TtKernel,
    op: scf.ForOp,
    kept: Mapping[int, Values] | None = None,
    changes: Mapping[Operation, Change] | None = None,
) -> None:
    """Write a loop anew.

    It carries what is `kept` in matrices, by number; `changes` write what is in the
    place of operations.
    """
    kept, changes = kept or {}, changes or {}
    b, body, moves = k.b, op.body.block, steps(op)
    counter, *args = body.args
    forms: list[Value | None] = []
    for number, (old, arg) in enumerate(zip(op.iter_args, args, strict=True)):
        if number in moves or number in kept:
            forms.append(None)
            continue
        before, value = old.owner, k.values[old]
        is_last = isinstance(before, scf.ForOp) and old.has_one_use()
        is_last = is_last and not isinstance(element_of(old.type), tt.PtrType)
        if is_last and before.parent is op.parent and isinstance(value, Tensor):
            forms.append(value)  # nobody else needs that buffer
        else:
            forms.append(carried(k, old, arg, op, arg.name_hint or "carried"))
    starts = hand_over(k, op.iter_args, forms)
    sums = [x for values in kept.values() for x in values]
    lower, upper, stride = k.numbers((op.lb, op.ub, op.step))
    block = Block(arg_types=[x.type for x in (lower, *sums, *starts)])
    new = b.effect(scf.ForOp(lower, upper, stride, [*sums, *starts], block))
    count = len(sums)
    with k.inside(block):
        k.values[counter] = block.args[0]
        block.args[0].name_hint = counter.name_hint
        k.keep((args[x] for x in kept), kept.values(), block.args[1:])
        enter(k, args, forms, block.args[1 + count :])
        for number, step in moves.items():
            start = k.tensor(op.iter_args[number])
            k.values[args[number]] = moved(k, op, step, start)
        for each in body.ops:
            if each in changes:
                b.location = each.location
                changes[each]()
            elif each is not body.last_op:
                k.operation(each)
        b.location, ends = op.location, yielded(op.body)
        totals = [x for number in kept for x in k.kept[ends[number]]]
        b.effect(scf.YieldOp(*totals, *hand_over(k, ends, forms)))
    k.keep((op.results[x] for x in kept), kept.values(), new.results)
    enter(k, op.results, forms, new.results[count:])


def branch(k: TtKernel, op: scf.IfOp) -> None:
    """Write a branch anew."""
    b = k.b
    sides = [x.block for x in op.regions if x.blocks]
    blocks, outside = [Block() for _ in sides], replace(b)
    forms: list[Value] = []
    ends: list[SSAValue] = []
    for old, new in zip(sides, blocks, strict=True):
        with k.inside(new):
            k.block(old)
            last = old.last_op
            values = () if last is None else last.operands
            if old is sides[0]:
                forms = [
                    carried(k, x, y, op, y.name_hint or "chosen", outside)
                    for x, y in zip(values, op.results, strict=True)
                ]
            ends = hand_over(k, values, forms)
            b.effect(scf.YieldOp(*ends))
    types = [x.type for x in ends]
    then, *rest = (Region(x) for x in blocks)
    otherwise = rest[0] if rest else None
    found = b.effect(scf.IfOp(k.number(op.cond), types, then, otherwise))
    enter(k, op.results, forms, found.results)


def loop_while(k: TtKernel, op: scf.WhileOp) -> None:
    """Write a loop with a condition anew."""
    b = k.b
    before, after = op.before_region.block, op.after_region.block
    pairs = zip(op.arguments, before.args, strict=True)
    forms = [carried(k, x, y, op, "carried") for x, y in pairs]
    starts = hand_over(k, op.arguments, forms)
    blocks = Block(arg_types=[x.type for x in starts]), Block()
    outside = replace(b)
    with k.inside(blocks[0]):
        enter(k, before.args, forms, blocks[0].args)
        k.block(before)
        condition, *passed = yielded(op.before_region)
        pairs = zip(passed, after.args, strict=True)
        kept = [carried(k, x, y, op, "kept", outside) for x, y in pairs]
        ends = hand_over(k, passed, kept)
        b.effect(scf.ConditionOp(k.number(condition), *ends))
    for each in ends:
        blocks[1].insert_arg(each.type, len(blocks[1].args))
    with k.inside(blocks[1]):
        enter(k, after.args, kept, blocks[1].args)
        k.block(after)
        b.effect(scf.YieldOp(*hand_over(k, yielded(op.after_region), forms)))
    regions = [Region(x) for x in blocks]
    new = b.effect(scf.WhileOp(starts, [x.type for x in ends], *regions))
    enter(k, op.results, kept, new.results)


RULES: Mapping[type[Operation], Rule] = {
    scf.IfOp: branch,
    scf.WhileOp: loop_while,
}
