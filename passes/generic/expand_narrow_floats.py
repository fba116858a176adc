"""expand-narrow-floats: computes in f32 what targets cannot compute in bf16 or f8.

Before:  operations on bf16, f8E4M3FN, f8E5M2 or f8E8M0FNU, or on vectors of them.
After:   extensions to f32, the operation on f32, and a truncation.  Conversions that
         the target lacks become shifts and integer arithmetic, or avx512.truncf with
         the feature avx512bf16.  Narrow floats and i1 are exchanged between lanes as
         integers.
Fails:   if an `index` is converted to bf16.

    %c = arith.addf %a, %b : bf16        %x = arith.extf %a : bf16 to f32
                                         %y = arith.extf %b : bf16 to f32
                                         %z = arith.addf %x, %y : f32
                                         %c = arith.truncf %z : f32 to bf16

This is exact for +, -, *, / and sqrt, since f32 has more than twice as many bits plus
two.  A value of more bits than f32 is first rounded to odd, so that the second rounding
gives the nearest value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import nan
from typing import Any, TypeAlias

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    IndexType,
    IntegerType,
    ModuleOp,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import avx512, simt
from coopc.dialects.math_forms import ErfcOp
from coopc.dialects.shaped_arith import RemfOp, shaped
from coopc.dialects.simt import bits_of
from coopc.emit.walker import NoForm, count_of, element_of
from coopc.passes.coopmatrix.elementwise import converted
from coopc.passes.generic.expansion import Code, ExpandPass, Expansions, Target
from coopc.passes.generic.number import Num, nums
from coopc.rounding import FORMATS

table = Expansions()

MATH: tuple[type[Operation], ...] = tuple(
    op
    for op in (*math.Math.operations, ErfcOp)
    if op not in (math.AbsIOp, math.CtPopOp, math.IPowIOp, math.FPowIOp)
    and op not in (math.CountLeadingZerosOp, math.CountTrailingZerosOp)
)
"""Functions of floats."""

COMPUTED: tuple[type[Operation], ...] = (
    *(arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, arith.NegfOp),
    *(arith.MaxnumfOp, arith.MinnumfOp, arith.MaximumfOp, arith.MinimumfOp),
    *(arith.CmpfOp, arith.SIToFPOp, arith.UIToFPOp, arith.FPToSIOp, arith.FPToUIOp),
    *(*MATH, math.FPowIOp, vector.FMAOp, RemfOp, simt.ReduceOp),
)
"""What is computed in f32."""


F8 = (Float8E4M3FNType, Float8E5M2Type)
NARROW = (BFloat16Type, *F8, Float8E8M0FNUType)
"""Floats without arithmetic of their own."""

Kinds: TypeAlias = "type[Attribute] | tuple[type[Attribute], ...]"


def has(values: Any, element: Kinds) -> bool:
    return any(isinstance(element_of(value.type), element) for value in values)


def is_narrow(op: Operation, target: Target) -> bool:
    return has((*op.operands, *op.results), NARROW)


F32_BITS = 24
"""Of an integer, at least those that f32 holds."""


def is_bf16_of_wide_integer(op: Operation, target: Target) -> bool:
    """Whether an integer of more bits than f32 holds becomes bf16.

    One of more bits is greater than all f8 whichever f32 it becomes first.
    """
    source = element_of(op.operands[0].type)
    wide = isinstance(source, IndexType) or bits_of(source) > 16
    return wide and has(op.results, BFloat16Type)


@table.on(arith.SIToFPOp, arith.UIToFPOp, when=is_bf16_of_wide_integer)
def integer_as_bf16(code: Code, op: arith.SIToFPOp | arith.UIToFPOp) -> Num:
    """By way of f32; an integer that this does not hold is first rounded to odd.

    Of a number of 2^n or more, bf16 rounds at bit n - 8, so what is below bit n - 9 can
    go there: f32 then holds numbers below 2^(n + 15).
    """
    number = Num(code, op.input)
    if isinstance(element_of(op.input.type), IndexType):
        raise NoForm(f"expected an integer of known bits as bf16, got {op.input.type}")
    is_signed = isinstance(op, arith.SIToFPOp)
    for n in range(F32_BITS, bits_of(element_of(op.input.type)), 15):
        below = number & ((1 << (n - 9)) - 1)
        above = number - below
        odd = below.compare("eq", 0).select(above, above | 1 << (n - 9))
        moved = number + (1 << n) if is_signed else number
        small = moved.compare("ult", 2 << n if is_signed else 1 << n)
        number = small.select(number, odd)
    return number.cast(type(op), f32).cast(arith.TruncFOp, BFloat16Type())


@table.on(*COMPUTED, when=is_narrow)
def through_f32(code: Code, op: Operation) -> SSAValue:
    """Extend, compute in f32, and round."""
    return computed_in_f32(code, op, NARROW)


@table.on(
    *(arith.MaxnumfOp, arith.MinnumfOp),
    when=lambda op, to: to.language == "x86" and has(op.results, Float16Type),
)
def extreme(code: Code, op: arith.MaxnumfOp | arith.MinnumfOp) -> Num:
    """Comparisons: LLVM computes extremes of f16 one by one, also those in f32."""
    x, y = nums(code, op.lhs, op.rhs)
    is_first = x.compare("ogt" if isinstance(op, arith.MaxnumfOp) else "olt", y)
    return y.compare("uno", y).select(x, is_first.select(x, y))


def computed_in_f32(code: Code, op: Operation, short: Kinds) -> SSAValue:
    """Insert an operation on f32 instead of shorter floats."""
    operands = [
        converted(code, x, f32) if isinstance(element_of(x.type), short) else x
        for x in op.operands
    ]
    (result,) = op.results
    rounds = isinstance(element_of(result.type), short)
    made = op.create(
        operands=operands,
        result_types=[shaped(result.type, f32) if rounds else result.type],
        properties=op.properties.copy(),
        attributes=op.attributes.copy(),
    )
    found = code(made)
    return code(arith.TruncFOp(found, result.type)) if rounds else found


def has_no_lane_operation(op: Operation, target: Target) -> bool:
    """Whether lanes exchange what some target does not move between lanes."""
    return has(op.operands[:1], NARROW) or element_of(op.operands[0].type) == i1


@table.on(simt.BroadcastOp, simt.ShuffleOp, when=has_no_lane_operation)
def as_integer(code: Code, op: simt.BroadcastOp | simt.ShuffleOp) -> Num:
    """A narrow float goes between lanes as its bits, an i1 as an i32."""
    value, *others = op.operands
    element = element_of(value.type)
    is_bool, bits = element == i1, IntegerType(bits_of(element))
    make, integer = (arith.ExtUIOp, i32) if is_bool else (arith.BitcastOp, bits)
    given = code.cast(make, value, integer)
    moved = code(
        op.create(
            operands=[given, *others],
            result_types=[given.type],
            properties=op.properties.copy(),
            attributes=op.attributes.copy(),
        )
    )
    found = Num(code, moved)
    return found.compare("ne", 0) if is_bool else found.bits(element)


def is_f8_to_f16(op: arith.ExtFOp, target: Target) -> bool:
    return has(op.operands, F8) and element_of(op.result.type) == f16


@table.on(arith.ExtFOp, when=lambda op, to: is_f8_to_f16(op, to) and not to.has_f8)
def f8_as_f16(code: Code, op: arith.ExtFOp) -> Num:
    """An f8E5M2 is the upper half of an f16."""
    x = Num(code, op.input)
    if not has(op.operands, Float8E5M2Type):
        return x.to(f32).to(f16)
    return (x.bits(i8).cast(arith.ExtUIOp, i16) << 8).bits(f16)


def is_not_with_f32(op: Operation, target: Target) -> bool:
    """Whether a float is converted in two steps, of which f32 is the middle.

    So is a narrow float to and from other floats than f32, but for an f8 that a target
    extends to f16, and on x86-64 f64 to f16, since only a library converts it there.
    """
    source, to = (element_of(x.type) for x in (*op.operands, *op.results))
    if isinstance(op, arith.ExtFOp) and is_f8_to_f16(op, target):
        return False
    if is_narrow(op, target):
        return (to if isinstance(op, arith.ExtFOp) else source) != f32
    return target.language == "x86" and (source, to) == (f64, f16)


@table.on(arith.ExtFOp, arith.TruncFOp, when=is_not_with_f32)
def by_f32(code: Code, op: arith.ExtFOp | arith.TruncFOp) -> Num:
    """By way of f32; what is rounded to odd in it rounds to what it is nearest to."""
    x, to = Num(code, op.input), element_of(op.result.type)
    if element_of(op.input.type) == f64 and to != f32:
        return to_odd(x).to(to)
    return x.to(f32).to(to)


def to_odd(x: Num) -> Num:
    """An f64 as f32, rounded to odd."""
    near = x.cast(arith.TruncFOp, f32)
    back = near.to(f64)
    size, wanted = back.apply(math.AbsFOp), x.apply(math.AbsFOp)
    bits = near.bits(i32)
    cut = size.compare("ogt", wanted).select(bits - 1, bits)
    return back.compare("one", x).select(cut | 1, bits).bits(f32)


def has_no_conversion(op: Operation, target: Target) -> bool:
    """Whether bf16 is converted by its bits."""
    return not target.converts_bf16 and has((*op.operands, *op.results), BFloat16Type)


@table.on(arith.ExtFOp, when=has_no_conversion)
def extend_bf16(code: Code, op: arith.ExtFOp) -> Num:
    """A bf16 is the upper 16 bits of an f32."""
    word = Num(code, op.input).bits(i16).cast(arith.ExtUIOp, i32)
    return (word << 16).bits(f32)


def rounds_registers(op: Operation, target: Target) -> bool:
    """Whether an instruction rounds whole registers to bf16."""
    if "avx512bf16" not in target.features or element_of(op.operands[0].type) != f32:
        return False
    return has(op.results, BFloat16Type) and count_of(op.results[0].type) % 16 == 0


@table.on(arith.TruncFOp, when=rounds_registers)
def round_registers(code: Code, op: arith.TruncFOp) -> SSAValue:
    return code(avx512.TruncFOp(op.input))


@table.on(arith.TruncFOp, when=has_no_conversion)
def round_to_bf16(code: Code, op: arith.TruncFOp) -> Num:
    return upper_bits(code, op.input)


def upper_bits(code: Code, value: SSAValue) -> Num:
    """Those of an f32, to nearest even; a NaN becomes a quiet NaN."""
    x = Num(code, value)
    word = x.to(f32).bits(i32)
    high = word >> 16
    near = (word + ((high & 1) + 0x7FFF)) >> 16
    found = x.compare("uno", x).select(high | 0x40, near)
    return found.cast(arith.TruncIOp, i16).bits(BFloat16Type())


def is_f8(op: Operation, target: Target) -> bool:
    return has((*op.operands, *op.results), F8)


@table.on(
    arith.ExtFOp,
    when=lambda op, to: is_f8(op, to) and to.has_f8 and not is_f8_to_f16(op, to),
)
def f8_by_f16(code: Code, op: arith.ExtFOp) -> Num:
    """By way of f16: VK_EXT_shader_float8 keeps subnormal numbers only there."""
    return Num(code, op.input).to(f16).to(f32)


@table.on(arith.ExtFOp, when=lambda op, to: is_f8(op, to) and not to.has_f8)
def extend_f8(code: Code, op: arith.ExtFOp) -> Num:
    """The bits, moved up, with the bias of f32.

    A subnormal number gets the least normal exponent as if it had a leading one, which
    is then subtracted.  Infinities and NaN get the greatest exponent.
    """
    format = FORMATS[element_of(op.input.type).name]
    least = 127 + format.min_exponent << 23
    word = Num(code, op.input).bits(i8).cast(arith.ExtUIOp, i32)
    sign, number = word & 0x80, word & 0x7F
    moved = number << 23 - format.fraction_bits
    normal = moved + (least - (1 << 23))
    small = ((moved + least).bits(f32) - 2.0**format.min_exponent).bits(i32)
    special = moved | 0xFF << 23
    is_small = number.compare("ult", 1 << format.fraction_bits)
    found = is_small.select(small, normal)
    found = number.compare("ugt", format.greatest_code).select(special, found)
    return (found | sign << 24).bits(f32)


@table.on(arith.TruncFOp, when=is_f8)
def round_to_f8(code: Code, op: arith.TruncFOp) -> Num:
    """The upper bits of an f32 with the bias of f8, to nearest even.

    Of a number that becomes subnormal more bits are cut off, and the leading one is
    kept as a bit.  Drivers may make zeros of such numbers, so all targets do this.
    """
    format = FORMATS[element_of(op.result.type).name]
    cut, least = 23 - format.fraction_bits, 127 + format.min_exponent
    word = Num(code, op.input).bits(i32)
    number = word & 0x7FFFFFFF
    exponent = number >> 23
    is_small = exponent.compare("ult", least)
    whole = (number & ((1 << 23) - 1)) | 1 << 23
    # Of 24 bits nothing is left after 25.
    more = (cut + least - exponent).apply(arith.MinUIOp, 25)
    units = is_small.select(whole, number)
    by = is_small.select(more, cut)
    half = (word.like(1) << by) >> 1
    odd = (units >> by) & 1
    near = (units + (half + odd - 1)) >> by
    normal = near - (least - 1 << format.fraction_bits)
    found = is_small.select(near, normal)
    found = found.apply(arith.MinUIOp, format.greatest_code + 1)
    if format.has_infinity:
        is_nan = number.compare("ugt", 0xFF << 23)
        found = is_nan.select(word.like(format.encode(nan)), found)
    sign = (word >> 24) & 0x80
    byte = (found | sign).cast(arith.TruncIOp, i8)
    return byte.bits(element_of(op.result.type))


def is_scale(op: Operation, target: Target) -> bool:
    return has((*op.operands, *op.results), Float8E8M0FNUType)


@table.on(arith.ExtFOp, when=is_scale)
def extend_scale(code: Code, op: arith.ExtFOp) -> Num:
    """The exponent of an f32, whose 2^-127 is subnormal; the last code is NaN."""
    word = Num(code, op.input).bits(i8).cast(arith.ExtUIOp, i32)
    power = (word << 23).apply(arith.MaxUIOp, 1 << 22)
    return word.compare("eq", 0xFF).select(word.like(0x7FC00000), power).bits(f32)


@table.on(arith.TruncFOp, when=is_scale)
def round_to_scale(code: Code, op: arith.TruncFOp) -> Num:
    """The exponent of an f32, to the nearest power: what has a sign becomes NaN.

    Below 2^-126 there is one power, so that half a unit is half as much.
    """
    word = Num(code, op.input).bits(i32)
    is_zero = word.compare("eq", -(1 << 31))
    word = word.apply(arith.MinUIOp, 1 - (1 << 31))  # no carry
    half = word.compare("ult", 1 << 23).select(word.like(1 << 21), 1 << 22)
    power = ((word + half) >> 23).apply(arith.MinUIOp, 0xFF)
    byte = is_zero.select(word.like(0), power).cast(arith.TruncIOp, i8)
    return byte.bits(element_of(op.result.type))


@dataclass(frozen=True)
class ExpandNarrowFloatsPass(ExpandPass):
    name = "expand-narrow-floats"
    table = table

    features: tuple[str, ...] = ()
    """avx512bf16, if the CPU has it; it rounds vectors to bf16."""

    def __post_init__(self) -> None:
        if self.features:
            from coopc.plan.core_gemm import check_features  # few need it

            check_features(self.features)

    def target(self, module: ModuleOp) -> Target:
        return replace(super().target(module), features=self.features)
