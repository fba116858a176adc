"""Loops and branches of lanes: those that all lanes take alike, and others by masks.

A branch that lanes take differently runs both sides, each for the lanes that take it,
if there are any.  A loop that lanes leave at different times runs until no lane goes
on; those who have left keep what they had:

    scf.for %i = %lb to %ub ..        scf.while (%i = %lb, ..) {
      ..                                %active = %i < %ub
                                        scf.condition(any of %active) %active, %i, ..
                                      } do { .. under %active; select what it gives }

Matrices are one for all lanes: under masks they can only be inserted into, since
insertions change nothing of lanes that are not active.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from coopc.dialects import coopmatrix, row_slice
from coopc.dialects.narrow import is_memref, is_vector
from coopc.ir.builder import Values
from coopc.ir.control_flow import yielded
from coopc.passes.cpu.vectorize_subgroup.vector_builder import VectorBuilder, refuse

Write = Callable[[VectorBuilder, Operation], None]
"""Writes one operation."""


def is_shared(type: Attribute) -> bool:
    """Whether values of a type are one for all lanes that hold it."""
    return isinstance(type, coopmatrix.MatrixType | row_slice.TokenType)


def write_if(b: VectorBuilder, op: scf.IfOp, write: Write) -> None:
    """Write a branch."""
    if op.cond in b.varying:
        _masked_if(b, op, write)
        return
    then, otherwise = (Region(Block()) if x.blocks else Region() for x in op.regions)
    types = [b.type_of(x) for x in op.results]
    new = scf.IfOp(b.values[op.cond], types, then, otherwise)
    b.effect(new)
    for old, side in zip(op.regions, new.regions, strict=True):
        if old.blocks:
            with b.within(side.block, b.mask):
                given = _run(b, old, write)
                b.effect(scf.YieldOp(*b.as_targets(given, op.results)))
    b.define(op.results, new.results)


def write_for(b: VectorBuilder, op: scf.ForOp, write: Write) -> None:
    """Write a counted loop."""
    if any(x in b.varying for x in (op.lb, op.ub, op.step)):
        _masked_for(b, op, write)
        return
    counter, *carried = op.body.block.args
    block = _block(b, op.body.block.args)
    lower, upper, step = (b.values[x] for x in (op.lb, op.ub, op.step))
    start = b.as_targets(op.iter_args, carried)
    new = scf.ForOp(lower, upper, step, start, block)
    b.effect(new)
    b.define((counter, *carried), block.args)
    with b.within(block, b.mask):
        given = _run(b, op.body, write)
        b.effect(scf.YieldOp(*b.as_targets(given, carried)))
    b.define(op.results, new.results)


def write_while(b: VectorBuilder, op: scf.WhileOp, write: Write) -> None:
    """Write a loop with a condition."""
    before, after = op.before_region.block.args, op.after_region.block.args
    condition, *passed = yielded(op.before_region)
    if condition in b.varying:
        _masked_while(b, op, write)
        return
    first, second = _block(b, before), _block(b, op.results)
    start = b.as_targets(op.arguments, before)
    new = _while(b, start, [b.type_of(x) for x in op.results], first, second)
    b.define(before, first.args)
    with b.within(first, b.mask):
        _run(b, op.before_region, write)
        given = b.as_targets(passed, op.results)
        b.effect(scf.ConditionOp(b.values[condition], *given))
    b.define(after, second.args)
    with b.within(second, b.mask):
        given = _run(b, op.after_region, write)
        b.effect(scf.YieldOp(*b.as_targets(given, before)))
    b.define(op.results, new)


def _run(b: VectorBuilder, region: Region, write: Write) -> Sequence[SSAValue]:
    """Write the operations of a region here; return what it yields, as old values."""
    if not region.blocks:
        return ()
    for op in region.block.ops:
        if op is not region.block.last_op:
            write(b, op)
    return yielded(region)


def _block(b: VectorBuilder, old: Iterable[SSAValue]) -> Block:
    return Block(arg_types=[b.type_of(x) for x in old])


def _while(
    b: VectorBuilder,
    start: Sequence[SSAValue],
    types: Sequence[Attribute],
    before: Block,
    after: Block,
) -> Values:
    loop = scf.WhileOp(start, types, Region(before), Region(after))
    return tuple(b.effect(loop).results)


# What lanes do apart


def _masked_if(b: VectorBuilder, op: scf.IfOp, write: Write) -> None:
    """Run each side if a lane takes it, and choose for each lane."""
    _check_types(op, op.results)
    condition = b.values[op.cond]
    bases = _bases(op)
    outer = {base: b.values[base] for base in bases if base is not None}
    found: list[Values] = []
    masks = b.active(condition), b.active(b.negated(condition))
    for region, mask in zip(op.regions, masks, strict=True):
        if region.blocks:
            found.append(values := _masked_side(b, op, region, mask, bases, write))
            for base, value in zip(bases, values, strict=True):
                if base is not None:
                    b.values[base] = value
    b.values.update(outer)
    for place, (old, base) in enumerate(zip(op.results, bases, strict=True)):
        new = found[-1][place]
        if base is None:
            new = b.select(condition, found[0][place], new)
        b.define([old], [new])


def _masked_side(
    b: VectorBuilder,
    op: scf.IfOp,
    region: Region,
    mask: SSAValue,
    bases: Sequence[SSAValue | None],
    write: Write,
) -> Values:
    """Run one side for the lanes of a mask; 0 or the old matrix without any."""

    def then() -> Values:
        with b.masked(mask):
            return b.as_targets(_run(b, region, write), op.results)

    otherwise = [
        b.constant(b.type_of(result), 0) if base is None else b.values[base]
        for result, base in zip(op.results, bases, strict=True)
    ]
    return b.branch(b.any_of(mask), then, otherwise)


def _masked_for(b: VectorBuilder, op: scf.ForOp, write: Write) -> None:
    """Run until no lane's counter is below its bound."""
    counter, *carried = op.body.block.args
    _check_types(op, op.results)
    _check_matrices(op, yielded(op.body), carried)
    upper, step = b.as_vector(op.ub), b.as_vector(op.step)
    start = [b.as_vector(op.lb), *b.as_targets(op.iter_args, carried)]
    types = [x.type for x in start]
    first = Block(arg_types=types)
    second = Block(arg_types=[b.wide(i1), *types])
    results = _while(b, start, [x.type for x in second.args], first, second)
    with b.within(first, b.mask):
        below = b.compare("slt", first.args[0], upper)
        active = b.active(below)
        b.effect(scf.ConditionOp(b.any_of(active), active, *first.args))
    mask, here, *held = second.args
    b.define((counter, *carried), (here, *held))
    with b.within(second, mask):
        given = b.as_targets(_run(b, op.body, write), carried)
        following = b.pure(arith.AddiOp, here, step)
        kept = _kept(b, mask, [following, *given], [here, *held])
        b.effect(scf.YieldOp(*kept))
    b.define(op.results, results[2:])


def _masked_while(b: VectorBuilder, op: scf.WhileOp, write: Write) -> None:
    """Run until the condition holds for no lane that still runs."""
    before, after = op.before_region.block.args, op.after_region.block.args
    _check_types(op, [*op.results, *before])
    condition, *passed = yielded(op.before_region)
    shared = [x for x in before if is_shared(x.type)]
    if shared:
        _check_matrices(op, [x for x in passed if is_shared(x.type)], shared)
        ends = [x for x in yielded(op.after_region) if is_shared(x.type)]
        _check_matrices(op, ends, [x for x in after if is_shared(x.type)])
    bits = b.wide(i1)
    running = b.constant(bits, 1) if b.mask is None else b.mask
    start = b.as_targets(op.arguments, before)
    types = [b.type_of(x) for x in op.results]
    matrices = iter([b.values[x] for x in op.arguments if is_shared(x.type)])
    empty = [next(matrices) if is_shared(x) else b.constant(x, 0) for x in types]
    first = Block(arg_types=[bits, *(x.type for x in start), *types])
    second = Block(arg_types=[bits, *types])
    results = _while(b, [running, *start, *empty], [bits, *types], first, second)
    mask, rest = first.args[0], first.args[1:]
    b.define(before, rest[: len(start)])
    with b.within(first, mask):
        _run(b, op.before_region, write)
        given = b.as_targets(passed, op.results)
        kept = _kept(b, mask, given, rest[len(start) :])
        active = b.active(b.as_vector(condition))
        b.effect(scf.ConditionOp(b.any_of(active), active, *kept))
    mask, *found = second.args
    b.define(after, found)
    with b.within(second, mask):
        given = b.as_targets(_run(b, op.after_region, write), before)
        b.effect(scf.YieldOp(mask, *given, *found))
    b.define(op.results, results[1:])


def _kept(
    b: VectorBuilder, mask: SSAValue, new: Sequence[SSAValue], old: Sequence[SSAValue]
) -> list[SSAValue]:
    """Return new values for the lanes of a mask, old ones for others."""
    return [
        x if is_shared(x.type) else b.select(mask, x, y)
        for x, y in zip(new, old, strict=True)
    ]


def _check_types(op: Operation, values: Sequence[SSAValue]) -> None:
    for value in values:
        if is_memref(value.type) or is_vector(value.type):
            refuse(
                op,
                "expected numbers and matrices from control flow that differs between "
                f"lanes, got {value.type}",
            )


def _check_matrices(
    op: Operation, given: Sequence[SSAValue], starts: Sequence[SSAValue]
) -> None:
    """Check that a loop only inserts into the matrices that it carries."""
    for value, start in zip(given, starts, strict=True):
        if is_shared(value.type) and _root(value) is not start:
            refuse(
                op,
                "expected a loop that lanes leave at different times to insert into "
                "the matrix that it carries, got another one",
            )


def _bases(op: scf.IfOp) -> list[SSAValue | None]:
    """Return, for each result that is a matrix, what both sides insert into."""
    found: list[SSAValue | None] = []
    for place, result in enumerate(op.results):
        if not is_shared(result.type):
            found.append(None)
            continue
        one, other = (_root(yielded(x)[place]) for x in op.regions)
        owner = one.owner
        parent = owner if isinstance(owner, Block) else owner.parent
        inside = parent is not None and any(x.block is parent for x in op.regions)
        if one is not other or inside or one in found:
            refuse(
                op,
                "expected both sides to insert into the same matrix, one for each "
                "result, where lanes take different sides",
            )
        found.append(one)
    return found


def _root(value: SSAValue) -> SSAValue:
    """Return the matrix that insertions made a matrix of."""
    while isinstance(value, OpResult):
        place = value.index
        match value.op:
            case row_slice.InsertToMatrixOp() as op:
                if not isinstance(token := op.token.owner, row_slice.IdOp):
                    return value
                value = token.matrix
            case scf.ForOp() as op:
                if _root(yielded(op.body)[place]) is not op.body.block.args[1 + place]:
                    return value
                value = op.iter_args[place]
            case scf.IfOp() as op:
                one, other = (_root(yielded(x)[place]) for x in op.regions)
                if one is not other:
                    return value
                value = one
            case _:
                return value
    return value
