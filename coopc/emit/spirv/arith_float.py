"""`arith` on floats: arithmetic, extremes and comparison."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.ir import Operation

from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.floats import each_float, is_bf16, relaxed, widened
from coopc.emit.spirv.handlers import Handlers
from coopc.spirv.instruction import Id

handlers = Handlers()

_BINARY: dict[type[Operation], str] = {
    arith.AddfOp: "OpFAdd",
    arith.SubfOp: "OpFSub",
    arith.MulfOp: "OpFMul",
    arith.DivfOp: "OpFDiv",
}

_PREDICATES: dict[int, str] = {
    1: "OpFOrdEqual",
    2: "OpFOrdGreaterThan",
    3: "OpFOrdGreaterThanEqual",
    4: "OpFOrdLessThan",
    5: "OpFOrdLessThanEqual",
    6: "OpFOrdNotEqual",
    7: "OpOrdered",
    8: "OpFUnordEqual",
    9: "OpFUnordGreaterThan",
    10: "OpFUnordGreaterThanEqual",
    11: "OpFUnordLessThan",
    12: "OpFUnordLessThanEqual",
    13: "OpFUnordNotEqual",
    14: "OpUnordered",
}
"""By arith's number; 0 and 15 are false and true."""


def _binary(e: Emission, op: arith.FloatingPointLikeBinaryOperation) -> None:
    opcode = _BINARY[type(op)]

    exact = opcode != "OpFDiv" or e.facts.device.exact_quotients

    def make(to: Id, a: Id, b: Id) -> Id:
        if not exact:
            # A NaN by a NaN is one too; the compiler sees no constant to divide.
            nan = e.emit("OpFUnordNotEqual", b, b, type=e.bools(to))
            a = e.emit("OpSelect", nan, b, a, type=to)
        return relaxed(e, opcode, e.emit(opcode, a, b, type=to), op.fastmath)

    each_float(e, op.result, (op.lhs, op.rhs), make)


for _op in _BINARY:
    handlers.add(_op, _binary)


@handlers.on(arith.NegfOp)
def negate(e: Emission, op: arith.NegfOp) -> None:
    """The sign changed, of zeros and NaNs too."""
    each_float(
        e, op.result, (op.operand,), lambda to, x: e.emit("OpFNegate", x, type=to)
    )


@handlers.on(arith.CmpfOp)
def compare(e: Emission, op: arith.CmpfOp) -> None:
    """A comparison; an ordered one is false of a NaN, an unordered one true."""
    e.whole.strict = True
    number = op.predicate.value.data
    e.each(
        op.result, (op.lhs, op.rhs), lambda to, a, b: _compared(e, op, number, to, a, b)
    )


def _compared(e: Emission, op: arith.CmpfOp, number: int, bool: Id, a: Id, b: Id) -> Id:
    """One part of a comparison, by the number of the predicate."""
    if is_bf16(op.lhs.type):
        a, b = widened(e, a), widened(e, b)
    opcode = _PREDICATES.get(number)
    if opcode is None:
        one = e.module.constant(e.types.bool, number == 15)
        if bool is e.types.bool:
            return one
        ones = [one] * e.types.width(bool)
        return e.emit("OpCompositeConstruct", *ones, type=bool)
    if opcode == "OpUnordered":
        return unordered(e, bool, a, b)
    if opcode == "OpOrdered" and e.facts.vulkan:
        return e.emit("OpLogicalNot", unordered(e, bool, a, b), type=bool)
    return e.emit(opcode, a, b, type=bool)


def unordered(e: Emission, bools: Id, a: Id, b: Id) -> Id:
    """Whether one of two is a NaN; Vulkan has no OpUnordered."""
    if not e.facts.vulkan:
        return e.emit("OpUnordered", a, b, type=bools)
    nans = (e.emit("OpIsNan", each, type=bools) for each in (a, b))
    return e.emit("OpLogicalOr", *nans, type=bools)


def number_extreme(e: Emission, to: Id, a: Id, b: Id, greater: bool) -> Id:
    """The greater or the smaller of two; of a number and a NaN, the number."""
    if e.facts.vulkan:
        return e.ext("NMax" if greater else "NMin", a, b, type=to)
    return e.ext("fmax" if greater else "fmin", a, b, type=to)


def strict_extreme(e: Emission, to: Id, a: Id, b: Id, greater: bool) -> Id:
    """The greater or the smaller of two; a NaN of either, and -0 below +0.

    Equal operands differ at most in the sign of a zero: the bits of both together are
    the smaller, those that both have the greater.
    """
    bools = e.bools(to)
    bits = e.like(to, e.types.int(e.types.component_bits(to)))
    x, y = (e.emit("OpBitcast", each, type=bits) for each in (a, b))
    both = e.emit("OpBitwiseAnd" if greater else "OpBitwiseOr", x, y, type=bits)
    equal = e.emit("OpFOrdEqual", a, b, type=bools)
    merged = e.emit("OpBitcast", both, type=to)
    extreme = number_extreme(e, to, a, b, greater)
    ordered = e.emit("OpSelect", equal, merged, extreme, type=to)
    nan = e.emit("OpFAdd", a, b, type=to)
    return e.emit("OpSelect", unordered(e, bools, a, b), nan, ordered, type=to)


def _extreme(
    make: Callable[[Emission, Id, Id, Id, bool], Id], greater: bool
) -> Callable[[Emission, arith.FloatingPointLikeBinaryOperation], None]:
    def handler(e: Emission, op: arith.FloatingPointLikeBinaryOperation) -> None:
        e.whole.strict = True
        each_float(
            e,
            op.result,
            (op.lhs, op.rhs),
            lambda to, a, b: make(e, to, a, b, greater),
        )

    return handler


handlers.add(arith.MaxnumfOp, _extreme(number_extreme, greater=True))
handlers.add(arith.MinnumfOp, _extreme(number_extreme, greater=False))
handlers.add(arith.MaximumfOp, _extreme(strict_extreme, greater=True))
handlers.add(arith.MinimumfOp, _extreme(strict_extreme, greater=False))
