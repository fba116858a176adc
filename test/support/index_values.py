"""What index values are, by hand: for tests of code that counts with them."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from coopc.dialects import simt

COMPARED = {0: "eq", 1: "ne", 6: "ult", 7: "ule", 8: "ugt", 9: "uge"}
"""The predicates of `arith.cmpi` on numbers without signs."""


def value_of(value: SSAValue, known: Mapping[SSAValue, int], lane: int = 0) -> int:
    """Return the number that a value is.

    Args:
        value: an index or an i1, made by few operations of `arith`.
        known: the values that no operation makes.
        lane: the number of the lane.
    """
    if value in known:
        return known[value]
    op = value.owner
    assert isinstance(op, Operation), value
    if isinstance(op, simt.LaneIdOp):
        return lane
    if isinstance(op, arith.ConstantOp):
        assert isinstance(op.value, IntegerAttr)
        return op.value.value.data
    numbers = [value_of(operand, known, lane) for operand in op.operands]
    return _computed(op, numbers)


def _computed(op: Operation, numbers: list[int]) -> int:
    """Return the result of an operation on two numbers, or three."""
    x, y, *rest = numbers
    match op:
        case arith.AddiOp():
            return x + y
        case arith.MuliOp():
            return x * y
        case arith.DivUIOp():
            return x // y
        case arith.RemUIOp():
            return x % y
        case arith.MinUIOp():
            return min(x, y)
        case arith.AndIOp():
            return x & y
        case arith.SelectOp():
            return y if x else rest[0]
        case _:
            assert isinstance(op, arith.CmpiOp), op
            found = {"eq": x == y, "ne": x != y, "ult": x < y, "uge": x >= y}
            return int(found[COMPARED[op.predicate.value.data]])
