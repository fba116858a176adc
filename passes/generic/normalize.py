"""`normalize`: each value computed once, out of the loops that do not change it.

Before:  scf.for %i = .. {
           %0 = arith.muli %n, %c4
           %1 = arith.muli %n, %c4
           %2 = arith.addi %1, %i
           memref.store %x, %m[%2, %0]
         }
After:   %0 = arith.muli %n, %c4
         scf.for %i = .. {
           %2 = arith.addi %0, %i
           memref.store %x, %m[%2, %0]
         }
Fails:   never

Constants are folded, and what nothing uses goes.  Only operations without effects and
without regions are shared or moved, by the traits that they have:

    | operation                | is shared       | leaves a loop            |
    |--------------------------|-----------------|--------------------------|
    | pure                     | with the first  | yes                      |
    | division, shift, casts   | with the first  | if surely defined or (1) |
    | collective               | with the first  | no                       |
    | shuffle, broadcast       | in its block    | no                       |

(1) if the loop is known to have a first round, in which the operation runs anyway.

It takes time linear in the operations, however loops are nested.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, math, scf, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import (
    ConstantLike,
    IsTerminator,
    is_side_effect_free,
    is_speculatable,
)
from xdsl.transforms.canonicalize import CanonicalizePass

from coopc.dialects.effects import numbers_of
from coopc.dialects.narrow import is_integer
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.traits import Collective, ReadsLanes

LOOPS = (scf.ForOp, scf.WhileOp)
"""What pure operations are moved out of."""
SCOPES = (*LOOPS, scf.IfOp, scf.IndexSwitchOp, scf.ExecuteRegionOp)
"""What constants are moved out of, and in what values from around it are shared."""
INDEX_BITS = 32
"""At least, on every target."""


def may_run_early(op: Operation) -> bool:
    """Whether an operation may run where the program would not run it."""
    match op:
        case arith.ShLIOp() | arith.ShRSIOp() | arith.ShRUIOp():
            by, type = numbers_of(op.rhs), element_of(op.rhs.type)
            bits = type.width.data if is_integer(type) else INDEX_BITS
            return by is not None and all(0 <= x < bits for x in by)
        case vector.ExtractOp() | vector.InsertOp():
            return not op.dynamic_position
        case arith.FPToSIOp() | arith.FPToUIOp() | math.IPowIOp():
            return False
        case _:
            flags = op.properties.get("overflowFlags")
            is_flagged = isinstance(flags, arith.IntegerOverflowAttr) and flags.data
            return is_speculatable(op) and not is_flagged


def surely_runs(loop: Operation) -> bool:
    """Whether a loop is known to have a first round."""
    if not isinstance(loop, scf.ForOp):
        return False
    start, end = numbers_of(loop.lb), numbers_of(loop.ub)
    return start is not None and end is not None and start[0] < end[0]


@dataclass(slots=True)
class Sharing:
    """Merges and moves the operations of one region and those in it, in one walk."""

    known: dict[Hashable, tuple[SSAValue, ...]] = field(
        default_factory=dict[Hashable, tuple[SSAValue, ...]]
    )
    """The results of the operations that dominate the place where the walk is."""
    of_block: dict[Block, list[Hashable]] = field(
        default_factory=dict[Block, list[Hashable]]
    )
    """What is no longer known behind each block around that place."""

    def walk(self, region: Region) -> None:
        """Share in a region; its first block dominates the others."""
        for block in region.blocks:
            self.of_block[block] = []
            op = block.first_op
            while op is not None:
                following = op.next_op
                self._visit(op)
                op = following
            if block is not region.first_block:
                self._forget(block)
        if (first := region.first_block) is not None:
            self._forget(first)

    def _forget(self, block: Block) -> None:
        for key in self.of_block.pop(block):
            del self.known[key]

    def _visit(self, op: Operation) -> None:
        for region in op.regions:
            # Of other operations than loops and branches nothing is known.
            (self if isinstance(op, SCOPES) else Sharing()).walk(region)
        if op.regions or not op.results or op.has_trait(IsTerminator):
            return
        reads_lanes = op.has_trait(ReadsLanes)
        if not (reads_lanes or is_side_effect_free(op)):
            return
        key = (
            op.parent if reads_lanes else None,
            op.name,
            op.operands,
            op.result_types,
            frozenset(op.properties.items()),
            frozenset(op.attributes.items()),
        )
        if (found := self.known.get(key)) is not None:
            Rewriter.replace_op(op, [], found)
            return
        self._move(op)
        assert op.parent is not None, op
        self.known[key] = tuple(op.results)
        self.of_block[op.parent].append(key)

    def _move(self, op: Operation) -> None:
        """Put an operation in front of the loops that it does not depend on."""
        left = SCOPES if op.has_trait(ConstantLike) else LOOPS
        outermost, is_safe = op, None
        while isinstance(around := outermost.parent_op(), left) and not any(
            block_of(operand) is outermost.parent for operand in op.operands
        ):
            if is_safe is None:
                is_safe = may_run_early(op)
            if not is_safe and not surely_runs(around):
                break
            outermost = around
        if outermost is not op and not op.has_trait(Collective):
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(outermost))


def block_of(value: SSAValue) -> Block | None:
    """Return the block that defines a value."""
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent


class NormalizePass(ModulePass):
    """Shares equal values, moves them out of loops, folds constants, drops the dead."""

    name = "normalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Normalize all functions of a module."""
        Sharing().walk(op.body)
        CanonicalizePass().apply(ctx, op)  # fewer operations to look at
        Sharing().walk(op.body)  # what was folded may be equal, or a constant
