"""Multiplications of `xe`, as calls of builtins.

The builtin of SPV_INTEL_subgroup_matrix_multiply_accumulate takes K, A, B, C and flags
that say what the packed integers hold; its name is mangled for the types that
`coopc.emit.dpas_rules` has a table of.  Split DPAS is Intel's OpenCL builtin.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from coopc.dialects import xe
from coopc.dialects.xe import Precision
from coopc.emit.dpas_rules import check_dpas, check_split, check_split_dpas, flags_of
from coopc.emit.intel_names import split_name
from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.handlers import Handlers
from coopc.emit.llvm.mangling import builtin
from coopc.emit.llvm.xe import lanes_of, number
from coopc.llvm.types import FLOAT, I32, like
from coopc.llvm.values import Value
from coopc.spirv.grammar import enumeration

handlers = Handlers()

MULTIPLY = "__spirv_SubgroupMatrixMultiplyAccumulateINTEL"
_ATTRIBUTES = "convergent nounwind willreturn memory(none)"


@handlers.on(xe.DpasOp)
def dpas(e: Emission, op: xe.DpasOp) -> None:
    """One multiplication of the subgroup."""
    check_dpas(op, e.facts.device, lanes_of(e))
    sides = zip((op.a, op.b), op.precisions, strict=True)
    a, b = (_operand(e, value, precision) for value, precision in sides)
    c = e.value(op.c)
    mask = flag_bits(flags_of(op))
    name = builtin(MULTIPLY, (I32, a.type, b.type, c.type, I32))
    arguments = [number(op.precisions[0].k), a, b, c, number(mask)]
    e.set(op.result, e.call(name, c.type, arguments, attributes=_ATTRIBUTES))


def flag_bits(flags: str) -> int:
    """The number of some flags.

    >>> hex(flag_bits("MatrixAPackedFloat16INTEL|MatrixBPackedFloat16INTEL"))
    '0xc00'
    """
    return enumeration("MatrixMultiplyAccumulateOperands").value(flags)


def _operand(e: Emission, value: SSAValue, precision: Precision) -> Value:
    """An operand: the bits of tf32 as floats."""
    found = e.value(value)
    if precision is not Precision.TF32:
        return found
    return e.f.cast("bitcast", found, like(found.type, FLOAT))


@handlers.on(xe.SplitDpasOp)
def split_dpas(e: Emission, op: xe.SplitDpasOp) -> None:
    """A multiplication of two subgroups."""
    check_split(e.facts.device)
    check_split_dpas(op, e.facts.device, lanes_of(e))
    name = split_name(op.precisions, op.repeat.value.data)
    arguments = [e.value(value) for value in (op.a, op.b, op.c)]
    made = e.call(name, arguments[2].type, arguments, attributes=_ATTRIBUTES)
    e.set(op.result, made)
