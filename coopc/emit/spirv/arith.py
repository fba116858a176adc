"""`arith` on integers and index values: constants, arithmetic, comparison, select.

Integers of SPIR-V have no sign here; the instruction has it.  An i1 is a bool, so its
arithmetic, which wraps around at 2, is logic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias, overload

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.narrow import is_memref, is_vector
from coopc.emit.spirv.emission import Binary, Emission, Handlers, Unary
from coopc.emit.walker import Refusal, count_of, element_of
from coopc.spirv.instruction import Id

handlers = Handlers()

Division: TypeAlias = arith.FloorDivSIOp | arith.CeilDivSIOp

_INTEGER_OPCODES: dict[type[Operation], str] = {
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

_INTEGER_PREDICATES = (
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


def _integer_binary(e: Emission, op: arith.SignlessIntegerBinaryOperation) -> None:
    table = _LOGICAL if is_i1(op.result.type) else _INTEGER_OPCODES
    if (opcode := table.get(type(op))) is None:
        raise Refusal("expected integers of 8 bits or more, got i1")
    e.each(op.result, (op.lhs, op.rhs), lambda to, a, b: e.emit(opcode, a, b, type=to))
    if table is _INTEGER_OPCODES:
        _overflow_flags(e, op)


for _op in _INTEGER_OPCODES:
    handlers.add(_op, _integer_binary)


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


def _integer_extreme(e: Emission, op: arith.SignlessIntegerBinaryOperation) -> None:
    """The smaller or the greater of two."""
    if is_i1(op.result.type):
        _integer_binary(e, op)
        return
    name = _EXTREMES[type(op)][e.facts.vulkan]
    e.each(op.result, (op.lhs, op.rhs), lambda to, a, b: e.ext(name, a, b, type=to))


for _op in _EXTREMES:
    handlers.add(_op, _integer_extreme)


@handlers.on(arith.CmpiOp)
def compare_integers(e: Emission, op: arith.CmpiOp) -> None:
    """A comparison; of i1, it is logic."""
    number = op.predicate.value.data
    if is_i1(op.lhs.type):
        e.each(op.result, (op.lhs, op.rhs), partial(_compared_bools, e, number))
        return
    opcode = _INTEGER_PREDICATES[number]
    e.each(op.result, (op.lhs, op.rhs), lambda to, a, b: e.emit(opcode, a, b, type=to))


def _compared_bools(e: Emission, number: int, to: Id, a: Id, b: Id) -> Id:
    """A comparison of i1, of which 1 is -1 where it is signed."""
    opcode, inverted = _OF_BOOLS[_INTEGER_PREDICATES[number]]
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


# `arith` on floats: arithmetic, extremes and comparison.

_FLOAT_OPCODES: dict[type[Operation], str] = {
    arith.AddfOp: "OpFAdd",
    arith.SubfOp: "OpFSub",
    arith.MulfOp: "OpFMul",
    arith.DivfOp: "OpFDiv",
}

_FLOAT_PREDICATES: dict[int, str] = {
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


def _float_binary(e: Emission, op: arith.FloatingPointLikeBinaryOperation) -> None:
    opcode = _FLOAT_OPCODES[type(op)]

    exact = opcode != "OpFDiv" or e.facts.device.exact_quotients

    def make(to: Id, a: Id, b: Id) -> Id:
        if not exact:
            # A NaN by a NaN is one too; the compiler sees no constant to divide.
            nan = e.emit("OpFUnordNotEqual", b, b, type=e.bools(to))
            a = e.emit("OpSelect", nan, b, a, type=to)
        return relaxed(e, opcode, e.emit(opcode, a, b, type=to), op.fastmath)

    each_float(e, op.result, (op.lhs, op.rhs), make)


for _op in _FLOAT_OPCODES:
    handlers.add(_op, _float_binary)


@handlers.on(arith.NegfOp)
def negate(e: Emission, op: arith.NegfOp) -> None:
    """The sign changed, of zeros and NaNs too."""
    each_float(
        e, op.result, (op.operand,), lambda to, x: e.emit("OpFNegate", x, type=to)
    )


@handlers.on(arith.CmpfOp)
def compare_floats(e: Emission, op: arith.CmpfOp) -> None:
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
    opcode = _FLOAT_PREDICATES.get(number)
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


def _float_extreme(
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


handlers.add(arith.MaxnumfOp, _float_extreme(number_extreme, greater=True))
handlers.add(arith.MinnumfOp, _float_extreme(number_extreme, greater=False))
handlers.add(arith.MaximumfOp, _float_extreme(strict_extreme, greater=True))
handlers.add(arith.MinimumfOp, _float_extreme(strict_extreme, greater=False))


# `arith` conversions: between widths, between integers and floats, of bits.
#
# An i1 is a bool in SPIR-V, so it is converted by selecting and by comparing.  Each
# function here converts one part of a value, given the types in the IR.


def converted(e: Emission, x: Id, source: Attribute, target: Attribute) -> Id:
    """A number as one of another type, integers signed, as `coopmatrix.fill` says."""
    to = e.types.number(target)
    if source == target:
        return x
    whole = IndexType | IntegerType
    match isinstance(source, whole), isinstance(target, whole):
        case True, True:
            return resized(e, x, source, target, to, signed=True)
        case True, False:
            return integer_as_float(e, x, source, target, to, signed=True)
        case False, True:
            return float_as_integer(e, x, source, target, to, signed=True)
        case _:
            return resized_float(e, x, source, target, to)


def resized(
    e: Emission, x: Id, source: Attribute, target: Attribute, to: Id, signed: bool
) -> Id:
    """An integer in another width, extended by its sign or by zeros."""
    if x.type is to:
        return x
    if is_i1(source):
        one = e.number(to, -1 if signed else 1)
        return e.emit("OpSelect", x, one, e.number(to, 0), type=to)
    if is_i1(target):
        low = e.emit("OpBitwiseAnd", x, e.number(x.type, 1), type=x.type)
        return e.emit("OpINotEqual", low, e.number(x.type, 0), type=to)
    return e.emit("OpSConvert" if signed else "OpUConvert", x, type=to)


def integer_as_float(
    e: Emission, x: Id, source: Attribute, target: Attribute, to: Id, signed: bool
) -> Id:
    """An integer as a float, rounded to nearest even."""
    if is_bf16(target):
        if not is_i1(source) and e.types.bits(element_of(source)) > 16:
            # Rounded to f32 and then to bf16, it could be the wrong neighbour.
            raise Refusal(
                f"expected an integer of at most 16 bits as bf16, got {source}"
            )
        wide = e.like(to, e.types.f32)
        number = integer_as_float(e, x, source, Float32Type(), wide, signed)
        return narrowed(e, number, to)
    if is_i1(source):
        one = e.number(to, -1.0 if signed else 1.0)
        return e.emit("OpSelect", x, one, e.number(to, 0.0), type=to)
    return e.emit("OpConvertSToF" if signed else "OpConvertUToF", x, type=to)


def float_as_integer(
    e: Emission, x: Id, source: Attribute, target: Attribute, to: Id, signed: bool
) -> Id:
    """A float as an integer, rounded towards zero."""
    if is_bf16(source):
        x = widened(e, x)
    opcode = "OpConvertFToS" if signed else "OpConvertFToU"
    if not is_i1(target):
        return e.emit(opcode, x, type=to)
    whole = e.emit(opcode, x, type=e.like(to, e.types.u32))
    return e.emit("OpINotEqual", whole, e.number(whole.type, 0), type=to)


def resized_float(
    e: Emission, x: Id, source: Attribute, target: Attribute, to: Id
) -> Id:
    """A float in another width, rounded to nearest even."""
    if is_bf16(target):
        if not isinstance(element_of(source), Float16Type | Float32Type):
            # Through f32 it would be rounded twice.
            raise Refusal(f"expected an f16 or f32 to round to bf16, got {source}")
        wide = e.like(to, e.types.f32)
        x = x if x.type is wide else e.emit("OpFConvert", x, type=wide)
        return narrowed(e, x, to)
    if is_bf16(source):
        x = widened(e, x)
    return x if x.type is to else e.emit("OpFConvert", x, type=to)


@handlers.on(arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.IndexCastOp)
def resize(
    e: Emission,
    op: arith.ExtSIOp | arith.ExtUIOp | arith.TruncIOp | arith.IndexCastOp,
) -> None:
    """An integer or an index in another width."""
    source, target = op.input.type, op.result.type
    signed = isinstance(op, arith.ExtSIOp | arith.IndexCastOp)
    e.each(
        op.result,
        (op.input,),
        lambda to, x: resized(e, x, source, target, to, signed),
    )


@handlers.on(arith.SIToFPOp, arith.UIToFPOp)
def integer_to_float(e: Emission, op: arith.SIToFPOp | arith.UIToFPOp) -> None:
    """An integer as a float."""
    source, target = op.input.type, op.result.type
    signed = isinstance(op, arith.SIToFPOp)
    e.each(
        op.result,
        (op.input,),
        lambda to, x: integer_as_float(e, x, source, target, to, signed),
    )


@handlers.on(arith.FPToSIOp, arith.FPToUIOp)
def float_to_integer(e: Emission, op: arith.FPToSIOp | arith.FPToUIOp) -> None:
    """A float as an integer."""
    source, target = op.input.type, op.result.type
    signed = isinstance(op, arith.FPToSIOp)
    e.each(
        op.result,
        (op.input,),
        lambda to, x: float_as_integer(e, x, source, target, to, signed),
    )


@handlers.on(arith.ExtFOp, arith.TruncFOp)
def resize_float(e: Emission, op: arith.ExtFOp | arith.TruncFOp) -> None:
    """A float in another width."""
    source, target = op.input.type, op.result.type
    e.each(
        op.result, (op.input,), lambda to, x: resized_float(e, x, source, target, to)
    )


@handlers.on(arith.BitcastOp)
def bitcast(e: Emission, op: arith.BitcastOp) -> None:
    """The same bits as another type of the same width."""
    same_bits(e, op)


def same_bits(e: Emission, op: Operation) -> None:
    """Take bits part by part; an i1 is no bits in SPIR-V."""
    source, result = op.operands[0], op.results[0]
    if (is_i1(source.type) or is_i1(result.type)) and source.type != result.type:
        raise Refusal("expected a type with a place in memory, got i1")
    bits, wanted = (e.types.bits(element_of(x.type)) for x in (source, result))
    if bits != wanted:
        raise Refusal(
            f"expected types of one width, got {source.type} of {bits} bits and "
            f"{result.type} of {wanted}"
        )
    e.each(
        result,
        (source,),
        lambda to, x: x if x.type is to else e.emit("OpBitcast", x, type=to),
    )


# Floats: bf16 is computed in f32, and what the IR allows to be relaxed is said.
#
# SPIR-V converts bf16 and no more, and without an extension not even that: its bits are
# shifted and rounded then, so an operation on it extends its operands to f32,
# computes there, and rounds.  That is exactly the bf16 operation for +, -, *, / and
# sqrt:
# f32 has more than twice the bits and two.
#
# `arith` computes each operation by itself unless `fastmath` says otherwise, while both
# flavours let a driver contract `a * b + c`: so Vulkan's operations are decorated with
# NoContraction, and kernels of OpenCL have ContractionOff.

CONTRACTED = ("OpFAdd", "OpFSub", "OpFMul")
"""What a driver may fuse with another."""

_MODES = {
    FastMathFlag.NO_NANS: "NotNaN",
    FastMathFlag.NO_INFS: "NotInf",
    FastMathFlag.NO_SIGNED_ZEROS: "NSZ",
    FastMathFlag.ALLOW_RECIP: "AllowRecip",
}


def is_bf16(type: Attribute) -> bool:
    """Whether a number or the components of a vector are bf16."""
    return isinstance(element_of(type), BFloat16Type)


def widened(e: Emission, id: Id) -> Id:
    """A bf16, or a vector of it, as f32."""
    to = e.like(id.type, e.types.f32)
    if e.facts.bf16 is None:
        words = e.like(id.type, e.types.u32)
        word = e.emit("OpUConvert", id, type=words)
        high = e.emit("OpShiftLeftLogical", word, e.number(words, 16), type=words)
        return e.emit("OpBitcast", high, type=to)
    khr = e.facts.bf16 == "khr"
    return e.emit("OpFConvert" if khr else "OpConvertBF16ToFINTEL", id, type=to)


def narrowed(e: Emission, id: Id, to: Id) -> Id:
    """An f32, or a vector of it, rounded to bf16."""
    if e.facts.bf16 is None:
        return _rounded_bits(e, id, to)
    khr = e.facts.bf16 == "khr"
    return e.emit("OpFConvert" if khr else "OpConvertFToBF16INTEL", id, type=to)


def _rounded_bits(e: Emission, id: Id, to: Id) -> Id:
    """The upper 16 bits of f32, to nearest even: a NaN stays one, and gets quiet."""
    words, bools = e.like(id.type, e.types.u32), e.bools(id.type)

    def op(name: str, a: Id, b: Id | int) -> Id:
        other = e.number(words, b) if isinstance(b, int) else b
        return e.emit(name, a, other, type=words)

    word = e.emit("OpBitcast", id, type=words)
    high = op("OpShiftRightLogical", word, 16)
    up = op("OpIAdd", op("OpBitwiseAnd", high, 1), 0x7FFF)
    near = op("OpShiftRightLogical", op("OpIAdd", word, up), 16)
    is_nan = e.emit("OpIsNan", id, type=bools)
    found = e.emit("OpSelect", is_nan, op("OpBitwiseOr", high, 0x40), near, type=words)
    return e.emit("OpUConvert", found, type=to)


@overload
def each_float(
    e: Emission, result: SSAValue, operands: tuple[SSAValue], make: Unary
) -> None: ...


@overload
def each_float(
    e: Emission, result: SSAValue, operands: tuple[SSAValue, SSAValue], make: Binary
) -> None: ...


@overload
def each_float(
    e: Emission, result: SSAValue, operands: Sequence[SSAValue], make: Callable[..., Id]
) -> None: ...


def each_float(
    e: Emission, result: SSAValue, operands: Sequence[SSAValue], make: Callable[..., Id]
) -> None:
    """Set a float result part by part, as `Emission.each` does; bf16 through f32."""
    if not is_bf16(result.type):
        e.each(result, operands, make)
        return

    def through_f32(to: Id, *ids: Id) -> Id:
        wide = e.like(to, e.types.f32)
        return narrowed(e, make(wide, *(widened(e, id) for id in ids)), to)

    e.each(result, operands, through_f32)


def relaxed(
    e: Emission, opcode: str, id: Id, flags: arith.FastMathFlagsAttr | None
) -> Id:
    """Say of an instruction what `fastmath` allows, and what it does not; return it."""
    found = set(flags.data) if flags is not None else set[FastMathFlag]()
    if opcode.startswith("OpF") and FastMathFlag.ALLOW_CONTRACT not in found:
        e.whole.strict = True  # of quotients too: 0 / NaN is not 0
        if opcode in CONTRACTED and e.facts.vulkan:
            e.module.decorate(id, "NoContraction")
    if found and not e.facts.vulkan:
        modes = [mode for flag, mode in _MODES.items() if flag in found]
        if FastMathFlag.REASSOC in found and len(modes) == len(_MODES):
            modes = ["Fast"]
        if modes:
            e.module.decorate(id, "FPFastMathMode", "|".join(modes))
    return id
