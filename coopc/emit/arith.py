"""`arith` and `math` in any target: one table of spellings, and what is checked."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
)
from xdsl.ir import Attribute, Operation

from coopc.dialects.math_forms import ErfcOp
from coopc.dialects.shaped_arith import IndexCastUIOp, RemfOp
from coopc.emit.emission import AnyEmission
from coopc.emit.walker import Handlers, NoForm, count_of, element_of, is_i1

handlers = Handlers[AnyEmission]()

INSTRUCTIONS: dict[type[Operation], tuple[str, str]] = {
    arith.AddiOp: ("OpIAdd", "add"),
    arith.SubiOp: ("OpISub", "sub"),
    arith.MuliOp: ("OpIMul", "mul"),
    arith.DivUIOp: ("OpUDiv", "udiv"),
    arith.DivSIOp: ("OpSDiv", "sdiv"),
    arith.RemUIOp: ("OpUMod", "urem"),
    arith.RemSIOp: ("OpSRem", "srem"),
    arith.AndIOp: ("OpBitwiseAnd", "and"),
    arith.OrIOp: ("OpBitwiseOr", "or"),
    arith.XOrIOp: ("OpBitwiseXor", "xor"),
    arith.ShLIOp: ("OpShiftLeftLogical", "shl"),
    arith.ShRUIOp: ("OpShiftRightLogical", "lshr"),
    arith.ShRSIOp: ("OpShiftRightArithmetic", "ashr"),
    arith.AddfOp: ("OpFAdd", "fadd"),
    arith.SubfOp: ("OpFSub", "fsub"),
    arith.MulfOp: ("OpFMul", "fmul"),
    arith.DivfOp: ("OpFDiv", "fdiv"),
    arith.NegfOp: ("OpFNegate", "fneg"),
    RemfOp: ("OpFRem", "frem"),
}
"""Instructions of SPIR-V and of LLVM IR whose operands and result have one type."""

CASTS: dict[type[Operation], tuple[str, str]] = {
    arith.ExtSIOp: ("OpSConvert", "sext"),
    arith.ExtUIOp: ("OpUConvert", "zext"),
    arith.TruncIOp: ("OpUConvert", "trunc"),
    arith.IndexCastOp: ("OpSConvert", "sext"),
    IndexCastUIOp: ("OpUConvert", "zext"),
    arith.SIToFPOp: ("OpConvertSToF", "sitofp"),
    arith.UIToFPOp: ("OpConvertUToF", "uitofp"),
    arith.FPToSIOp: ("OpConvertFToS", "fptosi"),
    arith.FPToUIOp: ("OpConvertFToU", "fptoui"),
    arith.ExtFOp: ("OpFConvert", "fpext"),
    arith.TruncFOp: ("OpFConvert", "fptrunc"),
}
"""Conversions.  Floats are rounded to nearest even, and towards zero to integers."""

INTEGER_PREDICATES = (
    ("OpIEqual", "eq"),
    ("OpINotEqual", "ne"),
    ("OpSLessThan", "slt"),
    ("OpSLessThanEqual", "sle"),
    ("OpSGreaterThan", "sgt"),
    ("OpSGreaterThanEqual", "sge"),
    ("OpULessThan", "ult"),
    ("OpULessThanEqual", "ule"),
    ("OpUGreaterThan", "ugt"),
    ("OpUGreaterThanEqual", "uge"),
)
"""In the order of arith's numbers."""

FLOAT_PREDICATES = (
    ("", "false"),
    ("OpFOrdEqual", "oeq"),
    ("OpFOrdGreaterThan", "ogt"),
    ("OpFOrdGreaterThanEqual", "oge"),
    ("OpFOrdLessThan", "olt"),
    ("OpFOrdLessThanEqual", "ole"),
    ("OpFOrdNotEqual", "one"),
    ("OpOrdered", "ord"),
    ("OpFUnordEqual", "ueq"),
    ("OpFUnordGreaterThan", "ugt"),
    ("OpFUnordGreaterThanEqual", "uge"),
    ("OpFUnordLessThan", "ult"),
    ("OpFUnordLessThanEqual", "ule"),
    ("OpFUnordNotEqual", "une"),
    ("OpUnordered", "uno"),
    ("", "true"),
)
"""In the order of arith's numbers; an ordered comparison is false of a NaN, an
unordered one true.  SPIR-V's false and true are expanded."""

_IN_ALL = (
    *(math.AcosOp, math.AcoshOp, math.AsinOp, math.AsinhOp, math.AtanOp, math.Atan2Op),
    *(math.AtanhOp, math.CeilOp, math.CosOp, math.CoshOp, math.ExpOp, math.Exp2Op),
    *(math.FloorOp, math.FmaOp, math.LogOp, math.Log2Op, math.SinOp, math.SinhOp),
    *(math.SqrtOp, math.TanOp, math.TanhOp, math.TruncOp),
)
"""Functions that all have by the names of the operations, with a capital in GLSL."""
_NOT_IN_GLSL = (
    *(math.CbrtOp, math.CopySignOp, math.ErfOp, math.ExpM1Op, math.Log10Op),
    *(math.Log1pOp, math.RoundOp, ErfcOp),
)


def _alike(op: type[Operation]) -> tuple[str, str | None, str]:
    name = op.name.removeprefix("math.")
    return name, None if op in _NOT_IN_GLSL else name.capitalize(), name


FUNCTIONS: dict[type[Operation], tuple[str, str | None, str]] = {
    **{op: _alike(op) for op in (*_IN_ALL, *_NOT_IN_GLSL)},
    arith.MinUIOp: ("u_min", "UMin", "umin"),
    arith.MaxUIOp: ("u_max", "UMax", "umax"),
    arith.MinSIOp: ("s_min", "SMin", "smin"),
    arith.MaxSIOp: ("s_max", "SMax", "smax"),
    # Of a number and a NaN, the number.
    arith.MaxnumfOp: ("fmax", "NMax", "maxnum"),
    arith.MinnumfOp: ("fmin", "NMin", "minnum"),
    math.AbsFOp: ("fabs", "FAbs", "fabs"),
    math.PowFOp: ("pow", "Pow", "pow"),
    math.RoundEvenOp: ("rint", "RoundEven", "roundeven"),
    math.RsqrtOp: ("rsqrt", "InverseSqrt", "rsqrt"),
    vector.FMAOp: ("fma", "Fma", "fma"),
}
"""Functions: in OpenCL.std; in GLSL.std.450, where it has it; in LLVM IR."""

COUNTS: dict[type[Operation], tuple[str, str]] = {
    math.AbsIOp: ("s_abs", "abs"),
    math.CountLeadingZerosOp: ("clz", "ctlz"),
    math.CountTrailingZerosOp: ("ctz", "cttz"),
    math.CtPopOp: ("popcount", "ctpop"),
}
"""Functions of integers, in OpenCL.std and in LLVM IR: the magnitude, which is the
least number of itself, and how many bits are above the highest 1, below the lowest 1,
or 1; all of them for 0."""


def is_bf16(type: Attribute) -> bool:
    """Whether a number or the components of a vector are bf16."""
    return isinstance(element_of(type), BFloat16Type)


@handlers.on(arith.ConstantOp)
def constant(e: AnyEmission, op: arith.ConstantOp) -> None:
    type = op.result.type
    values: Any
    match op.value:
        case IntegerAttr(value=number) | FloatAttr(value=number):
            values = [number.data]
        case DenseIntOrFPElementsAttr() as dense:
            values = dense.get_values()
            if dense.is_splat():
                values = values[:1] * count_of(type)
        case other:
            raise NoForm(f"expected numbers, got {other}")
    if any(isinstance(value, tuple) for value in values):
        raise NoForm(f"expected a vector of real numbers, got {type}")
    element = element_of(type)
    e.set(op.result, e.constant(type, [e.types.constant(element, x) for x in values]))


def unwrapped(op: Operation) -> list[str]:
    """What an operation on integers says that it does not do: nsw, nuw."""
    if not isinstance(op, arith.SignlessIntegerBinaryOperationWithOverflow):
        return []
    flags = arith.IntegerOverflowFlag.NSW, arith.IntegerOverflowFlag.NUW
    return [flag.value for flag in flags if flag in op.overflow_flags.data]


def check_same_bits(op: Operation, bits: int, wanted: int) -> None:
    """Check that bits can be those of another type; an i1 has none in memory.

    Raises:
        NoForm: they cannot.
    """
    source, result = op.operands[0].type, op.results[0].type
    if source != result and (is_i1(source) or is_i1(result)):
        raise NoForm("expected a type with a place in memory, got i1")
    if bits != wanted:
        raise NoForm(
            f"expected types of one width, got {source} of {bits} bits and {result} of "
            f"{wanted}"
        )
