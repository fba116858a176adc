"""Index arithmetic that is no more than it has to be: sums with a constant, each once.

`i + 0` is `i`, a sum of constants is a constant, `(i + 8) + 8` is `i + 16`, and no sum
is computed twice.
"""

from dataclasses import dataclass, field

from xdsl.dialects.arith import AddiOp, ConstantOp, MuliOp
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.dialects.scf import ForOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects.simt.ids import DimensionOp, IdOp


def constant_index(value: SSAValue) -> int | None:
    """Return the number that `arith.constant` gives an index; None for others."""
    if isinstance(op := value.owner, ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


def never_negative(value: SSAValue) -> bool:
    """Whether an index is known to be 0 or more, as long as no sum overflows.

    Constants are, numbers of work-items, counters of loops from such a number, and sums
    and products of them.
    """
    if isinstance(value, BlockArgument):
        loop = value.block.parent_op()
        return isinstance(loop, ForOp) and value.index == 0 and never_negative(loop.lb)
    if (number := constant_index(value)) is not None:
        return number >= 0
    if isinstance(op := value.owner, AddiOp | MuliOp):
        return never_negative(op.lhs) and never_negative(op.rhs)
    return isinstance(op, DimensionOp | IdOp)


def base_and_offset(value: SSAValue) -> tuple[SSAValue | None, int]:
    """Return what an index is the sum of: a value that is no such sum, and a number.

    The value is None where the index is a constant.
    """
    offset = 0
    while True:
        if (number := constant_index(value)) is not None:
            return None, offset + number
        if not isinstance(op := value.owner, AddiOp):
            return value, offset
        if (number := constant_index(op.rhs)) is not None:
            value = op.lhs
        elif (number := constant_index(op.lhs)) is not None:
            value = op.rhs
        else:
            return value, offset
        offset += number


@dataclass(slots=True)
class IndexSums:
    """The sums that a program has so far, each where its value is defined.

    So a sum with what does not change in a loop is not in the loop.
    """

    sums: dict[tuple[SSAValue, int], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, int], SSAValue]
    )
    constants: dict[tuple[Block, int], ConstantOp] = field(
        default_factory=dict[tuple[Block, int], ConstantOp]
    )
    last: dict[Block, ConstantOp] = field(default_factory=dict[Block, ConstantOp])
    """The constant that a block got last."""

    def add(self, value: SSAValue, number: int, user: Operation) -> SSAValue:
        """Return `value + number`, for an operation that may use `value`."""
        if number == 0:
            return value
        base, offset = base_and_offset(value)
        offset += number
        if base is None:
            return self._constant(offset, value, user).result
        if offset == 0:
            return base
        if (found := self.sums.get((base, offset))) is None:
            found = self.sums[base, offset] = self._sum(base, offset, user)
        return found

    def _sum(self, base: SSAValue, offset: int, user: Operation) -> SSAValue:
        """Add a sum after what it is a sum of."""
        constant = self._constant(offset, base, user)
        new = AddiOp(base, constant.result)
        new.location = user.location
        if base.name_hint is not None:
            sign = "plus" if offset > 0 else "minus"
            new.result.name_hint = f"{base.name_hint}_{sign}{abs(offset)}"
        owner = base.owner
        after = owner if isinstance(owner, Operation) else self.last[owner]
        Rewriter.insert_op(new, InsertPoint.after(after))
        return new.result

    def _constant(self, number: int, near: SSAValue, user: Operation) -> ConstantOp:
        """Return a constant, at the start of the block that defines a value."""
        owner = near.owner
        block = owner if isinstance(owner, Block) else owner.parent
        assert block is not None, near
        if (found := self.constants.get((block, number))) is None:
            found = ConstantOp(IntegerAttr(number, IndexType()))
            found.location = user.location
            found.result.name_hint = f"c{number}" if number >= 0 else f"cm{-number}"
            last = self.last.get(block)
            point = InsertPoint.after(last) if last else InsertPoint.at_start(block)
            Rewriter.insert_op(found, point)
            self.constants[block, number] = self.last[block] = found
        return found
