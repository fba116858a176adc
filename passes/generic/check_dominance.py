"""check-dominance: rejects uses that no definition dominates.

Before:  any IR that verifies.
After:   the same.
Fails:   if a definition does not dominate one of its uses.

As in MLIR, the body of a `builtin.module` and regions of unregistered operations have
no order.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from coopc.ir.dominators import immediate_dominators, successors


def check_dominance(top: Operation) -> None:
    """Check all of `top`, in time linear in its operations where there are no branches.

    Raises:
        VerifyException: Blaming the operation that uses a value too early.
    """
    check_regions(top, set())


def check_regions(op: Operation, visible: set[SSAValue]) -> None:
    """Check the regions of `op`, which see the values `visible`, and leave those."""
    unordered = isinstance(op, ModuleOp | UnregisteredOp)
    for region in op.regions:
        first = region.first_block
        if first is None:
            continue
        if first.next_block is not None:
            # The blocks that can be reached see what those before them define.
            defined = {block: list(definitions(block)) for block in region.blocks}
            for block, dominators in dominance(region).items():
                shown = [value for other in dominators for value in defined[other]]
                visible.update(shown)
                check_block(block, visible)
                visible.difference_update(shown, defined[block])
        elif unordered:
            hidden = list(definitions(first))
            visible.update(hidden)
            check_block(first, visible)
            visible.difference_update(hidden)
        else:
            check_block(first, visible)
            visible.difference_update(definitions(first))


def check_block(block: Block, visible: set[SSAValue]) -> None:
    """Check `block`, which sees the values `visible`; adds those that it defines."""
    visible.update(block.args)
    for op in block.ops:
        if not visible.issuperset(op.operands):
            operands = enumerate(op.operands)
            position, operand = next(x for x in operands if x[1] not in visible)
            name = f" %{operand.name_hint}" if operand.name_hint else ""
            message = (
                f"expected operand {position}{name} to be defined before its use "
                "on every way to it"
            )
            op.emit_error(message, VerifyException(message))
        if op.regions:
            check_regions(op, visible)
        visible.update(op.results)


def definitions(block: Block) -> Iterator[SSAValue]:
    """The values that `block` itself defines, without those of nested regions."""
    yield from block.args
    for op in block.ops:
        yield from op.results


def dominance(region: Region) -> dict[Block, set[Block]]:
    """For each block that can be reached, the others that every way to it passes."""
    first = region.blocks[0]
    dominators: dict[Block, set[Block]] = {}
    for block, above in immediate_dominators(first, successors).items():
        dominators[block] = set() if block is first else {above, *dominators[above]}
    return dominators


class CheckDominancePass(ModulePass):
    name = "check-dominance"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_dominance(op)
