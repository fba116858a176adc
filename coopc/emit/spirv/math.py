"""`math`: OpenCL.std has it all, GLSL.std.450 some: `expand-math` computes the others.

GLSL's functions take f16 and f32; those that only look at bits take f64 too.
"""

from __future__ import annotations

from xdsl.dialects import llvm, math
from xdsl.dialects.builtin import Float64Type
from xdsl.ir import Operation

from coopc.emit.arith import is_i1, no_i1
from coopc.emit.spirv.emission import Emission, Handlers
from coopc.emit.walker import Refusal, element_of
from coopc.spirv.instruction import Id

handlers = Handlers()

_FLOAT: dict[type[Operation], tuple[str, str | None]] = {
    math.AbsFOp: ("fabs", "FAbs"),
    math.AcosOp: ("acos", "Acos"),
    math.AcoshOp: ("acosh", "Acosh"),
    math.AsinOp: ("asin", "Asin"),
    math.AsinhOp: ("asinh", "Asinh"),
    math.AtanOp: ("atan", "Atan"),
    math.Atan2Op: ("atan2", "Atan2"),
    math.AtanhOp: ("atanh", "Atanh"),
    math.CbrtOp: ("cbrt", None),
    math.CeilOp: ("ceil", "Ceil"),
    math.CopySignOp: ("copysign", None),
    math.CosOp: ("cos", "Cos"),
    math.CoshOp: ("cosh", "Cosh"),
    math.ErfOp: ("erf", None),
    math.ExpOp: ("exp", "Exp"),
    math.Exp2Op: ("exp2", "Exp2"),
    math.ExpM1Op: ("expm1", None),
    math.FloorOp: ("floor", "Floor"),
    math.FmaOp: ("fma", "Fma"),
    math.LogOp: ("log", "Log"),
    math.Log10Op: ("log10", None),
    math.Log1pOp: ("log1p", None),
    math.Log2Op: ("log2", "Log2"),
    math.PowFOp: ("pow", "Pow"),
    math.RoundOp: ("round", None),
    math.RoundEvenOp: ("rint", "RoundEven"),
    math.RsqrtOp: ("rsqrt", "InverseSqrt"),
    math.SinOp: ("sin", "Sin"),
    math.SinhOp: ("sinh", "Sinh"),
    math.SqrtOp: ("sqrt", "Sqrt"),
    math.TanOp: ("tan", "Tan"),
    math.TanhOp: ("tanh", "Tanh"),
    math.TruncOp: ("trunc", "Trunc"),
}
"""In OpenCL.std; and in GLSL.std.450, where it has it."""

_GLSL_F64 = (
    math.AbsFOp,
    math.CeilOp,
    math.FloorOp,
    math.FmaOp,
    math.RoundEvenOp,
    math.RsqrtOp,
    math.SqrtOp,
    math.TruncOp,
)
"""What GLSL.std.450 has of f64."""


def _float(e: Emission, op: Operation) -> None:
    opencl, glsl = _FLOAT[type(op)]
    name = glsl if e.facts.vulkan else opencl
    if name is None:
        raise Refusal(f"GLSL.std.450 has no {opencl}, and Vulkan no other")
    wide = isinstance(element_of(op.results[0].type), Float64Type)
    if wide and e.facts.vulkan and not isinstance(op, _GLSL_F64):
        raise Refusal(f"GLSL.std.450 has {opencl} of f16 and f32, got f64")

    def make(to: Id, *ids: Id) -> Id:
        return e.ext(name, *ids, type=to)

    e.each(op.results[0], op.operands, make)


for _op in _FLOAT:
    handlers.add(_op, _float)


@handlers.on(math.FPowIOp)
def power(e: Emission, op: math.FPowIOp) -> None:
    if is_i1(op.rhs.type):
        raise Refusal("expected an exponent of 8 bits or more, got i1")
    if e.facts.vulkan:
        raise Refusal("GLSL.std.450 has pow of f16 and f32, got f64")
    if e.types.bits(element_of(op.rhs.type)) != 32:
        raise Refusal(f"expected an exponent of 32 bits, got {op.rhs.type}")
    operands = op.lhs, op.rhs
    e.each(op.result, operands, lambda to, x, n: e.ext("pown", x, n, type=to))


@handlers.on(math.AbsIOp)
def abs_integer(e: Emission, op: math.AbsIOp) -> None:
    """The magnitude of a signed integer; the least one stays as it is."""
    no_i1(op)
    name = "SAbs" if e.facts.vulkan else "s_abs"
    e.each(op.result, (op.operand,), lambda to, x: e.ext(name, x, type=to))


_COUNTS: dict[type[Operation], str] = {
    math.CountLeadingZerosOp: "clz",
    math.CountTrailingZerosOp: "ctz",
    math.CtPopOp: "popcount",
}


def _count(e: Emission, op: Operation) -> None:
    no_i1(op)
    (x,), (result,) = op.operands, op.results

    def glsl(to: Id, x: Id) -> Id:
        """Of 32 bits, of which it gives -1 for 0."""
        match op:
            case math.CountLeadingZerosOp():
                highest = e.ext("FindUMsb", x, type=to)
                return e.emit("OpISub", e.number(to, 31), highest, type=to)
            case math.CountTrailingZerosOp():
                # -1 is the greatest of unsigned numbers.
                lowest = e.ext("FindILsb", x, type=to)
                return e.ext("UMin", lowest, e.number(to, 32), type=to)
            case _:
                return e.emit("OpBitCount", x, type=to)

    def opencl(to: Id, x: Id) -> Id:
        return e.ext(_COUNTS[type(op)], x, type=to)

    e.each(result, (x,), glsl if e.facts.vulkan else opencl)


for _op in _COUNTS:
    handlers.add(_op, _count)


# `llvm.frem`: the remainder of floats, for which `arith` of xDSL has no operation.


@handlers.on(llvm.FRemOp)
def remainder(e: Emission, op: llvm.FRemOp) -> None:
    """OpFRem, which is exact under OpenCL; `expand-math` computes it under Vulkan."""
    e.whole.strict = True
    operands = op.lhs, op.rhs
    e.each(op.res, operands, lambda to, x, y: e.emit("OpFRem", x, y, type=to))
