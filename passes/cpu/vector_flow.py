"""Loops and branches of lanes: those that all lanes take alike, and others by masks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from coopc.dialects import row_slice
from coopc.passes.cpu.varying import is_shared, is_varying_loop
from coopc.passes.cpu.vector_code import Code, refuse
from coopc.rewrite.uniformity import yielded

Write = Callable[[Code, Operation], None]
"""Writes one operation."""


def flow(code: Code, op: Operation, write: Write) -> bool:
    """Write an operation with regions; say whether it was one of these."""
    match op:
        case scf.ForOp() if is_varying_loop(op, code.varying):
            _masked_for(code, op, write)
        case scf.ForOp():
            _for(code, op, write)
        case scf.WhileOp() if is_varying_loop(op, code.varying):
            _masked_while(code, op, write)
        case scf.WhileOp():
            _while(code, op, write)
        case scf.IfOp() if op.cond in code.varying:
            _masked_if(code, op, write)
        case scf.IfOp():
            _if(code, op, write)
        case _:
            return False
    return True


def run(code: Code, region: Region, write: Write) -> Sequence[SSAValue]:
    """Write the operations of a region here; return what it yields, as old values."""
    if not region.blocks:
        return ()
    block = region.block
    for op in block.ops:
        if op is not block.last_op:
            write(code, op)
    return yielded(region)


def _targets(
    code: Code, given: Sequence[SSAValue], targets: Sequence[SSAValue]
) -> list[SSAValue]:
    return [code.as_target(x, y) for x, y in zip(given, targets, strict=True)]


# What all lanes do alike


def _if(code: Code, op: scf.IfOp, write: Write) -> None:
    def side(region: Region) -> Callable[[], Sequence[SSAValue]]:
        return lambda: _targets(code, run(code, region, write), op.results)

    types = [code.type_of(x) for x in op.results]
    then, otherwise = side(op.true_region), side(op.false_region)
    condition = code.of(op.cond)
    if types or op.false_region.blocks:
        types_or_none = types
        found = _both(code, condition, types_or_none, then, otherwise)
    else:
        found = code.branch(condition, code.mask, [], then, lambda: ())
    code.name(op.results, found)


def _both(
    code: Code,
    condition: SSAValue,
    types: Sequence[Attribute],
    then: Callable[[], Sequence[SSAValue]],
    otherwise: Callable[[], Sequence[SSAValue]],
) -> Sequence[SSAValue]:
    blocks = [Block(), Block()]
    for block, body in zip(blocks, (then, otherwise), strict=True):
        with code.within(block, code.mask):
            code.effect(scf.YieldOp(*body()))
    new = scf.IfOp(condition, types, Region(blocks[0]), Region(blocks[1]))
    code.effect(new)
    return new.results


def _for(code: Code, op: scf.ForOp, write: Write) -> None:
    lower, upper, step = (code.of(x) for x in (op.lb, op.ub, op.step))
    counter, *carried = op.body.block.args
    start = _targets(code, op.iter_args, carried)
    block = Block(arg_types=[counter.type, *(code.type_of(x) for x in carried)])
    code.name((counter, *carried), block.args)
    with code.within(block, code.mask):
        given = run(code, op.body, write)
        code.effect(scf.YieldOp(*_targets(code, given, carried)))
    new = scf.ForOp(lower, upper, step, start, block)
    code.effect(new)
    code.name(op.results, new.results)
    for old in op.results:
        if old in code.varying and code.of(old).type == old.type:
            code.values[old] = _spread(code, code.of(old))


def _spread(code: Code, value: SSAValue) -> SSAValue:
    from xdsl.dialects import vector

    return code.add(vector.BroadcastOp(value, code.wide(value.type)))


def _while(code: Code, op: scf.WhileOp, write: Write) -> None:
    before, after = op.before_region.block.args, op.after_region.block.args
    start = _targets(code, op.arguments, before)
    first = Block(arg_types=[code.type_of(x) for x in before])
    code.name(before, first.args)
    with code.within(first, code.mask):
        condition, *passed = run(code, op.before_region, write)
        given = _targets(code, passed, op.results)
        code.effect(scf.ConditionOp(code.of(condition), *given))
    second = Block(arg_types=[code.type_of(x) for x in op.results])
    code.name(after, second.args)
    with code.within(second, code.mask):
        given = run(code, op.after_region, write)
        code.effect(scf.YieldOp(*_targets(code, given, before)))
    types = [code.type_of(x) for x in op.results]
    new = scf.WhileOp(start, types, Region(first), Region(second))
    code.effect(new)
    code.name(op.results, new.results)


# What lanes do apart


def root(value: SSAValue) -> SSAValue:
    """Return the matrix that insertions made a matrix of.

    Insertions under a mask change nothing of the lanes that are not active, so that
    what they made also holds what those lanes had.
    """
    while True:
        match value.owner:
            case row_slice.InsertToMatrixOp() as op:
                if not isinstance(token := op.token.owner, row_slice.IdOp):
                    return value
                value = token.matrix
            case scf.ForOp() as op:
                place = [*op.results].index(value)  # pyright: ignore[reportArgumentType]
                inside = yielded(op.body)[place]
                if root(inside) is not op.body.block.args[1 + place]:
                    return value
                value = op.iter_args[place]
            case scf.IfOp() as op if op.results:
                place = [*op.results].index(value)  # pyright: ignore[reportArgumentType]
                one, other = (root(yielded(x)[place]) for x in op.regions)
                if one is not other:
                    return value
                value = one
            case _:
                return value


def _check_types(op: Operation, values: Sequence[SSAValue]) -> None:
    from coopc.dialects.narrow import is_memref, is_vector

    for value in values:
        if is_memref(value.type) or is_vector(value.type):
            refuse(
                op,
                "expected numbers and matrices from control flow that differs between "
                f"lanes, got {value.type}",
            )


def _masked_if(code: Code, op: scf.IfOp, write: Write) -> None:
    """Run each side if a lane takes it, and choose for each lane."""
    _check_types(op, op.results)
    condition = code.of(op.cond)
    sides = [op.true_region, op.false_region]
    bases = _bases(op)
    masks = [
        code.both(code.mask, condition),
        code.both(code.mask, code.negated(condition)),
    ]
    found: list[Sequence[SSAValue]] = []
    outer = {base: code.of(base) for base in bases if base is not None}
    for region, mask in zip(sides, masks, strict=True):
        if region.blocks:
            found.append(values := _side(code, op, region, mask, bases, write))
            for base, value in zip(bases, values, strict=True):
                if base is not None:
                    code.values[base] = value
    code.values.update(outer)
    for place, (old, base) in enumerate(zip(op.results, bases, strict=True)):
        new = found[-1][place]
        if base is None:
            new = code.add(arith.SelectOp(condition, found[0][place], new))
        code.name([old], [new])


def _bases(op: scf.IfOp) -> list[SSAValue | None]:
    """Return, for each result that is a matrix, what both sides insert into."""
    found: list[SSAValue | None] = []
    for place, result in enumerate(op.results):
        if not is_shared(result.type):
            found.append(None)
            continue
        one, other = (root(yielded(x)[place]) for x in op.regions)
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


def _side(
    code: Code,
    op: scf.IfOp,
    region: Region,
    mask: SSAValue,
    bases: Sequence[SSAValue | None],
    write: Write,
) -> Sequence[SSAValue]:
    """Run one side for the lanes of a mask; 0 or the old matrix without any."""

    def then() -> list[SSAValue]:
        return _targets(code, run(code, region, write), op.results)

    def otherwise() -> list[SSAValue]:
        return [
            code.constant(0, code.type_of(result)) if base is None else code.of(base)
            for result, base in zip(op.results, bases, strict=True)
        ]

    types = [code.type_of(x) for x in op.results]
    return code.if_any(mask, types, then, otherwise)


def _kept(
    code: Code, mask: SSAValue, new: Sequence[SSAValue], old: Sequence[SSAValue]
) -> list[SSAValue]:
    """Return new values for the lanes of a mask, old ones for others."""
    return [
        x if is_shared(x.type) else code.add(arith.SelectOp(mask, x, y))
        for x, y in zip(new, old, strict=True)
    ]


def _check_matrices(
    op: Operation, given: Sequence[SSAValue], starts: Sequence[SSAValue]
) -> None:
    """Check that a loop only inserts into the matrices that it carries."""
    for value, start in zip(given, starts, strict=True):
        if is_shared(value.type) and root(value) is not start:
            refuse(
                op,
                "expected a loop that lanes leave at different times to insert into "
                "the matrix that it carries, got another one",
            )


def _masked_for(code: Code, op: scf.ForOp, write: Write) -> None:
    """Run until no lane's counter is below its bound."""
    counter, *carried = op.body.block.args
    _check_types(op, op.results)
    _check_matrices(op, yielded(op.body), carried)
    upper, step = code.spread(op.ub), code.spread(op.step)
    start = [code.spread(op.lb), *_targets(code, op.iter_args, carried)]
    types = [x.type for x in start]
    outer = code.mask
    first = Block(arg_types=types)
    with code.within(first, None):
        below = code.add(arith.CmpiOp(first.args[0], upper, "slt"))
        active = code.both(outer, below)
        code.effect(scf.ConditionOp(code.any_of(active), active, *first.args))
    second = Block(arg_types=[active.type, *types])
    mask, here, *held = second.args
    code.name((counter, *carried), (here, *held))
    with code.within(second, mask):
        given = _targets(code, run(code, op.body, write), carried)
        following = code.add(arith.AddiOp(here, step))
        kept = _kept(code, mask, [following, *given], [here, *held])
        code.effect(scf.YieldOp(*kept))
    results = [active.type, *types]
    loop = scf.WhileOp(start, results, Region(first), Region(second))
    code.effect(loop)
    code.name(op.results, loop.results[2:])


def _masked_while(code: Code, op: scf.WhileOp, write: Write) -> None:
    """Run until the condition holds for no lane that still runs."""
    before, after = op.before_region.block.args, op.after_region.block.args
    _check_types(op, [*op.results, *before])
    _, *passed = yielded(op.before_region)
    if any(is_shared(x.type) for x in before):
        shared = [x for x in before if is_shared(x.type)]
        _check_matrices(op, [x for x in passed if is_shared(x.type)], shared)
        ends = [x for x in yielded(op.after_region) if is_shared(x.type)]
        _check_matrices(op, ends, [x for x in after if is_shared(x.type)])
    bits = code.wide(i1)
    running = code.constant(1, bits) if code.mask is None else code.mask
    start = _targets(code, op.arguments, before)
    types = [code.type_of(x) for x in op.results]
    empty = [
        _matrix_start(op, place, code) if is_shared(x) else code.constant(0, x)
        for place, x in enumerate(types)
    ]
    first = Block(arg_types=[bits, *(x.type for x in start), *types])
    mask, rest = first.args[0], first.args[1:]
    code.name(before, rest[: len(start)])
    with code.within(first, mask):
        condition, *given = run(code, op.before_region, write)
        results = _targets(code, given, op.results)
        results = _kept(code, mask, results, rest[len(start) :])
        active = code.both(mask, code.spread(condition))
        code.effect(scf.ConditionOp(code.any_of(active), active, *results))
    second = Block(arg_types=[bits, *types])
    mask, *found = second.args
    code.name(after, found)
    with code.within(second, mask):
        given = _targets(code, run(code, op.after_region, write), before)
        code.effect(scf.YieldOp(mask, *given, *found))
    loop = scf.WhileOp(
        [running, *start, *empty], [bits, *types], Region(first), Region(second)
    )
    code.effect(loop)
    code.name(op.results, loop.results[1:])


def _matrix_start(op: scf.WhileOp, place: int, code: Code) -> SSAValue:
    """Return the matrix that a loop starts with, in the place of a result."""
    shared = [x for x in op.arguments if is_shared(x.type)]
    number = sum(is_shared(x.type) for x in list(op.results)[:place])
    return code.of(shared[number])
