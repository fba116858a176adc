"""`math`: OpenCL.std has it all; GLSL.std.450 has some, and some is computed from it.

GLSL's functions take f16 and f32; those that only look at bits take f64 too.  What GLSL
lacks is computed to the same accuracy where that is known how, else refused: erf,
and powers of integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import math
from xdsl.dialects.builtin import Float64Type
from xdsl.ir import Operation, SSAValue

from coopc.emit.elements import element_of
from coopc.emit.spirv import math_glsl
from coopc.emit.spirv.arith_integer import is_i1, no_i1
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.floats import each_float
from coopc.emit.spirv.handlers import Handlers
from coopc.emit.structured import Refusal
from coopc.spirv.instruction import Id

handlers = Handlers()

Formula: TypeAlias = Callable[..., Id]
"""`formula(e, type, *operands)`: a part of the result."""

_FLOAT: dict[type[Operation], tuple[str, str | Formula | None]] = {
    math.AbsFOp: ("fabs", "FAbs"),
    math.AcosOp: ("acos", "Acos"),
    math.AcoshOp: ("acosh", "Acosh"),
    math.AsinOp: ("asin", "Asin"),
    math.AsinhOp: ("asinh", "Asinh"),
    math.AtanOp: ("atan", "Atan"),
    math.Atan2Op: ("atan2", "Atan2"),
    math.AtanhOp: ("atanh", "Atanh"),
    math.CbrtOp: ("cbrt", math_glsl.cbrt),
    math.CeilOp: ("ceil", "Ceil"),
    math.CopySignOp: ("copysign", math_glsl.copysign),
    math.CosOp: ("cos", "Cos"),
    math.CoshOp: ("cosh", "Cosh"),
    math.ErfOp: ("erf", None),
    math.ExpOp: ("exp", "Exp"),
    math.Exp2Op: ("exp2", "Exp2"),
    math.ExpM1Op: ("expm1", math_glsl.expm1),
    math.FloorOp: ("floor", "Floor"),
    math.FmaOp: ("fma", "Fma"),
    math.LogOp: ("log", "Log"),
    math.Log10Op: ("log10", math_glsl.log10),
    math.Log1pOp: ("log1p", math_glsl.log1p),
    math.Log2Op: ("log2", "Log2"),
    math.PowFOp: ("pow", "Pow"),
    math.RoundOp: ("round", math_glsl.round_away),
    math.RoundEvenOp: ("rint", "RoundEven"),
    math.RsqrtOp: ("rsqrt", "InverseSqrt"),
    math.SinOp: ("sin", "Sin"),
    math.SinhOp: ("sinh", "Sinh"),
    math.SqrtOp: ("sqrt", "Sqrt"),
    math.TanOp: ("tan", "Tan"),
    math.TanhOp: ("tanh", "Tanh"),
    math.TruncOp: ("trunc", "Trunc"),
}
"""In OpenCL.std; and in GLSL.std.450, or how it is computed there."""

_GLSL_F64 = (
    math.AbsFOp,
    math.CeilOp,
    math.CopySignOp,
    math.FloorOp,
    math.FmaOp,
    math.RoundEvenOp,
    math.RoundOp,
    math.RsqrtOp,
    math.SqrtOp,
    math.TruncOp,
)
"""What GLSL.std.450 has of f64."""


def _float(e: Emission, op: Operation) -> None:
    apply(e, op, op.results[0], op.operands)


def apply(
    e: Emission, op: Operation, result: SSAValue, operands: Sequence[SSAValue]
) -> None:
    """Set a result to a function of floats."""
    opencl, glsl = _FLOAT[type(op)]
    form = glsl if e.facts.vulkan else opencl
    if form is None:
        raise Refusal(f"GLSL.std.450 has no {opencl}, and Vulkan no other")
    wide = isinstance(element_of(result.type), Float64Type)
    if wide and e.facts.vulkan and not isinstance(op, _GLSL_F64):
        raise Refusal(f"GLSL.std.450 has {opencl} of f16 and f32, got f64")

    def make(to: Id, *ids: Id) -> Id:
        return _called(e, form, to, *ids)

    each_float(e, result, operands, make)


def _called(e: Emission, form: str | Formula, to: Id, *ids: Id) -> Id:
    if isinstance(form, str):
        return e.ext(form, *ids, type=to)
    return form(e, to, *ids)


for _op in _FLOAT:
    handlers.add(_op, _float)


def fused(e: Emission, result: SSAValue, operands: Sequence[SSAValue]) -> None:
    """A product and a sum, rounded once."""
    name = "Fma" if e.facts.vulkan else "fma"

    def make(to: Id, *ids: Id) -> Id:
        return e.ext(name, *ids, type=to)

    each_float(e, result, operands, make)


@handlers.on(math.FPowIOp)
def power(e: Emission, op: math.FPowIOp) -> None:
    """A float to the power of an integer."""
    if is_i1(op.rhs.type):
        raise Refusal("expected an exponent of 8 bits or more, got i1")
    if not e.facts.vulkan:
        if e.types.bits(element_of(op.rhs.type)) != 32:
            raise Refusal(f"expected an exponent of 32 bits, got {op.rhs.type}")
        form: str | Formula = "pown"
    else:
        form = math_glsl.pown
        if isinstance(element_of(op.result.type), Float64Type):
            raise Refusal("GLSL.std.450 has pow of f16 and f32, got f64")
    each_float_and_integer(e, op, form)


def each_float_and_integer(e: Emission, op: math.FPowIOp, form: str | Formula) -> None:
    """Set the result of a function of a float and an integer, part by part."""
    exponents = iter(e.parts(op.rhs))
    each_float(
        e,
        op.result,
        (op.lhs,),
        lambda to, x: _called(e, form, to, x, next(exponents)),
    )


@handlers.on(math.AbsIOp)
def abs_integer(e: Emission, op: math.AbsIOp) -> None:
    """The magnitude of a signed integer; the least one stays as it is."""
    no_i1(op)
    name = "SAbs" if e.facts.vulkan else "s_abs"
    e.each(op.result, (op.operand,), lambda to, x: e.ext(name, x, type=to))


_COUNTS: dict[type[Operation], tuple[str, Formula]] = {
    math.CountLeadingZerosOp: ("clz", math_glsl.leading_zeros),
    math.CountTrailingZerosOp: ("ctz", math_glsl.trailing_zeros),
    math.CtPopOp: ("popcount", math_glsl.ones),
}


def _count(e: Emission, op: math.CtPopOp) -> None:
    """How many bits: leading zeros, trailing zeros or ones."""
    no_i1(op)
    opencl, glsl = _COUNTS[type(op)]
    form = glsl if e.facts.vulkan else opencl
    e.each(op.result, (op.operand,), lambda to, x: _called(e, form, to, x))


for _op in _COUNTS:
    handlers.add(_op, _count)
