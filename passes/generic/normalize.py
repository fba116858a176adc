"""normalize: merges equal operations and hoists loop invariants.

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

Constants are folded, and dead operations are erased.  CSE and LICM apply only to
operations without effects and regions, by their traits:

    | operation                | CSE             | LICM                     |
    |--------------------------|-----------------|--------------------------|
    | pure                     | yes             | yes                      |
    | division, shift, casts   | yes             | if surely defined or (1) |
    | collective               | yes             | no                       |
    | shuffle, broadcast       | in its block    | no                       |

(1) if the loop is known to run at least once, and the operation in its first iteration.

Integer sums and products wrap around, so they are reassociated:

    (%i + 4) + 12        %i + 16
    %i + %n, %n + %i     one of them
    (%i + %n) + %m       %i + (%n + %m)    where only %i changes in a loop

The time is linear in the number of operations, however loops are nested.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import ConstantLike, IsTerminator, is_side_effect_free, is_speculatable
from xdsl.transforms.canonicalize import CanonicalizePass

from coopc.dialects.effects import numbers_of
from coopc.dialects.narrow import is_integer
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.traits import Collective, ReadsLanes
from coopc.ir.control_flow import block_of

LOOPS = (scf.ForOp, scf.WhileOp)
"""What pure operations are moved out of."""
SCOPES = (*LOOPS, scf.IfOp, scf.IndexSwitchOp, scf.ExecuteRegionOp)
"""What constants are moved out of, and in what values from around it are shared."""
INDEX_BITS = 32
"""At least, on every target."""
UNDEFINED_FOR_SOME = ("arith.fptosi", "arith.fptoui", "math.ipowi")
"""Operations undefined for some operands; by name, as few programs have `math`."""


def may_run_early(op: Operation) -> bool:
    """Whether an operation may run where the program would not run it."""
    match op:
        case arith.ShLIOp() | arith.ShRSIOp() | arith.ShRUIOp():
            by, type = numbers_of(op.rhs), element_of(op.rhs.type)
            bits = type.width.data if is_integer(type) else INDEX_BITS
            return by is not None and all(0 <= x < bits for x in by)
        case vector.ExtractOp() | vector.InsertOp():
            return not op.dynamic_position
        case _ if op.name in UNDEFINED_FOR_SOME:
            return False
        case _:
            flags = op.properties.get("overflowFlags")
            is_flagged = isinstance(flags, arith.IntegerOverflowAttr) and flags.data
            return is_speculatable(op) and not is_flagged


def surely_runs(loop: Operation) -> bool:
    if not isinstance(loop, scf.ForOp):
        return False
    start, end = numbers_of(loop.lb), numbers_of(loop.ub)
    return start is not None and end is not None and start[0] < end[0]


SumOp: TypeAlias = arith.AddiOp | arith.MuliOp
"""What may be computed in any order."""


def regrouped(op: SumOp) -> tuple[SumOp, SSAValue, SSAValue, SSAValue] | None:
    """Return `x + y`, x, y and z of `(x + y) + z` if that is better `x + (y + z)`.

    It is where y and z are constants and x is none, or in fewer loops than x; then
    nothing else may use `x + y`, as it is computed no more.
    """
    for inner, z in ((op.lhs.owner, op.rhs), (op.rhs.owner, op.lhs)):
        if not isinstance(inner, type(op)):
            continue
        for x, y in ((inner.lhs, inner.rhs), (inner.rhs, inner.lhs)):
            are_numbers = [numbers_of(each) is not None for each in (x, y, z)]
            if are_numbers == [False, True, True]:
                return inner, x, y, z
            is_alone = inner.result.has_one_use()
            if is_alone and loops_around(x) > max(map(loops_around, (y, z))):
                return inner, x, y, z
    return None


def loops_around(value: SSAValue) -> int:
    found, around = 0, value.owner.parent_op()
    while around is not None:
        found += isinstance(around, LOOPS)
        around = around.parent_op()
    return found


@dataclass(slots=True)
class Sharing:
    """Merges and moves the operations of one region and those in it, in one walk."""

    known: dict[Hashable, tuple[SSAValue, ...]] = field(default_factory=lambda: {})
    """The results of the operations that dominate the place where the walk is."""
    of_block: dict[Block, list[Hashable]] = field(default_factory=lambda: {})
    """What is no longer known behind each block around that place."""
    regroups: int = 0
    """How many sums and products were computed in another order."""

    def walk(self, region: Region) -> int:
        """Share in a region; its first block dominates the others.

        Returns:
            how many sums and products have other operands now, which may be folded.
        """
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
        return self.regroups

    def _forget(self, block: Block) -> None:
        for key in self.of_block.pop(block):
            self.known.pop(key, None)

    def _visit(self, op: Operation) -> None:
        for region in op.regions:
            if isinstance(op, SCOPES):
                self.walk(region)
            else:  # of which nothing is known
                self.regroups += Sharing().walk(region)
        if op.regions or not op.results or op.has_trait(IsTerminator):
            return
        if not (op.has_trait(ReadsLanes) or is_side_effect_free(op)):
            return
        if isinstance(op, SumOp):
            self._regroup(op)
        key = key_of(op)
        if (found := self.known.get(key)) is not None:
            Rewriter.replace_op(op, [], found)
            return
        self._move(op)
        assert op.parent is not None, op
        self.known[key] = tuple(op.results)
        self.of_block[op.parent].append(key)

    def _regroup(self, op: SumOp) -> None:
        """Compute `(x + y) + z` as `x + (y + z)` where that is better."""
        while (found := regrouped(op)) is not None:
            inner, x, y, z = found
            new = combined(type(op), y, z)
            new.location = op.location
            Rewriter.insert_op(new, InsertPoint.before(op))
            op.operands = x, new.results[0]
            op.overflow_flags = arith.IntegerOverflowAttr("none")
            self._visit(new)
            if not inner.result.uses:
                self.known.pop(key_of(inner), None)
                Rewriter.erase_op(inner)
            self.regroups += 1

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


def key_of(op: Operation) -> Hashable:
    """Return what an operation computes: those of one key give the same."""
    operands = op.operands
    if isinstance(op, SumOp):
        operands = tuple(sorted(operands, key=id))
    return (
        op.parent if op.has_trait(ReadsLanes) else None,
        op.name,
        operands,
        op.result_types,
        frozenset(op.properties.items()),
        frozenset(op.attributes.items()),
    )


def combined(make: type[SumOp], y: SSAValue, z: SSAValue) -> Operation:
    """Return the sum or the product of two values, a constant if these are."""
    type, one, other = y.type, numbers_of(y), numbers_of(z)
    if one is None or other is None:
        return make(y, z)
    if is_integer(type) or isinstance(type, IndexType):
        number = one[0] + other[0] if make is arith.AddiOp else one[0] * other[0]
        new = arith.ConstantOp.from_int_and_width(number, type, truncate_bits=True)
        if isinstance(type, IndexType):
            new.result.name_hint = f"c{number}" if number >= 0 else f"cm{-number}"
        return new
    return make(y, z)


class NormalizePass(ModulePass):
    name = "normalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        Sharing().walk(op.body)
        CanonicalizePass().apply(ctx, op)  # fewer operations to look at
        while Sharing().walk(op.body):  # what was folded may be equal, or a constant
            CanonicalizePass().apply(ctx, op)
