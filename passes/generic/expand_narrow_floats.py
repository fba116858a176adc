"""expand-narrow-floats: computes in f32 what targets do not compute in bf16 or f8.

Before:  operations on bf16, f8E4M3FN, f8E5M2 or f8E8M0FNU, or on vectors of them.
After:   extensions to f32, the operations on f32, and a truncation each.  Where
         the target does not convert them, conversions become shifts and integer
         arithmetic.  Between lanes narrow floats and i1 go as integers.
Fails:   where an `index` is converted to bf16.

    %c = arith.addf %a, %b : bf16        %x = arith.extf %a : bf16 to f32
                                         %y = arith.extf %b : bf16 to f32
                                         %z = arith.addf %x, %y : f32
                                         %c = arith.truncf %z : f32 to bf16

That is exactly the operation on bf16 and f8 for +, -, *, / and sqrt: f32 has more than
twice the bits and two.  A number of more bits than f32 is first rounded to odd: what is
cut off is remembered in the last bit, so that rounding once more gives the nearest.
"""

from __future__ import annotations

from math import nan
from typing import Any, TypeAlias

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    IndexType,
    IntegerType,
    f16,
    f32,
    f64,
    i1,
    i16,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.shaped_arith import RemfOp, shaped
from coopc.emit.walker import Refusal, element_of
from coopc.passes.coopmatrix.elementwise import converted
from coopc.passes.generic.expansion import (
    Code,
    ExpandPass,
    Expansions,
    Target,
    bits_of,
)
from coopc.rounding import FORMATS

table = Expansions()

MATH: tuple[type[Operation], ...] = tuple(
    op
    for op in math.Math.operations
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
def integer_as_bf16(code: Code, op: arith.SIToFPOp | arith.UIToFPOp) -> SSAValue:
    """By way of f32; an integer that this does not hold is first rounded to odd.

    Of a number of 2^n or more, bf16 rounds at bit n - 8, so what is below bit n - 9 can
    go there: f32 then holds numbers below 2^(n + 15).
    """
    number = op.input
    if isinstance(element_of(number.type), IndexType):
        raise Refusal(f"expected an integer of known bits as bf16, got {number.type}")
    is_signed = isinstance(op, arith.SIToFPOp)
    for n in range(F32_BITS, bits_of(element_of(number.type)), 15):
        unit, none = code.like(number, 1 << (n - 9)), code.like(number, 0)
        below = code(arith.AndIOp(number, code.like(number, (1 << (n - 9)) - 1)))
        above = code(arith.SubiOp(number, below))
        exact = code(arith.CmpiOp(below, none, "eq"))
        odd = code.select(exact, above, code(arith.OrIOp(above, unit)))
        limit, moved = code.like(number, 1 << n), number
        if is_signed:
            limit = code.like(number, 2 << n)
            moved = code(arith.AddiOp(number, code.like(number, 1 << n)))
        small = code(arith.CmpiOp(moved, limit, "ult"))
        number = code.select(small, number, odd)
    return code.cast(arith.TruncFOp, code.cast(type(op), number, f32), BFloat16Type())


@table.on(*COMPUTED, when=is_narrow)
def through_f32(code: Code, op: Operation) -> SSAValue:
    """Extend, compute in f32, and round."""
    return computed_in_f32(code, op, NARROW)


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
def as_integer(code: Code, op: simt.BroadcastOp | simt.ShuffleOp) -> SSAValue:
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
    if is_bool:
        return code(arith.CmpiOp(moved, code.like(moved, 0), "ne"))
    return code.cast(arith.BitcastOp, moved, element)


def is_f8_to_f16(op: arith.ExtFOp, target: Target) -> bool:
    return has(op.operands, F8) and element_of(op.result.type) == f16


@table.on(arith.ExtFOp, when=lambda op, to: is_f8_to_f16(op, to) and not to.has_f8)
def f8_as_f16(code: Code, op: arith.ExtFOp) -> SSAValue:
    """An f8E5M2 is the upper half of an f16."""
    if not has(op.operands, Float8E5M2Type):
        return converted(code, converted(code, op.input, f32), f16)
    bits = code.cast(arith.BitcastOp, op.input, IntegerType(8))
    half = code.cast(arith.ExtUIOp, bits, i16)
    high = code(arith.ShLIOp(half, code.like(half, 8)))
    return code.cast(arith.BitcastOp, high, f16)


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
def by_f32(code: Code, op: arith.ExtFOp | arith.TruncFOp) -> SSAValue:
    """By way of f32; what is rounded to odd in it rounds to what it is nearest to."""
    source, to = element_of(op.input.type), element_of(op.result.type)
    if source == f64 and to != f32:
        return converted(code, to_odd(code, op.input), to)
    return converted(code, converted(code, op.input, f32), to)


def to_odd(code: Code, x: SSAValue) -> SSAValue:
    """An f64 as f32, rounded to odd."""
    near = code.cast(arith.TruncFOp, x, f32)
    back = converted(code, near, f64)
    size, wanted = (code(math.AbsFOp(each)) for each in (back, x))
    bits = code.cast(arith.BitcastOp, near, i32)
    less = code(arith.SubiOp(bits, code.like(bits, 1)))
    cut = code.select(code(arith.CmpfOp(size, wanted, "ogt")), less, bits)
    odd = code(arith.OrIOp(cut, code.like(bits, 1)))
    inexact = code(arith.CmpfOp(back, x, "one"))
    return code.cast(arith.BitcastOp, code.select(inexact, odd, bits), f32)


def has_no_conversion(op: Operation, target: Target) -> bool:
    """Whether bf16 is converted by its bits."""
    return not target.converts_bf16 and has((*op.operands, *op.results), BFloat16Type)


@table.on(arith.ExtFOp, when=has_no_conversion)
def extend_bf16(code: Code, op: arith.ExtFOp) -> SSAValue:
    """A bf16 is the upper 16 bits of an f32."""
    bits = code.cast(arith.BitcastOp, op.input, i16)
    word = code.cast(arith.ExtUIOp, bits, i32)
    high = code(arith.ShLIOp(word, code.like(word, 16)))
    return code.cast(arith.BitcastOp, high, f32)


@table.on(arith.TruncFOp, when=has_no_conversion)
def round_to_bf16(code: Code, op: arith.TruncFOp) -> SSAValue:
    """The upper 16 bits of an f32, to nearest even; a NaN becomes a quiet NaN."""
    word = code.cast(arith.BitcastOp, converted(code, op.input, f32), i32)
    high = code(arith.ShRUIOp(word, code.like(word, 16)))
    odd = code(arith.AndIOp(high, code.like(word, 1)))
    up = code(arith.AddiOp(odd, code.like(word, 0x7FFF)))
    sum = code(arith.AddiOp(word, up))
    near = code(arith.ShRUIOp(sum, code.like(word, 16)))
    quiet = code(arith.OrIOp(high, code.like(word, 0x40)))
    is_nan = code(arith.CmpfOp(op.input, op.input, "uno"))
    short = code.cast(arith.TruncIOp, code.select(is_nan, quiet, near), i16)
    return code.cast(arith.BitcastOp, short, BFloat16Type())


def is_f8(op: Operation, target: Target) -> bool:
    return has((*op.operands, *op.results), F8)


@table.on(
    arith.ExtFOp,
    when=lambda op, to: is_f8(op, to) and to.has_f8 and not is_f8_to_f16(op, to),
)
def f8_by_f16(code: Code, op: arith.ExtFOp) -> SSAValue:
    """By way of f16: VK_EXT_shader_float8 keeps subnormal numbers only there."""
    return converted(code, converted(code, op.input, f16), f32)


@table.on(arith.ExtFOp, when=lambda op, to: is_f8(op, to) and not to.has_f8)
def extend_f8(code: Code, op: arith.ExtFOp) -> SSAValue:
    """The bits, moved up, with the bias of f32.

    A subnormal number gets the least normal exponent as if it had a leading one, which
    is then subtracted.  Infinities and NaN get the greatest exponent.
    """
    format = FORMATS[element_of(op.input.type).name]
    up = 23 - format.fraction_bits
    least = 127 + format.min_exponent << 23
    bits = code.cast(arith.BitcastOp, op.input, IntegerType(8))
    word = code.cast(arith.ExtUIOp, bits, i32)
    sign = code(arith.AndIOp(word, code.like(word, 0x80)))
    number = code(arith.AndIOp(word, code.like(word, 0x7F)))
    moved = code(arith.ShLIOp(number, code.like(word, up)))
    normal = code(arith.AddiOp(moved, code.like(word, least - (1 << 23))))
    with_one = code(arith.AddiOp(moved, code.like(word, least)))
    one = code.number(shaped(word.type, f32), 2.0**format.min_exponent)
    with_one = code.cast(arith.BitcastOp, with_one, f32)
    small = code.cast(arith.BitcastOp, code(arith.SubfOp(with_one, one)), i32)
    special = code(arith.OrIOp(moved, code.like(word, 0xFF << 23)))
    is_small = arith.CmpiOp(number, code.like(word, 1 << format.fraction_bits), "ult")
    found = code.select(code(is_small), small, normal)
    is_special = arith.CmpiOp(number, code.like(word, format.greatest_code), "ugt")
    found = code.select(code(is_special), special, found)
    high = code(arith.ShLIOp(sign, code.like(word, 24)))
    return code.cast(arith.BitcastOp, code(arith.OrIOp(found, high)), f32)


@table.on(arith.TruncFOp, when=is_f8)
def round_to_f8(code: Code, op: arith.TruncFOp) -> SSAValue:
    """The upper bits of an f32 with the bias of f8, to nearest even.

    Of a number that becomes subnormal more bits are cut off, and the leading one is
    kept as a bit.  Drivers may make zeros of such numbers, so all targets do this.
    """
    format = FORMATS[element_of(op.result.type).name]
    cut, least = 23 - format.fraction_bits, 127 + format.min_exponent
    word = code.cast(arith.BitcastOp, op.input, i32)
    number = code(arith.AndIOp(word, code.like(word, 0x7FFFFFFF)))
    exponent = code(arith.ShRUIOp(number, code.like(word, 23)))
    is_small = code(arith.CmpiOp(exponent, code.like(word, least), "ult"))
    fraction = code(arith.AndIOp(number, code.like(word, (1 << 23) - 1)))
    whole = code(arith.OrIOp(fraction, code.like(word, 1 << 23)))
    more = code(arith.SubiOp(code.like(word, cut + least), exponent))
    # Of 24 bits nothing is left after 25.
    more = code(arith.MinUIOp(more, code.like(word, 25)))
    units = code.select(is_small, whole, number)
    by = code.select(is_small, more, code.like(word, cut))
    half = code(arith.ShLIOp(code.like(word, 1), by))
    half = code(arith.ShRUIOp(half, code.like(word, 1)))
    odd = code(arith.AndIOp(code(arith.ShRUIOp(units, by)), code.like(word, 1)))
    up = code(arith.SubiOp(code(arith.AddiOp(half, odd)), code.like(word, 1)))
    near = code(arith.ShRUIOp(code(arith.AddiOp(units, up)), by))
    bias = code.like(word, least - 1 << format.fraction_bits)
    normal = code(arith.SubiOp(near, bias))
    found = code.select(is_small, near, normal)
    found = code(arith.MinUIOp(found, code.like(word, format.greatest_code + 1)))
    if format.has_infinity:
        is_nan = code(arith.CmpiOp(number, code.like(word, 0xFF << 23), "ugt"))
        found = code.select(is_nan, code.like(word, format.encode(nan)), found)
    high = code(arith.ShRUIOp(word, code.like(word, 24)))
    sign = code(arith.AndIOp(high, code.like(word, 0x80)))
    byte = code.cast(arith.TruncIOp, code(arith.OrIOp(found, sign)), IntegerType(8))
    return code.cast(arith.BitcastOp, byte, element_of(op.result.type))


def is_scale(op: Operation, target: Target) -> bool:
    return has((*op.operands, *op.results), Float8E8M0FNUType)


@table.on(arith.ExtFOp, when=is_scale)
def extend_scale(code: Code, op: arith.ExtFOp) -> SSAValue:
    """The exponent of an f32, whose 2^-127 is subnormal; the last code is NaN."""
    bits = code.cast(arith.BitcastOp, op.input, IntegerType(8))
    word = code.cast(arith.ExtUIOp, bits, i32)
    power = code(arith.ShLIOp(word, code.like(word, 23)))
    power = code(arith.MaxUIOp(power, code.like(word, 1 << 22)))
    is_nan = code(arith.CmpiOp(word, code.like(word, 0xFF), "eq"))
    found = code.select(is_nan, code.like(word, 0x7FC00000), power)
    return code.cast(arith.BitcastOp, found, f32)


@table.on(arith.TruncFOp, when=is_scale)
def round_to_scale(code: Code, op: arith.TruncFOp) -> SSAValue:
    """The exponent of an f32, to the nearest power: what has a sign becomes NaN.

    Below 2^-126 there is one power, so that half a unit is half as much.
    """
    word = code.cast(arith.BitcastOp, op.input, i32)
    is_zero = code(arith.CmpiOp(word, code.like(word, -(1 << 31)), "eq"))
    word = code(arith.MinUIOp(word, code.like(word, 1 - (1 << 31))))  # no carry
    small = code(arith.CmpiOp(word, code.like(word, 1 << 23), "ult"))
    half = code.select(small, code.like(word, 1 << 21), code.like(word, 1 << 22))
    near = code(arith.AddiOp(word, half))
    power = code(arith.ShRUIOp(near, code.like(word, 23)))
    power = code(arith.MinUIOp(power, code.like(word, 0xFF)))
    power = code.select(is_zero, code.like(word, 0), power)
    byte = code.cast(arith.TruncIOp, power, IntegerType(8))
    return code.cast(arith.BitcastOp, byte, element_of(op.result.type))


class ExpandNarrowFloatsPass(ExpandPass):
    """Computes bf16 and f8 in f32."""

    name = "expand-narrow-floats"
    table = table
