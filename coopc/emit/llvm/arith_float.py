"""`arith` on floats: arithmetic, extremes and comparison."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.ir import Operation

from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.floats import each_float, fast, is_bf16, widened
from coopc.emit.llvm.handlers import Handlers
from coopc.llvm.types import Float, Int, component, like
from coopc.llvm.values import Value

handlers = Handlers()

_BINARY: dict[type[Operation], str] = {
    arith.AddfOp: "fadd",
    arith.SubfOp: "fsub",
    arith.MulfOp: "fmul",
    arith.DivfOp: "fdiv",
}

_PREDICATES = (
    *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
    *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
)
"""In the order of arith's numbers."""


def _binary(e: Emission, op: arith.FloatingPointLikeBinaryOperation) -> None:
    opcode, flags = _BINARY[type(op)], fast(op.fastmath)

    def make(a: Value, b: Value) -> Value:
        return e.f.binary(opcode, a, b, flags)

    each_float(e, op.result, (op.lhs, op.rhs), make)


for _op in _BINARY:
    handlers.add(_op, _binary)


@handlers.on(arith.NegfOp)
def negate(e: Emission, op: arith.NegfOp) -> None:
    """The sign changed, of zeros and NaNs too."""

    def make(x: Value) -> Value:
        return e.f.unary("fneg", x)

    each_float(e, op.result, (op.operand,), make)


@handlers.on(arith.CmpfOp)
def compare(e: Emission, op: arith.CmpfOp) -> None:
    """A comparison; an ordered one is false of a NaN, an unordered one true."""
    a, b = e.value(op.lhs), e.value(op.rhs)
    if is_bf16(op.lhs.type):
        a, b = widened(e, a), widened(e, b)
    opcode = f"fcmp {_PREDICATES[op.predicate.value.data]}"
    e.set(op.result, e.f.compare(opcode, a, b))


def number_extreme(e: Emission, a: Value, b: Value, greater: bool) -> Value:
    """The greater or the smaller of two; of a number and a NaN, the number."""
    return e.intrinsic("maxnum" if greater else "minnum", a.type, [a, b])


def strict_extreme(e: Emission, a: Value, b: Value, greater: bool) -> Value:
    """The greater or the smaller of two; a NaN of either, and -0 below +0.

    LLVM has it, but its SPIR-V back end takes it for OpenCL's fmax.  There equal
    operands differ at most in the sign of a zero: the bits of both together are the
    smaller, those that both have the greater.
    """
    if not e.facts.gpu:
        return e.intrinsic("maximum" if greater else "minimum", a.type, [a, b])
    element = component(a.type)
    assert isinstance(element, Float), a
    bits = like(a.type, Int(element.bits))
    x, y = (e.f.cast("bitcast", each, bits) for each in (a, b))
    both = e.f.binary("and" if greater else "or", x, y)
    merged = e.f.cast("bitcast", both, a.type)
    equal = e.f.compare("fcmp oeq", a, b)
    ordered = e.f.select(equal, merged, number_extreme(e, a, b, greater))
    nan = e.f.binary("fadd", a, b)
    return e.f.select(e.f.compare("fcmp uno", a, b), nan, ordered)


def _extreme(
    make: Callable[[Emission, Value, Value, bool], Value], greater: bool
) -> Callable[[Emission, arith.FloatingPointLikeBinaryOperation], None]:
    def handler(e: Emission, op: arith.FloatingPointLikeBinaryOperation) -> None:
        def extreme(a: Value, b: Value) -> Value:
            return make(e, a, b, greater)

        each_float(e, op.result, (op.lhs, op.rhs), extreme)

    return handler


handlers.add(arith.MaxnumfOp, _extreme(number_extreme, greater=True))
handlers.add(arith.MinnumfOp, _extreme(number_extreme, greater=False))
handlers.add(arith.MaximumfOp, _extreme(strict_extreme, greater=True))
handlers.add(arith.MinimumfOp, _extreme(strict_extreme, greater=False))
