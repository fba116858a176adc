"""`math`: intrinsics of LLVM, else the C library or OpenCL's builtins.

On x86-64 LLVM calls the C library for most intrinsics, for a vector once a component.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm, math
from xdsl.ir import Operation

from coopc.emit.arith import no_i1
from coopc.emit.llvm.emission import PURE, Emission, Handlers
from coopc.emit.llvm.mangling import builtin
from coopc.emit.walker import Refusal
from coopc.llvm.types import FLOAT, I1, I32, component
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
    math.RsqrtOp: "rsqrt",
}
"""Functions of the C library and of OpenCL; the latter alone has rsqrt."""


def _float(e: Emission, op: Operation) -> None:
    xs = [e.value(x) for x in op.operands]
    exact, name = _EXACT.get(type(op)), _INTRINSICS.get(type(op))
    if exact is not None:
        found = e.intrinsic(exact, xs[0].type, xs)
    elif e.facts.gpu:
        found = _opencl(e, name or _FUNCTIONS[type(op)], xs)
    elif name is not None:
        found = e.intrinsic(name, xs[0].type, xs)
    else:
        found = _from_libm(e, _FUNCTIONS[type(op)], xs)
    e.set(op.results[0], found)


def _opencl(e: Emission, name: str, xs: Sequence[Value]) -> Value:
    full = builtin(f"__spirv_ocl_{name}", [x.type for x in xs])
    return e.call(full, xs[0].type, xs, attributes=PURE)


def _from_libm(e: Emission, name: str, xs: Sequence[Value]) -> Value:
    """A function of the C library, for each component."""
    type = component(xs[0].type)
    full = f"{name}f" if type == FLOAT else name
    rows = zip(*(e.components(x) for x in xs), strict=True)
    found = [e.call(full, type, row, attributes=PURE) for row in rows]
    return e.composed(xs[0].type, found)


for _op in (*_EXACT, *_INTRINSICS, *_FUNCTIONS):
    handlers.add(_op, _float)


@handlers.on(math.FmaOp)
def fma(e: Emission, op: math.FmaOp) -> None:
    """A product and a sum, rounded once."""
    xs = [e.value(x) for x in (op.a, op.b, op.c)]
    e.set(op.result, e.intrinsic("fma", xs[0].type, xs))


@handlers.on(math.FPowIOp)
def power(e: Emission, op: math.FPowIOp) -> None:
    """A float to the power of an integer of 32 bits."""
    x, n = e.value(op.lhs), e.value(op.rhs)
    if component(n.type) != I32:
        raise Refusal(f"expected an exponent of 32 bits, got {op.rhs.type}")
    name = builtin("__spirv_ocl_pown", (x.type, n.type))
    e.set(op.result, e.call(name, x.type, [x, n], attributes=PURE))


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
    e.set(op.res, e.f.binary("frem", e.value(op.lhs), e.value(op.rhs)))
