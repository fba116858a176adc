"""Remove what nobody needs, values that loops carry only for themselves too.

    %r:2 = scf.for iter_args(%x = %a, %y = %b) {    %r = scf.for iter_args(%x = %a) {
      %y1 = addi %y, %c                               ..
      yield %x1, %y1                                  yield %x1

A value is needed by an operation that does something, or by one whose result is needed;
what a loop carries is needed only where its argument or its result is.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.scf import ForOp, YieldOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from coopc.ir.control_flow import carry_only, definer, links


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
        elif not is_removable(op) and not (
            isinstance(op, YieldOp) and isinstance(op.parent_op(), ForOp)
        ):
            todo += op.operands
    while todo:
        value = todo.pop()
        if value not in needed:
            needed.add(value)
            todo += behind(value)
    return needed


def behind(value: SSAValue) -> Sequence[SSAValue]:
    """Return what a value needs itself."""
    owner, loop = value.owner, definer(value)
    if isinstance(owner, Operation) and is_removable(owner):
        return owner.operands
    if not isinstance(loop, ForOp):
        return ()
    return [x for group in links(loop, {}) if value in group for x in group]


def shorten(loop: ForOp, needed: set[SSAValue]) -> None:
    """Make a loop carry only what is needed, as an argument or as a result."""
    block, starts = loop.body.block, loop.iter_args
    carried = list(zip(loop.results, block.args[1:], strict=True))
    keep = [at for at, pair in enumerate(carried) if needed.intersection(pair)]
    if len(keep) == len(carried):
        return
    for at, pair in enumerate(carried):
        if at not in keep:
            # Only what nobody needs, and is removed next, still uses these.
            for value in pair:
                value.replace_all_uses_with(starts[at])
    results = iter(carry_only(loop, keep).results)
    found = [next(results) if at in keep else None for at in range(len(carried))]
    Rewriter.replace_op(loop, [], found)
