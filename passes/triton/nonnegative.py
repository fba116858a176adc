"""Integers that are known to be at least 0, as long as nothing overflows.

    tt.get_program_id x    pid / group    pid % group    min(pid, 8)    first + pid * 64

What indices are divided by are counts: of tiles, or of those in a group, which are
above 0 wherever a program runs.  So a quotient of what is at least 0 is at least 0.
What a program assumes where it has the value is known, too: `tl.assume(pid_m >= 0)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.dialects.arith import (
    AddiOp,
    AndIOp,
    CeilDivSIOp,
    CmpiOp,
    ConstantOp,
    DivSIOp,
    ExtSIOp,
    ExtUIOp,
    FloorDivSIOp,
    IndexCastOp,
    MaxSIOp,
    MinSIOp,
    MuliOp,
    RemSIOp,
    ShLIOp,
)
from xdsl.dialects.scf import ForOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from coopc.dialects import simt, tt
from coopc.dialects.llvm_target import AssumeOp
from coopc.rewrite.lane_facts import constant_number


def is_known_nonnegative(value: SSAValue) -> bool:
    """Whether a scalar integer is known to be at least 0."""
    owner = value.owner
    if _is_assumed(value):
        return True
    if isinstance(owner, Block):
        loop = owner.parent_op()
        assert isinstance(value, BlockArgument)
        if value.index != 0 or not isinstance(loop, ForOp):
            return False
        step = constant_number(loop.step)
        return step is not None and step > 0 and is_known_nonnegative(loop.lb)
    rule = _RULES.get(type(owner))
    return rule is not None and rule(owner)


def _is_assumed(value: SSAValue) -> bool:
    """Whether a value is assumed to be at least 0, in the block where it is made."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    for use in value.uses:
        if use.index != 0 or not isinstance(compare := use.operation, CmpiOp):
            continue
        least = _LEAST.get(compare.predicate.value.data)
        number = constant_number(compare.rhs)
        if least is None or number is None or number < least:
            continue
        users = (x.operation for x in compare.result.uses)
        if any(isinstance(x, AssumeOp) and x.parent is block for x in users):
            return True
    return False


_LEAST = {4: -1, 5: 0}
"""By predicate of `arith.cmpi`, sgt and sge: the least number that says it."""


def _all(op: Operation) -> bool:
    return all(map(is_known_nonnegative, op.operands))


def _any(op: Operation) -> bool:
    return any(map(is_known_nonnegative, op.operands))


def _constant(op: ConstantOp) -> bool:
    number = constant_number(op.result)
    return number is not None and number >= 0


def _quotient(op: DivSIOp | CeilDivSIOp | FloorDivSIOp) -> bool:
    by = constant_number(op.rhs)
    return is_known_nonnegative(op.lhs) and (by is None or by > 0)


_RULES: Mapping[type[Operation], Callable[[Any], bool]] = {
    AddiOp: _all,
    AndIOp: _any,
    CeilDivSIOp: _quotient,
    ConstantOp: _constant,
    DivSIOp: _quotient,
    ExtSIOp: _all,
    ExtUIOp: lambda op: True,
    IndexCastOp: _all,
    FloorDivSIOp: _quotient,
    MaxSIOp: _any,
    MinSIOp: _all,
    MuliOp: _all,
    ShLIOp: _all,
    RemSIOp: lambda op: is_known_nonnegative(op.lhs),  # which has the sign of that
    tt.GetNumProgramsOp: lambda op: True,
    tt.GetProgramIdOp: lambda op: True,
    simt.SubgroupIdOp: lambda op: True,
    simt.WorkgroupIdOp: lambda op: True,
}
"""What operations give; of all others nothing is known."""
