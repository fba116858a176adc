"""Index arithmetic that is no more than it has to be: sums with a constant.

`i + 0` is `i`, a sum of constants is a constant, and `(i + 8) + 8` is `i + 16`.
"""

from __future__ import annotations

from xdsl.dialects.arith import AddiOp, ConstantOp, MuliOp
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.scf import ForOp
from xdsl.ir import BlockArgument, SSAValue

from coopc.dialects.simt import DimensionOp, IdOp
from coopc.ir.builder import INDEX, Builder


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


def moved(b: Builder, value: SSAValue, by: int) -> SSAValue:
    """Return the sum of an index and a number; there is none to add where it is 0."""
    if by == 0:
        return value
    base, offset = base_and_offset(value)
    offset += by
    if base is None:
        return b.constant(INDEX, offset)
    if offset == 0:
        return base
    found = b.pure(AddiOp, base, b.constant(INDEX, offset))
    if base.name_hint is not None:
        sign = "plus" if offset > 0 else "minus"
        found.name_hint = f"{base.name_hint}_{sign}{abs(offset)}"
    return found
