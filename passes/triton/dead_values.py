"""Remove what nobody needs, values that loops carry only for themselves too.

    %r:2 = scf.for iter_args(%x = %a, %y = %b) {    %r = scf.for iter_args(%x = %a) {
      %y1 = addi %y, %c                               ..
      yield %x1, %y1                                  yield %x1

A value is needed by an operation that does something, or by one whose result is needed;
what a loop carries is needed only where its argument or its result is.
"""

from __future__ import annotations

from xdsl.dialects.scf import ForOp, YieldOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free


def remove_dead(root: Operation) -> None:
    """Remove what nobody needs from the regions of an operation."""
    needed = needed_values(root)
    for loop in [op for op in root.walk() if isinstance(op, ForOp)]:
        shorten(loop, needed)
    for op in reversed(list(root.walk())):
        if is_removable(op) and not any(x in needed for x in op.results):
            Rewriter.erase_op(op)


def is_removable(op: Operation) -> bool:
    """Whether an operation is there for its results only."""
    return bool(op.results) and not op.regions and is_side_effect_free(op)


def needed_values(root: Operation) -> set[SSAValue]:
    """Return the values in an operation that something needs."""
    needed: set[SSAValue] = set()
    todo: list[SSAValue] = []
    for op in root.walk():
        if isinstance(op, ForOp):
            todo += (op.lb, op.ub, op.step)
        elif not is_removable(op) and not is_loops_yield(op):
            todo += op.operands
    while todo:
        value = todo.pop()
        if value not in needed:
            needed.add(value)
            todo += behind(value)
    return needed


def is_loops_yield(op: Operation) -> bool:
    """Whether an operation gives a loop what it carries."""
    return isinstance(op, YieldOp) and isinstance(op.parent_op(), ForOp)


def behind(value: SSAValue) -> list[SSAValue]:
    """Return what a value needs itself."""
    owner = value.owner
    if isinstance(owner, Block):
        loop = owner.parent_op()
        assert isinstance(value, BlockArgument)
        if isinstance(loop, ForOp) and value.index:
            return carried(loop, value.index - 1)
        return []
    if isinstance(owner, ForOp):
        at = owner.results.index(value)
        return [*carried(owner, at), owner.body.block.args[at + 1]]
    return list(owner.operands) if is_removable(owner) else []


def carried(loop: ForOp, at: int) -> list[SSAValue]:
    """Return what a loop begins with and goes on with."""
    last = loop.body.block.last_op
    assert isinstance(last, YieldOp), loop
    return [loop.iter_args[at], last.arguments[at]]


def shorten(loop: ForOp, needed: set[SSAValue]) -> None:
    """Make a loop carry only what is needed, as an argument or as a result."""
    block = loop.body.block
    keep = [
        at
        for at, result in enumerate(loop.results)
        if result in needed or block.args[at + 1] in needed
    ]
    if len(keep) == len(loop.results):
        return
    last = block.last_op
    assert isinstance(last, YieldOp), loop
    end = YieldOp(*(last.arguments[at] for at in keep))
    end.location = last.location
    Rewriter.insert_op(end, InsertPoint.before(last))
    Rewriter.erase_op(last)
    dropped = [at for at in range(len(loop.results)) if at not in keep]
    starts = [loop.iter_args[at] for at in keep]
    new = ForOp(loop.lb, loop.ub, loop.step, starts, loop.detach_region(loop.body))
    new.location = loop.location
    new.attributes |= loop.attributes
    Rewriter.insert_op(new, InsertPoint.before(loop))
    for at, result in zip(keep, new.results, strict=True):
        result.name_hint = loop.results[at].name_hint
        loop.results[at].replace_all_uses_with(result)
    # Only what nobody needs still uses what is dropped, and is removed next.
    Rewriter.erase_op(loop, safe_erase=False)
    for at in reversed(dropped):
        new.body.block.erase_arg(new.body.block.args[at + 1], safe_erase=False)
