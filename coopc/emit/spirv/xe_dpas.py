"""Multiplications of `xe`: SPV_INTEL_subgroup_matrix_multiply_accumulate, and builtins.

`coopc.emit.dpas_rules` has the operands and the flags of
OpSubgroupMatrixMultiplyAccumulateINTEL.  Split DPAS has no instruction: it is Intel's
OpenCL builtin.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from coopc.dialects import xe
from coopc.dialects.xe import Precision
from coopc.emit.dpas_rules import check_dpas, check_split, check_split_dpas, flags_of
from coopc.emit.elements import count_of
from coopc.emit.intel_names import split_name
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.handlers import Handlers
from coopc.emit.spirv.xe import call, lanes_of, number
from coopc.spirv.instruction import Id

handlers = Handlers()


@handlers.on(xe.DpasOp)
def dpas(e: Emission, op: xe.DpasOp) -> None:
    """One multiplication of the subgroup."""
    check_dpas(op, e.facts.device, lanes_of(e))
    sides = zip((op.a, op.b), op.precisions, strict=True)
    a, b = (_operand(e, value, precision) for value, precision in sides)
    (type,) = e.types.parts(op.result.type)
    k = number(e, op.precisions[0].k)
    name = "OpSubgroupMatrixMultiplyAccumulateINTEL"
    e.set(op.result, (e.emit(name, k, a, b, e.id(op.c), flags_of(op), type=type),))


def _operand(e: Emission, value: SSAValue, precision: Precision) -> Id:
    """An operand: the bits of tf32 as floats."""
    id = e.id(value)
    if precision is not Precision.TF32:
        return id
    type = e.types.vector(e.types.f32, count_of(value.type))
    return e.emit("OpBitcast", id, type=type)


@handlers.on(xe.SplitDpasOp)
def split_dpas(e: Emission, op: xe.SplitDpasOp) -> None:
    """A multiplication of two subgroups."""
    check_split(e.facts.device)
    check_split_dpas(op, e.facts.device, lanes_of(e))
    (type,) = e.types.parts(op.result.type)
    name = split_name(op.precisions, op.repeat.value.data)
    arguments = [e.id(value) for value in (op.a, op.b, op.c)]
    e.set(op.result, (call(e, name, type, arguments),))
