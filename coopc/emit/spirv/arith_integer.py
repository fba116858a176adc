"""`arith` on integers and index values: constants, arithmetic, comparison, select.

Integers of SPIR-V have no sign here; the instruction has it.  An i1 is a bool, so its
arithmetic, which wraps around at 2, is logic.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute, Operation

from coopc.dialects import coopmatrix
from coopc.dialects.narrow import is_memref, is_vector
from coopc.emit.elements import count_of, element_of
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.handlers import Handlers
from coopc.emit.structured import Refusal
from coopc.spirv.instruction import Id

handlers = Handlers()

Division: TypeAlias = arith.FloorDivSIOp | arith.CeilDivSIOp

_BINARY: dict[type[Operation], str] = {
    arith.AddiOp: "OpIAdd",
    arith.SubiOp: "OpISub",
    arith.MuliOp: "OpIMul",
    arith.DivUIOp: "OpUDiv",
    arith.DivSIOp: "OpSDiv",
    arith.RemUIOp: "OpUMod",
    arith.AndIOp: "OpBitwiseAnd",
    arith.OrIOp: "OpBitwiseOr",
    arith.XOrIOp: "OpBitwiseXor",
    arith.ShLIOp: "OpShiftLeftLogical",
    arith.ShRUIOp: "OpShiftRightLogical",
    arith.ShRSIOp: "OpShiftRightArithmetic",
}

_LOGICAL: dict[type[Operation], str] = {
    arith.AddiOp: "OpLogicalNotEqual",
    arith.SubiOp: "OpLogicalNotEqual",
    arith.MuliOp: "OpLogicalAnd",
    arith.AndIOp: "OpLogicalAnd",
    arith.OrIOp: "OpLogicalOr",
    arith.XOrIOp: "OpLogicalNotEqual",
    arith.MinUIOp: "OpLogicalAnd",
    arith.MaxUIOp: "OpLogicalOr",
    arith.MinSIOp: "OpLogicalOr",
    arith.MaxSIOp: "OpLogicalAnd",
}
"""The same on i1, of which -1 is the least signed value."""

_PREDICATES = (
    "OpIEqual",
    "OpINotEqual",
    "OpSLessThan",
    "OpSLessThanEqual",
    "OpSGreaterThan",
    "OpSGreaterThanEqual",
    "OpULessThan",
    "OpULessThanEqual",
    "OpUGreaterThan",
    "OpUGreaterThanEqual",
)
"""In the order of arith's numbers."""

_OF_BOOLS: dict[str, tuple[str, str]] = {
    "OpIEqual": ("OpLogicalEqual", ""),
    "OpINotEqual": ("OpLogicalNotEqual", ""),
    "OpSLessThan": ("OpLogicalAnd", "right"),
    "OpSLessThanEqual": ("OpLogicalOr", "right"),
    "OpSGreaterThan": ("OpLogicalAnd", "left"),
    "OpSGreaterThanEqual": ("OpLogicalOr", "left"),
    "OpULessThan": ("OpLogicalAnd", "left"),
    "OpULessThanEqual": ("OpLogicalOr", "left"),
    "OpUGreaterThan": ("OpLogicalAnd", "right"),
    "OpUGreaterThanEqual": ("OpLogicalOr", "right"),
}
"""The same on i1, and which operand is inverted first."""

_EXTREMES: dict[type[Operation], tuple[str, str]] = {
    arith.MinUIOp: ("u_min", "UMin"),
    arith.MaxUIOp: ("u_max", "UMax"),
    arith.MinSIOp: ("s_min", "SMin"),
    arith.MaxSIOp: ("s_max", "SMax"),
}
"""In OpenCL.std and in GLSL.std.450."""


def is_i1(type: Attribute) -> bool:
    """Whether a number or the components of a vector are i1."""
    return element_of(type) == IntegerType(1)


@handlers.on(arith.ConstantOp)
def constant(e: Emission, op: arith.ConstantOp) -> None:
    """A number, or a vector of numbers."""
    type = op.result.type
    match op.value:
        case IntegerAttr(value=number):
            e.set(op.result, (e.types.constant(type, number.data),))
        case FloatAttr(value=number):
            e.set(op.result, (e.types.constant(type, number.data),))
        case DenseIntOrFPElementsAttr() as dense:
            e.set(op.result, _dense(e, type, dense))
        case other:
            raise Refusal(f"expected numbers, got {other}")


def _dense(
    e: Emission, type: Attribute, dense: DenseIntOrFPElementsAttr
) -> tuple[Id, ...]:
    """A vector of constants."""
    values = dense.get_values()
    element = element_of(type)
    if dense.is_splat():
        values = values[:1] * count_of(type)
    numbers: list[Id] = []
    for value in values:
        if isinstance(value, tuple):
            raise Refusal(f"expected a vector of real numbers, got {dense.type}")
        numbers.append(e.types.constant(element, value))
    parts: list[Id] = []
    start = 0
    for id, width in zip(e.types.parts(type), e.types.widths(type), strict=True):
        some = numbers[start : start + width]
        start += width
        one = width == 1
        parts.append(some[0] if one else e.module.constant_composite(id, some))
    return tuple(parts)


def _binary(e: Emission, op: arith.SignlessIntegerBinaryOperation) -> None:
    table = _LOGICAL if is_i1(op.result.type) else _BINARY
    if (opcode := table.get(type(op))) is None:
        raise Refusal("expected integers of 8 bits or more, got i1")
    e.each(op.result, (op.lhs, op.rhs), lambda to, a, b: e.emit(opcode, a, b, type=to))
    if table is _BINARY:
        _overflow_flags(e, op)


for _op in _BINARY:
    handlers.add(_op, _binary)


def _overflow_flags(e: Emission, op: arith.SignlessIntegerBinaryOperation) -> None:
    """Say that the operation does not wrap around, where the IR does."""
    if not isinstance(op, arith.SignlessIntegerBinaryOperationWithOverflow):
        return
    flags = op.overflow_flags.data
    for flag, decoration in (
        (arith.IntegerOverflowFlag.NSW, "NoSignedWrap"),
        (arith.IntegerOverflowFlag.NUW, "NoUnsignedWrap"),
    ):
        if flag in flags:
            for part in e.parts(op.result):
                e.module.decorate(part, decoration)


@handlers.on(arith.RemSIOp)
def rem_signed(e: Emission, op: arith.RemSIOp) -> None:
    """The remainder with the sign of the dividend.

    Vulkan leaves OpSRem of negative numbers undefined.
    """
    no_i1(op)
    e.each(op.result, (op.lhs, op.rhs), lambda to, a, b: _rem(e, to, a, b))


def _rem(e: Emission, to: Id, a: Id, b: Id) -> Id:
    if not e.facts.vulkan:
        return e.emit("OpSRem", a, b, type=to)
    quotient = e.emit("OpSDiv", a, b, type=to)
    whole = e.emit("OpIMul", quotient, b, type=to)
    return e.emit("OpISub", a, whole, type=to)


def _rounded_division(up: bool) -> Callable[[Emission, Division], None]:
    """Signed division that rounds up, or down: the quotient, corrected by one."""

    def handler(e: Emission, op: Division) -> None:
        def divide(to: Id, a: Id, b: Id) -> Id:
            zero, bools = e.number(to, 0), e.bools(to)
            quotient = e.emit("OpSDiv", a, b, type=to)
            rest = _rem(e, to, a, b)
            inexact = e.emit("OpINotEqual", rest, zero, type=bools)
            # The rest has the sign of the dividend.
            signs = e.emit("OpBitwiseXor", rest, b, type=to)
            compare = "OpSGreaterThanEqual" if up else "OpSLessThan"
            wrong = e.emit(compare, signs, zero, type=bools)
            off = e.emit("OpLogicalAnd", inexact, wrong, type=bools)
            by = e.emit("OpSelect", off, e.number(to, 1), zero, type=to)
            return e.emit("OpIAdd" if up else "OpISub", quotient, by, type=to)

        no_i1(op)
        e.each(op.result, (op.lhs, op.rhs), divide)

    return handler


handlers.add(arith.FloorDivSIOp, _rounded_division(up=False))
handlers.add(arith.CeilDivSIOp, _rounded_division(up=True))


@handlers.on(arith.CeilDivUIOp)
def ceil_div_unsigned(e: Emission, op: arith.CeilDivUIOp) -> None:
    """Unsigned division that rounds up."""

    def divide(to: Id, a: Id, b: Id) -> Id:
        zero = e.number(to, 0)
        quotient = e.emit("OpUDiv", a, b, type=to)
        rest = e.emit("OpUMod", a, b, type=to)
        inexact = e.emit("OpINotEqual", rest, zero, type=e.bools(to))
        by = e.emit("OpSelect", inexact, e.number(to, 1), zero, type=to)
        return e.emit("OpIAdd", quotient, by, type=to)

    no_i1(op)
    e.each(op.result, (op.lhs, op.rhs), divide)


def _extreme(e: Emission, op: arith.SignlessIntegerBinaryOperation) -> None:
    """The smaller or the greater of two."""
    if is_i1(op.result.type):
        _binary(e, op)
        return
    name = _EXTREMES[type(op)][e.facts.vulkan]
    e.each(op.result, (op.lhs, op.rhs), lambda to, a, b: e.ext(name, a, b, type=to))


for _op in _EXTREMES:
    handlers.add(_op, _extreme)


@handlers.on(arith.CmpiOp)
def compare(e: Emission, op: arith.CmpiOp) -> None:
    """A comparison; of i1, it is logic."""
    number = op.predicate.value.data
    if is_i1(op.lhs.type):
        e.each(op.result, (op.lhs, op.rhs), partial(_compared_bools, e, number))
        return
    opcode = _PREDICATES[number]
    e.each(op.result, (op.lhs, op.rhs), lambda to, a, b: e.emit(opcode, a, b, type=to))


def _compared_bools(e: Emission, number: int, to: Id, a: Id, b: Id) -> Id:
    """A comparison of i1, of which 1 is -1 where it is signed."""
    opcode, inverted = _OF_BOOLS[_PREDICATES[number]]
    if inverted == "left":
        a = e.emit("OpLogicalNot", a, type=to)
    elif inverted == "right":
        b = e.emit("OpLogicalNot", b, type=to)
    return e.emit(opcode, a, b, type=to)


def _select(e: Emission, to: Id, condition: Id, yes: Id, no: Id) -> Id:
    """One of two, component by component."""
    return e.emit("OpSelect", condition, yes, no, type=to)


@handlers.on(arith.SelectOp)
def select(e: Emission, op: arith.SelectOp) -> None:
    """One of two values, by an i1; matrices by branching, as they have no OpSelect."""
    if is_memref(op.result.type):
        raise Refusal("expected numbers, vectors or matrices: a memref has no value")
    if is_vector(op.cond.type):
        e.each(op.result, (op.cond, op.lhs, op.rhs), partial(_select, e))
        return
    condition = e.id(op.cond)
    if not isinstance(op.result.type, coopmatrix.MatrixType):
        e.each(
            op.result,
            (op.lhs, op.rhs),
            lambda to, a, b: e.emit("OpSelect", condition, a, b, type=to),
        )
        return
    flow = e.flow
    yes, no, done = map(flow.label, ("then", "else", "done"))
    flow.open_selection(done)
    flow.branch((condition,), yes, no)
    for label in (yes, no):
        flow.begin(label)
        flow.jump(done)
    flow.begin(done)
    phi = flow.phi(op.result, e.value(op.lhs))
    flow.arrive(phi, e.value(op.lhs), yes)
    flow.arrive(phi, e.value(op.rhs), no)
    e.set(op.result, phi)


@handlers.on(arith.AddUIExtendedOp)
def add_extended(e: Emission, op: arith.AddUIExtendedOp) -> None:
    """The sum, and whether it wrapped around: it is then less than either operand."""
    no_i1(op)
    e.each(op.sum, (op.lhs, op.rhs), lambda to, a, b: e.emit("OpIAdd", a, b, type=to))
    e.each(
        op.overflow,
        (op.sum, op.lhs),
        lambda to, sum, a: e.emit("OpULessThan", sum, a, type=to),
    )


@handlers.on(arith.MulUIExtendedOp, arith.MulSIExtendedOp)
def mul_extended(e: Emission, op: arith.MulExtendedBase) -> None:
    """The low and the high half of the product."""
    no_i1(op)
    signed = isinstance(op, arith.MulSIExtendedOp)
    operands = (op.lhs, op.rhs)
    e.each(op.low, operands, lambda to, a, b: e.emit("OpIMul", a, b, type=to))
    e.each(op.high, operands, lambda to, a, b: _high(e, to, a, b, signed))


def _high(e: Emission, to: Id, a: Id, b: Id, signed: bool) -> Id:
    """The high half of a product."""
    if not e.facts.vulkan:
        return e.ext("s_mul_hi" if signed else "u_mul_hi", a, b, type=to)
    bits = e.types.component_bits(to)
    if bits >= 32:
        pair = e.module.type("OpTypeStruct", to, to)
        opcode = "OpSMulExtended" if signed else "OpUMulExtended"
        both = e.emit(opcode, a, b, type=pair)
        return e.emit("OpCompositeExtract", both, 1, type=to)
    # Vulkan has it for 32 bits, which hold the whole product of less.
    wide = e.like(to, e.types.u32)
    extend = "OpSConvert" if signed else "OpUConvert"
    x, y = (e.emit(extend, each, type=wide) for each in (a, b))
    product = e.emit("OpIMul", x, y, type=wide)
    by = e.number(wide, bits)
    return e.emit(
        "OpUConvert", e.emit("OpShiftRightLogical", product, by, type=wide), type=to
    )


def no_i1(op: Operation) -> None:
    """Refuse an operation on i1."""
    if is_i1(op.operands[0].type):
        raise Refusal("expected integers of 8 bits or more, got i1")
