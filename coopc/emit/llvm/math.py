"""`math`: intrinsics of LLVM, else the C library or OpenCL's builtins.

On x86-64 f16 is computed in f32.  LLVM calls the C library for most intrinsics, for a
vector once a component.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm, math
from xdsl.dialects.builtin import Float16Type
from xdsl.ir import Operation, SSAValue

from coopc.emit.llvm.arith import each_float, is_bf16, narrowed, no_i1, to_odd, widened
from coopc.emit.llvm.emission import PURE, Emission, Handlers
from coopc.emit.llvm.mangling import builtin
from coopc.emit.walker import Refusal, element_of
from coopc.llvm.types import DOUBLE, FLOAT, HALF, I1, I32, Type, component, like
from coopc.llvm.values import Value, integer

handlers = Handlers()

_EXACT: dict[type[Operation], str] = {
    math.AbsFOp: "fabs",
    math.CeilOp: "ceil",
    math.CopySignOp: "copysign",
    math.FloorOp: "floor",
    math.RoundEvenOp: "roundeven",
    math.RoundOp: "round",
    math.SqrtOp: "sqrt",
    math.TruncOp: "trunc",
}
"""Intrinsics that every target has instructions for."""

_INTRINSICS: dict[type[Operation], str] = {
    math.AcosOp: "acos",
    math.AsinOp: "asin",
    math.AtanOp: "atan",
    math.Atan2Op: "atan2",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.ExpOp: "exp",
    math.Exp2Op: "exp2",
    math.LogOp: "log",
    math.Log10Op: "log10",
    math.Log2Op: "log2",
    math.PowFOp: "pow",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
}
"""Intrinsics on x86-64; on spir64 OpenCL's builtins of the same names."""

_FUNCTIONS: dict[type[Operation], str] = {
    math.AcoshOp: "acosh",
    math.AsinhOp: "asinh",
    math.AtanhOp: "atanh",
    math.CbrtOp: "cbrt",
    math.ErfOp: "erf",
    math.ExpM1Op: "expm1",
    math.Log1pOp: "log1p",
}
"""Functions of the C library and of OpenCL."""


def _computed(e: Emission, op: Operation, *xs: Value) -> Value:
    """A function of floats of one type, which is no bf16."""
    if (name := _EXACT.get(type(op))) is not None:
        return e.intrinsic(name, xs[0].type, xs)
    if isinstance(op, math.RsqrtOp):
        if e.facts.gpu:
            return _opencl(e, "rsqrt", xs)
        root = e.intrinsic("sqrt", xs[0].type, xs)
        return e.f.binary("fdiv", e.real(root.type, 1.0), root)
    name = _INTRINSICS.get(type(op))
    if e.facts.gpu:
        return _opencl(e, name or _FUNCTIONS[type(op)], xs)
    if name is not None:
        return e.intrinsic(name, xs[0].type, xs)
    return _from_libm(e, _FUNCTIONS[type(op)], xs)


def _opencl(e: Emission, name: str, xs: Sequence[Value]) -> Value:
    """A builtin of OpenCL."""
    full = builtin(f"__spirv_ocl_{name}", [x.type for x in xs])
    return e.call(full, xs[0].type, xs, attributes=PURE)


def _from_libm(e: Emission, name: str, xs: Sequence[Value]) -> Value:
    """A function of the C library, for each component."""
    type = component(xs[0].type)
    full = f"{name}f" if type == FLOAT else name
    rows = zip(*(e.components(x) for x in xs), strict=True)
    found = [e.call(full, type, row, attributes=PURE) for row in rows]
    return e.gathered(xs[0].type, found)


def _float(e: Emission, op: Operation) -> None:
    result = op.results[0]

    def make(*xs: Value) -> Value:
        if e.facts.gpu or component(xs[0].type) != HALF:
            return _computed(e, op, *xs)
        single = like(xs[0].type, FLOAT)
        found = _computed(e, op, *(e.f.cast("fpext", x, single) for x in xs))
        return e.f.cast("fptrunc", found, xs[0].type)

    each_float(e, result, op.operands, make)


for _op in (*_EXACT, *_INTRINSICS, *_FUNCTIONS, math.RsqrtOp):
    handlers.add(_op, _float)


@handlers.on(math.FmaOp)
def fma(e: Emission, op: math.FmaOp) -> None:
    """A product and a sum, rounded once."""
    fused(e, op.result, (op.a, op.b, op.c))


def fused(e: Emission, result: SSAValue, operands: Sequence[SSAValue]) -> None:
    """Set a product and a sum, rounded once.

    On x86-64 the product of two f16 or bf16 is exact in f64, and the sum rounds once
    more at a bit that never decides.
    """
    short = is_bf16(result.type) or isinstance(element_of(result.type), Float16Type)
    if e.facts.gpu or not short:
        each_float(e, result, operands, lambda *xs: e.intrinsic("fma", xs[0].type, xs))
        return
    xs = [e.value(operand) for operand in operands]
    if is_bf16(result.type):
        xs = [widened(e, x) for x in xs]
    double = like(xs[0].type, DOUBLE)
    a, b, c = (e.f.cast("fpext", x, double) for x in xs)
    single = to_odd(e, e.f.binary("fadd", e.f.binary("fmul", a, b), c))
    half = like(double, HALF)
    rounded = narrowed(e, single) if is_bf16(result.type) else None
    e.set(result, rounded or e.f.cast("fptrunc", single, half))


@handlers.on(math.FPowIOp)
def power(e: Emission, op: math.FPowIOp) -> None:
    """A float to the power of an integer of 32 bits, which f64 holds exactly."""
    n = e.value(op.rhs)
    if component(n.type) != I32:
        raise Refusal(f"expected an exponent of 32 bits, got {op.rhs.type}")

    def make(x: Value) -> Value:
        if e.facts.gpu:
            name = builtin("__spirv_ocl_pown", (x.type, n.type))
            return e.call(name, x.type, [x, n], attributes=PURE)
        double: Type = like(x.type, DOUBLE)
        wide = e.f.cast("fpext", x, double)
        exponent = e.f.cast("sitofp", n, double)
        found = e.intrinsic("pow", double, [wide, exponent])
        if component(x.type) == HALF:
            found = to_odd(e, found)
        return e.f.cast("fptrunc", found, x.type)

    each_float(e, op.result, (op.lhs,), make)


@handlers.on(math.AbsIOp)
def abs_integer(e: Emission, op: math.AbsIOp) -> None:
    """The magnitude of a signed integer; the least one stays as it is."""
    _with_flag(e, op, "abs")


@handlers.on(math.CountLeadingZerosOp)
def leading_zeros(e: Emission, op: math.CountLeadingZerosOp) -> None:
    """How many bits above the highest 1; all of them for 0."""
    _with_flag(e, op, "ctlz")


@handlers.on(math.CountTrailingZerosOp)
def trailing_zeros(e: Emission, op: math.CountTrailingZerosOp) -> None:
    """How many bits below the lowest 1; all of them for 0."""
    _with_flag(e, op, "cttz")


def _with_flag(e: Emission, op: Operation, name: str) -> None:
    """An intrinsic with a flag that says that no operand is excluded."""
    no_i1(op)
    x = e.value(op.operands[0])
    found = e.intrinsic(name, x.type, [x, integer(I1, 0)])
    e.set(op.results[0], found)


@handlers.on(math.CtPopOp)
def ones(e: Emission, op: math.CtPopOp) -> None:
    """How many bits are 1."""
    no_i1(op)
    x = e.value(op.operand)
    e.set(op.result, e.intrinsic("ctpop", x.type, [x]))


# `llvm.frem`: the remainder of floats, for which `arith` of xDSL has no operation.


@handlers.on(llvm.FRemOp)
def remainder(e: Emission, op: llvm.FRemOp) -> None:
    """The remainder with the sign of the dividend, which is exact."""

    def make(a: Value, b: Value) -> Value:
        return e.f.binary("frem", a, b)

    each_float(e, op.res, (op.lhs, op.rhs), make)
