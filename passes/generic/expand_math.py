"""expand-math: expands functions that a target lacks, and constant powers.

Before:  operations of `math`, `arith.remf`.
After:   operations of `math` and `arith` that the target has.
Fails:   never; an operation without an expansion is unchanged.

GLSL's functions take f16 and f32, its bit counts 32 bits.  Missing functions are
computed to the same accuracy where possible.  A power of integers, or with a small
constant exponent, becomes multiplications on every target.  On x86-64, f16 is computed
in f32, and an integer power of floats in f64; exponentials, logarithms, powers, sin,
cos, tanh and erf of f32 vectors are polynomials, because the library has only scalar
ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import product
from math import inf, nan, pi
from typing import TypeAlias

from xdsl.dialects import arith, math, scf, vector
from xdsl.dialects.builtin import (
    Float16Type,
    Float64Type,
    IndexType,
    IntegerType,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, Use

from coopc.dialects.math_forms import (
    ClampFOp,
    ErfcOp,
    IsFiniteOp,
    IsInfOp,
    IsNaNOp,
    IsNormalOp,
)
from coopc.dialects.narrow import is_vector
from coopc.dialects.shaped_arith import RemfOp
from coopc.dialects.simt import bits_of
from coopc.emit.walker import element_of, is_i1, refuse_i1
from coopc.ir.facts import splat_number
from coopc.passes.generic.expand_arith import FREE
from coopc.passes.generic.expand_narrow_floats import (
    MATH,
    NARROW,
    computed_in_f32,
    is_narrow,
)
from coopc.passes.generic.expand_vector import reduction
from coopc.passes.generic.expansion import Code, ExpandPass, Expansions, Target
from coopc.passes.generic.number import Num, nums
from coopc.rounding import FORMATS

table = Expansions()

LOG10_2 = 0.3010299956639812
"""The decimal logarithm of 2."""
APPROXIMATE = arith.FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
MOST_FACTORS = 8
"""Up to it, a constant power is products: to (n - 1) / 2 units in the last place, and
to n where it is negative."""
SMALL = 0.35
"""Below it the series are used."""
EXPM1_TERMS = 9
"""The next term is below SMALL**9 / 10!, 2e-11 of the first."""
LOG1P_TERM = 13
"""The last exponent; the next term is below 0.22**14 / 15, 5e-11 of the first."""


ERF = (
    1.1283791065216064,
    -0.37612324953079224,
    0.11280180513858795,
    -0.026711314916610718,
    0.004917555022984743,
    -0.0005631435196846724,
)
"""erf(x) / x for x^2 in [0, 1], by powers of x^2: to 4e-8 of it."""
LOG_ERFC = (
    0.0,
    -1.128380298614502,
    -0.636597752571106,
    -0.10291961580514908,
    0.019583959132432938,
    -0.0005369333666749299,
    -0.0010324015747755766,
    0.0003088021476287395,
    -3.144015499856323e-05,
)
"""log(erfc(x)) for x >= 0, by powers of x: erfc(x) to 1.6e-8, 1 of 0, and 0 of
infinity."""
ERFC = (
    -1.2654961347579956,
    0.9996786713600159,
    0.3770797550678253,
    0.08298463374376297,
    -0.14855091273784637,
    0.2151685208082199,
    -1.0687047243118286,
    1.4472343921661377,
    -0.8084797263145447,
    0.16908559203147888,
)
"""log(erfc(x) / t) + x^2 for 0 <= x <= 12, by powers of t = 1 / (1 + x / 2): erfc(x) to
9.1e-8 of it, and 1 of 0."""

EXP = (
    0.4999999403953552,
    0.16666515171527863,
    0.04166845604777336,
    0.008369418792426586,
    0.0013813143596053123,
)
"""(exp(x) - 1 - x) / x^2 for |x| <= log(2) / 2, by powers of x: to 3.3e-9 of exp(x)."""
LOG = (
    0.3333333134651184,
    -0.2500081956386566,
    0.20001226663589478,
    -0.16623356938362122,
    0.14201758801937103,
    -0.13160185515880585,
    0.12761570513248444,
    -0.0763448178768158,
)
"""(log(1 + x) - x + x^2 / 2) / x^3 for 1 + x from the root of a half to that of 2, by
powers of x: to 5.9e-9 of the logarithm."""
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.693359375, -0.00021219444005469057
"""The natural logarithm of 2, in two parts: the first times 2^8 at most is exact."""
LN2 = 0.6931471805599453
LOG10_E = 0.4342944819032518
LOG10_2_HIGH, LOG10_2_LOW = 0.301025390625, 4.605038981195214e-06
"""The decimal logarithm of 2, in two parts: the first times 2^8 at most is exact."""
WHOLE, WHOLE_F64 = 1.5 * 2.0**23, 1.5 * 2.0**52
"""Adding it rounds a small f32, or f64, to a whole number, the low bits of the sum."""
HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
"""pi / 2 in parts of at most 33 bits: the first two times 2^20 at most are exact."""
MOST_ANGLE = 2.0**20
"""Up to it, sine and cosine are of pi / 2 times 2^20 at most, and a rest."""
SIN = (-0.16666654936121889, 0.008332177659518998, -0.00019517231751938735)
"""(sin(r) / r - 1) / r^2 for |r| <= pi / 4, by powers of r^2: to 3.6e-9 of sin(r)."""
COS = (0.04166664685336115, -0.0013887366858298432, 2.443837428411099e-05)
"""(cos(r) - 1 + r^2 / 2) / r^4 for |r| <= pi / 4, by powers of r^2: to 1e-10."""
OF_LIBRARY = arith.FastMathFlagsAttr([FastMathFlag.ALLOW_RECIP])
"""Marks a sine or cosine that is left to the C library, so that it is not expanded
again: `arcp` has no effect on it."""
SIGNIFICAND, BIAS = 23, 127
"""Bits of the significand of an f32, and the bias of its exponent."""
SIGNIFICAND_F64, BIAS_F64 = 52, 1023
"""The same of an f64."""
EXP2_F64 = (
    0.9999999999616827,
    0.6931471807284808,
    0.24022651198151607,
    0.05550410353336078,
    0.009618027254306957,
    0.0013333922654063719,
    0.00015469290971017986,
    1.5201900740802587e-05,
)
"""2^r for |r| <= 1/2, by powers of r: to 4e-11 of it."""
LOG2_F64 = (
    2.885390081790026,
    0.9617966733696384,
    0.5770835814306463,
    0.4116728850223963,
    0.34072751052665945,
)
"""log2((1 + t) / (1 - t)) / t for (1 + t) / (1 - t) from the root of a half to that of
2, by powers of t^2: to 4.4e-12 of it."""


# Every target: kinds of floats, and powers.


def computed(code: Code, *values: SSAValue) -> list[Num]:
    """Floats as numbers of f32, unless they are of f64."""
    found = nums(code, *values)
    wide = isinstance(element_of(values[0].type), Float64Type)
    return found if wide else [x.to(f32) for x in found]


@table.on(IsNaNOp)
def is_nan(code: Code, op: IsNaNOp) -> Num:
    (x,) = computed(code, op.operand)
    return x.compare("uno", x)


@table.on(IsInfOp, IsFiniteOp)
def is_infinite(code: Code, op: IsInfOp | IsFiniteOp) -> Num:
    (x,) = computed(code, op.operand)
    predicate = "oeq" if isinstance(op, IsInfOp) else "olt"
    return x.apply(math.AbsFOp).compare(predicate, inf)


@table.on(IsNormalOp)
def is_normal(code: Code, op: IsNormalOp) -> Num:
    (x,) = computed(code, op.operand)
    size = x.apply(math.AbsFOp)
    least = 2.0 ** FORMATS[element_of(op.operand.type).name].min_exponent
    return size.compare("oge", least) & size.compare("olt", inf)


@table.on(ClampFOp)
def clamped(code: Code, op: ClampFOp) -> Num:
    x, low, high = nums(code, op.value, op.low, op.high)
    return x.apply(arith.MaximumfOp, low).apply(arith.MinimumfOp, high)


def whole_exponent(op: math.PowFOp | math.FPowIOp) -> int | None:
    """The exponent, if it is a whole constant of at most MOST_FACTORS; else None."""
    n = splat_number(op.rhs)
    return int(n) if n is not None and abs(n) <= MOST_FACTORS and n % 1 == 0 else None


@table.on(
    *(math.PowFOp, math.FPowIOp), when=lambda op, _: whole_exponent(op) is not None
)
def constant_power(code: Code, op: math.PowFOp | math.FPowIOp) -> Num:
    """Products, by squaring: in f32 for f16 and bf16, and of 1 / x where n < 0."""
    n, element = whole_exponent(op), element_of(op.lhs.type)
    assert n is not None, op
    x = Num(code, op.lhs)
    x = x if isinstance(element, Float64Type) else x.to(f32)
    x = x.like(1.0) / x if n < 0 else x
    return raised(x, abs(n)).to(element)


def raised(x: Num, n: int) -> Num:
    """Return a power, by squaring."""
    found = x if n else x.like(1)
    for bit in f"{n:b}"[1:]:
        found = found * found
        found = found * x if bit == "1" else found
    return found


@table.on(math.IPowIOp, when=lambda op, _: not is_i1(op.result.type))
def power_of_integers(code: Code, op: math.IPowIOp) -> Num:
    """Products of the squares that the bits of the exponent choose, modulo 2^bits.

    So are those of 1 and -1 with a negative exponent; those of others are 0.
    """
    x, n = nums(code, op.lhs, op.rhs)
    known = splat_number(op.rhs)
    if known is not None and 0 <= known <= MOST_FACTORS:
        return raised(x, int(known))
    element = element_of(op.lhs.type)
    found, square, rest = x.like(1), x, n
    for _ in range(64 if isinstance(element, IndexType) else bits_of(element)):
        found = (rest & 1).compare("ne", 0).select(found * square, found)
        square, rest = square * square, rest >> 1
    is_unit = (x + 1).compare("ule", 2)
    return (is_unit | n.compare("sge", 0)).select(found, 0)


# Vulkan, and vectors on x86-64: functions of floats.


def free(code: Code, *values: SSAValue) -> list[Num]:
    """Floats whose arithmetic a driver may fuse."""
    return [Num(code, value, (FREE,)) for value in values]


def polynomial(x: Num, factors: Sequence[float]) -> Num:
    """Factors of the powers of a number, from the 0th on, summed up."""
    found = x.like(factors[-1])
    for factor in factors[-2::-1]:
        found = found * x + factor
    return found


def lacks(op: Operation, target: Target) -> bool:
    """Whether GLSL lacks a function; narrow floats are computed in f32 first."""
    return target.language == "vulkan" and not is_narrow(op, target)


def lacks_of_short(op: Operation, target: Target) -> bool:
    """Whether GLSL lacks a function of f16 and f32; of f64 it has few others."""
    wide = isinstance(element_of(op.results[0].type), Float64Type)
    return lacks(op, target) and not wide


def is_of_vectors(op: Operation, target: Target) -> bool:
    """Whether a function on x86-64 is of a vector of f32."""
    type = op.results[0].type
    return target.language == "x86" and is_vector(type) and element_of(type) == f32


@table.on(math.CopySignOp, when=lacks)
def copysign(code: Code, op: math.CopySignOp) -> Num:
    element = element_of(op.lhs.type)
    bits = IntegerType(bits_of(element))
    x, sign = (each.bits(bits) for each in nums(code, op.lhs, op.rhs))
    top = 1 << (bits.bitwidth - 1)
    return ((x & top - 1) | (sign & -top)).bits(element)


@table.on(math.CbrtOp, when=lacks_of_short)
def cbrt(code: Code, op: math.CbrtOp) -> Num:
    """The cube root: a power of the magnitude, and a Newton step."""
    (x,) = free(code, op.operand)
    magnitude = x.apply(math.AbsFOp)
    root = of_glsl(magnitude, magnitude.like(1 / 3))
    better = root + (magnitude / (root * root) - root) * (1 / 3)
    # Of 0 and of infinities the step is no number.
    positive, finite = magnitude.compare("ogt", 0.0), magnitude.compare("olt", inf)
    return (positive & finite).select(better, magnitude).apply(math.CopySignOp, x)


@table.on(math.ExpM1Op, when=lacks_of_short)
@table.on(math.ExpM1Op, when=is_of_vectors)
def expm1(code: Code, op: math.ExpM1Op) -> Num:
    """`exp(x) - 1`: where x is small x (1 + x/2 (1 + x/3 (1 + ...)))."""
    (x,) = free(code, op.operand)
    series = x.like(1.0)
    for term in range(EXPM1_TERMS, 1, -1):
        series = x * (1 / term) * series + 1.0
    direct = x.apply(math.ExpOp) - 1.0
    return x.apply(math.AbsFOp).compare("olt", SMALL).select(x * series, direct)


@table.on(math.Log1pOp, when=lacks_of_short)
@table.on(math.Log1pOp, when=is_of_vectors)
def log1p(code: Code, op: math.Log1pOp) -> Num:
    """`log(1 + x)`: where x is small 2 (s + s^3/3 + s^5/5 + ...), s = x / (2 + x)."""
    (x,) = free(code, op.operand)
    s = x / (x + 2.0)
    square = s * s
    series = x.like(2 / LOG1P_TERM)
    for term in range(LOG1P_TERM - 2, 0, -2):
        series = series * square + 2 / term
    direct = (x + 1.0).apply(math.LogOp)
    return x.apply(math.AbsFOp).compare("olt", SMALL).select(s * series, direct)


@table.on(math.ErfOp, when=is_of_vectors)
@table.on(math.ErfOp, when=lacks_of_short)
def erf(code: Code, op: math.ErfOp) -> Num | SSAValue:
    """Two polynomials, of f16 in f32; with an exact `exp` to 1.7e-7 of the result.

    The second one alone is to 1.7e-7 of 1, which is enough where 1 is added.
    """
    if isinstance(element_of(op.operand.type), Float16Type):
        return computed_in_f32(code, op, Float16Type)
    (signed,) = free(code, op.operand)
    x = signed.apply(math.AbsFOp)
    found = 1.0 - polynomial(x, LOG_ERFC).apply(math.ExpOp)
    if not all(map(adds_one, op.result.uses)):
        near = x * polynomial(x * x, ERF)
        found = x.compare("olt", 1.0).select(near, found)
    return found.apply(math.CopySignOp, signed)


@table.on(ErfcOp, when=is_of_vectors)
@table.on(ErfcOp, when=lacks_of_short)
def erfc(code: Code, op: ErfcOp) -> Num | SSAValue:
    """`t exp(polynomial of t - x^2)`, of f16 in f32.

    x^2 is high^2, which is exact, and (x - high) (x + high).
    """
    if isinstance(element_of(op.operand.type), Float16Type):
        return computed_in_f32(code, op, Float16Type)
    (signed,) = free(code, op.operand)
    x = signed.apply(math.AbsFOp)
    x = x.compare("ogt", 12.0).select(x.like(12.0), x)  # whose erfc is 0 in f32
    high = (x.bits(i32) & -(1 << 12)).bits(f32)
    t = x.like(1.0) / (x * 0.5 + 1.0)
    rest = polynomial(t, ERFC) - (x - high) * (x + high)
    found = (high * high * -1.0).apply(math.ExpOp) * rest.apply(math.ExpOp) * t
    return signed.compare("olt", 0.0).select(2.0 - found, found)


def adds_one(use: Use) -> bool:
    """Whether 1 is added to a value, as in GELU."""
    op = use.operation
    return isinstance(op, arith.AddfOp) and 1 in map(splat_number, op.operands)


@table.on(math.Log10Op, when=lacks_of_short)
def log10(code: Code, op: math.Log10Op) -> Num:
    (x,) = free(code, op.operand)
    return x.apply(math.Log2Op) * LOG10_2


@table.on(math.RoundOp, when=lacks)
def round_away(code: Code, op: math.RoundOp) -> Num:
    """The nearest whole number, halves away from zero."""
    (x,) = free(code, op.operand)
    whole = x.apply(math.TruncOp)
    up = (x - whole).apply(math.AbsFOp).compare("oge", 0.5)
    step = up.select(x.like(1.0), 0.0).apply(math.CopySignOp, x)
    return (whole + step).apply(math.CopySignOp, x)


def lacks_origin(op: math.Atan2Op, target: Target) -> bool:
    side = op.rhs.owner
    is_guarded = isinstance(side, arith.SelectOp) and isinstance(
        side.cond.owner, arith.AndIOp
    )
    is_own = op.fastmath == APPROXIMATE and is_guarded
    return lacks_of_short(op, target) and not is_own


@table.on(math.Atan2Op, when=lacks_origin)
def arc_tangent(code: Code, op: math.Atan2Op) -> Num:
    """C's `atan2(y, x)`; GLSL's is undefined where both are 0."""
    y, x = nums(code, op.lhs, op.rhs)
    is_origin = y.compare("oeq", 0.0) & x.compare("oeq", 0.0)
    side = is_origin.select(x.like(1.0).apply(math.CopySignOp, x), x)
    return y.apply(partial(math.Atan2Op, fastmath=APPROXIMATE), side)


def of_glsl(size: Num, y: Num) -> Num:
    """GLSL's `Pow` of a magnitude, which is undefined for 0 and y <= 0."""
    return size.apply(partial(math.PowFOp, fastmath=APPROXIMATE), y)


def is_of_magnitude(op: math.PowFOp) -> bool:
    """Whether a power is what `of_glsl` makes."""
    return op.fastmath == APPROXIMATE and isinstance(op.lhs.owner, math.AbsFOp)


def lacks_power(op: math.PowFOp, target: Target) -> bool:
    lacks_it = lacks_of_short(op, target) or is_of_vectors(op, target)
    return lacks_it and not is_of_magnitude(op)


@table.on(math.PowFOp, when=lacks_power)
def power(code: Code, op: math.PowFOp) -> Num | SSAValue:
    """C's `pow`; GLSL's is undefined for x < 0, and for x = 0 and y <= 0."""
    if isinstance(element_of(op.lhs.type), Float16Type):
        return computed_in_f32(code, op, Float16Type)
    x, y = free(code, op.lhs, op.rhs)
    floor, half = y.apply(math.FloorOp), y * 0.5
    is_odd = y.compare("oeq", floor) & half.compare("one", half.apply(math.FloorOp))
    found = _signed_power(x, y, is_odd, x.compare("oeq", 1.0) | y.compare("oeq", 0.0))
    is_root = y.compare("une", floor) & x.compare("olt", 0.0)
    is_nan = is_root & x.compare("ogt", -inf)
    is_nan = is_nan | (y.compare("uno", y) & x.compare("une", 1.0))
    return is_nan.select(x.like(nan), found)


@table.on(
    math.FPowIOp, when=lambda op, to: lacks_of_short(op, to) and not is_i1(op.rhs.type)
)
def power_of_integer(code: Code, op: math.FPowIOp) -> Num | SSAValue:
    if isinstance(element_of(op.lhs.type), Float16Type):
        return computed_in_f32(code, op, Float16Type)
    x, n = free(code, op.lhs, op.rhs)
    y = n.cast(arith.SIToFPOp, element_of(op.lhs.type))
    return _signed_power(x, y, (n & 1).compare("ne", 0), n.compare("eq", 0))


def _signed_power(x: Num, y: Num, is_odd: Num, is_one: Num) -> Num:
    """|x|^y, with the sign of x where y is odd; 1 where `is_one` or |x| is 1."""
    size = x.apply(math.AbsFOp)
    is_one, is_pole = is_one | size.compare("oeq", 1.0), size.compare("oeq", 0.0)
    is_pole = is_pole & y.compare("olt", 0.0)
    found = is_pole.select(x.like(inf), of_glsl(size, y))
    found = is_one.select(x.like(1.0), found)
    return is_odd.select(found.apply(math.CopySignOp, x), found)


# Vulkan: the remainder of floats.
#
# OpFRem is x - y trunc(x / y) there, of a quotient that is rounded.  This is exact:
#
#     t = |y|; while t <= |x| / 2: t = 2 t          t is |y| times a power of two
#     r = |x|; while t >= |y|: { if r >= t: r = r - t; t = t / 2 }
#     the result is r with the sign of x
#
# Each difference is exact, since t <= r < 2 t where it is taken.  It is what `fmod`
# of C is: NaN for an infinite x, for a y of 0 and for NaN; x for an infinite y.


@table.on(RemfOp, when=lacks)
def remainder(code: Code, op: RemfOp) -> Num | SSAValue:
    """The remainder with the sign of the dividend; of f16 in f32, which holds 2 x."""
    if isinstance(element_of(op.lhs.type), Float16Type):
        return computed_in_f32(code, op, Float16Type)
    x, y = free(code, op.lhs, op.rhs)
    size, by = x.apply(math.AbsFOp), y.apply(math.AbsFOp)
    exists = size.compare("olt", inf) & by.compare("ogt", 0.0)
    divides = exists & by.compare("olt", inf)
    rest, by = divides.select(size, 0.0), divides.select(by, x.like(1.0))
    half = rest * 0.5

    def is_small(top: Num) -> Num:
        return top.compare("ole", half)

    def grown(goes_on: Num, top: Num) -> list[Num]:
        return [goes_on.select(top * 2.0, top)]

    def is_left(top: Num, rest: Num) -> Num:
        return top.compare("oge", by)

    def less(goes_on: Num, top: Num, rest: Num) -> list[Num]:
        fits = goes_on & rest.compare("oge", top)
        lower = fits.select(rest.apply(arith.SubfOp, top), rest)
        return [goes_on.select(top * 0.5, top), lower]

    (top,) = _while(code, [by], is_small, grown)
    _, rest = _while(code, [top, rest], is_left, less)
    otherwise = exists.select(size, nan)
    # The sign comes last: lavapipe is wrong about a choice of what copysign makes.
    return divides.select(rest, otherwise).apply(math.CopySignOp, x)


def _while(
    code: Code,
    first: Sequence[Num],
    condition: Callable[..., Num],
    step: Callable[..., list[Num]],
) -> Sequence[Num]:
    """A loop while a condition holds of any component.

    The step is from the condition, an i1 or a vector of them, and the values to the
    next ones.
    """
    types = [number.value.type for number in first]
    before = Block(arg_types=types)
    inner = Code(before.add_op)
    goes_on = condition(*free(inner, *before.args)).value
    after = Block(arg_types=[goes_on.type, *types])
    some = goes_on
    if is_vector(goes_on.type):
        positions = product(*map(range, goes_on.type.get_shape()))
        each = (inner(vector.ExtractOp(goes_on, at, i1)) for at in positions)
        some = reduce(lambda a, b: inner(arith.OrIOp(a, b)), each)
    before.add_op(scf.ConditionOp(some, goes_on, *before.args))
    found = step(*free(Code(after.add_op), *after.args))
    after.add_op(scf.YieldOp(*(number.value for number in found)))
    start = [number.value for number in first]
    loop = scf.WhileOp(start, [goes_on.type, *types], Region(before), Region(after))
    code(loop)
    return free(code, *loop.results[1:])


# Vulkan: counts of bits, which it has of 32.


Count: TypeAlias = math.CtPopOp | math.CountLeadingZerosOp | math.CountTrailingZerosOp


def width_of(op: Count) -> int:
    """The width of the integers of which bits are counted; Vulkan's index has 32."""
    element = element_of(op.operand.type)
    return 32 if isinstance(element, IndexType) else bits_of(element)


def of_other_width(op: Count, target: Target) -> bool:
    """Whether bits are counted of other integers than Vulkan has it for."""
    return target.language == "vulkan" and width_of(op) != 32


@table.on(
    *(math.CtPopOp, math.CountLeadingZerosOp, math.CountTrailingZerosOp),
    when=of_other_width,
)
def count_of_bits(code: Code, op: Count) -> Num:
    """Ones, or zeros above or below all ones: of 32 bits, or of two halves of them."""
    refuse_i1(op)
    x, width, element = Num(code, op.operand), width_of(op), element_of(op.operand.type)
    if width < 32:
        found = x.cast(arith.ExtUIOp, i32).apply(type(op))
        # What is counted in the bits that were added, or where no bit is 1.
        if isinstance(op, math.CountLeadingZerosOp):
            found = found - (32 - width)
        elif isinstance(op, math.CountTrailingZerosOp):
            found = found.apply(arith.MinUIOp, width)
        return found.cast(arith.TruncIOp, element)
    high = x >> 32
    first, second = (
        half.cast(arith.TruncIOp, i32).apply(type(op)) for half in (x, high)
    )
    if isinstance(op, math.CtPopOp):
        found = first + second
    else:
        if isinstance(op, math.CountLeadingZerosOp):
            first, second = second, first
        # Where a half is empty, those of the other half, too.
        found = first.compare("eq", 32).select(second + 32, first)
    return found.cast(arith.ExtUIOp, element)


# x86-64: f16 in f32, and what is exact in f64.


def is_short(op: Operation, target: Target, *more: type[Attribute]) -> bool:
    """Whether a function on x86-64 is of f16, or of some others."""
    element = element_of(op.results[0].type)
    return target.language == "x86" and isinstance(element, (Float16Type, *more))


@table.on(*(math.FmaOp, vector.FMAOp), when=lambda op, to: is_short(op, to, *NARROW))
def fma(code: Code, op: math.FmaOp | vector.FMAOp) -> Num:
    """In f64 a product is exact, and the sum rounds at a bit that never decides."""
    a, b, c = (x.to(f64) for x in nums(code, *op.operands))
    return (a * b + c).cast(arith.TruncFOp, element_of(op.results[0].type))


@table.on(*(op for op in MATH if op is not math.FmaOp), when=is_short)
def in_f32(code: Code, op: Operation) -> SSAValue:
    """A function of f16, rounded from f32."""
    return computed_in_f32(code, op, Float16Type)


@table.on(
    math.RsqrtOp, when=lambda op, to: to.language == "x86" and not is_narrow(op, to)
)
def rsqrt(code: Code, op: math.RsqrtOp) -> Num:
    """One by the root."""
    root = Num(code, op.operand).apply(math.SqrtOp)
    return root.like(1.0) / root


@table.on(
    math.FPowIOp,
    when=lambda op, to: to.language == "x86" and element_of(op.rhs.type) == i32,
)
def power_in_f64(code: Code, op: math.FPowIOp) -> Num:
    """A power of floats in f64, which holds an exponent of 32 bits exactly."""
    x, n = nums(code, op.lhs, op.rhs)
    found = x.to(f64).apply(math.PowFOp, n.cast(arith.SIToFPOp, f64))
    return found.cast(arith.TruncFOp, element_of(op.result.type))


# x86-64: functions of vectors of f32.


@table.on(math.ExpOp, when=is_of_vectors)
def exponential(code: Code, op: math.ExpOp) -> Num:
    """Of n log(2) + r, with |r| <= log(2) / 2: exp(r) times 2^n, in two factors.

    NaN passes both comparisons; exp(r) is NaN then, and so is the result.
    """
    (x,) = free(code, op.operand)
    x = x.compare("olt", -104.0).select(x.like(-104.0), x)  # below is 0
    x = x.compare("ogt", 89.0).select(x.like(89.0), x)  # beyond is infinity
    shifted = x * LOG2_E + WHOLE  # nothing may be reassociated: flags say contract
    return scaled(reduced(x, shifted), shifted)


@table.on(math.Exp2Op, when=is_of_vectors)
def exponential_of_2(code: Code, op: math.Exp2Op) -> Num:
    """Of n + r, with |r| <= 1/2: exp(r log(2)) times 2^n."""
    (x,) = free(code, op.operand)
    x = x.compare("olt", -151.0).select(x.like(-151.0), x)  # below is 0
    x = x.compare("ogt", 129.0).select(x.like(129.0), x)  # beyond is infinity
    shifted = x + WHOLE
    return scaled((x - (shifted - WHOLE)) * LN2, shifted)


def reduced(x: Num, shifted: Num) -> Num:
    """Return x - n log(2), where `shifted` has n + `WHOLE`."""
    n = shifted - WHOLE
    return x - n * LN2_HIGH - n * LN2_LOW


def scaled(r: Num, shifted: Num) -> Num:
    """Return exp(r) times 2^n, in two factors, of which `shifted` has n + `WHOLE`."""
    found = (polynomial(r, EXP) * r + 1.0) * r + 1.0
    exponent = shifted.bits(i32) << SIGNIFICAND
    half = exponent.apply(arith.ShRSIOp, 1) & -(1 << SIGNIFICAND)
    for part in (half, exponent - half):
        found = found * (part + (BIAS << SIGNIFICAND)).bits(f32)
    return found


def unless_nan(x: Num, found: Num) -> Num:
    """What is computed of a number; the number itself where it is NaN."""
    return x.compare("uno", x).select(x, found)


@table.on(math.LogOp, math.Log2Op, math.Log10Op, when=is_of_vectors)
def logarithm(code: Code, op: math.LogOp | math.Log2Op | math.Log10Op) -> Num:
    """Of m 2^e, with m from the root of a half to that of 2: e log(2) + log(m)."""
    (x,) = free(code, op.operand)
    is_small = x.compare("olt", 2.0**-126)
    bits = is_small.select(x * 2.0**SIGNIFICAND, x).bits(i32)
    # Counted from the root of a half on, the exponent is e, and the rest makes m.
    root = bits.like(0x3F3504F3)
    above = bits - root
    e = above.apply(arith.ShRSIOp, SIGNIFICAND)
    m = ((above & (1 << SIGNIFICAND) - 1) + root).bits(f32)
    exponent = e.cast(arith.SIToFPOp, f32)
    exponent = is_small.select(exponent - float(SIGNIFICAND), exponent)
    y = m - 1.0
    square = y * y
    rest = square * y * polynomial(y, LOG) - square * 0.5
    match op:
        case math.LogOp():
            rest = exponent * LN2_LOW + rest
            found = exponent * LN2_HIGH + (y + rest)
        case math.Log2Op():
            found = exponent + ((y + rest) * (LOG2_E - 1.0) + rest + y)
        case math.Log10Op():
            rest = exponent * LOG10_2_LOW + (y + rest) * LOG10_E
            found = exponent * LOG10_2_HIGH + rest
    found = x.compare("oeq", inf).select(x, found)
    found = x.compare("oeq", 0.0).select(x.like(-inf), found)
    return unless_nan(x, x.compare("olt", 0.0).select(x.like(nan), found))


def is_of_angles(op: math.SinOp | math.CosOp, target: Target) -> bool:
    """Whether it is of a vector of one dimension, and not already of the library."""
    if not is_of_vectors(op, target) or op.fastmath == OF_LIBRARY:
        return False
    type = op.result.type
    return is_vector(type) and len(type.get_shape()) == 1


@table.on(math.SinOp, math.CosOp, when=is_of_angles)
def sine(code: Code, op: math.SinOp | math.CosOp) -> SSAValue:
    """Of n pi / 2 + r, with |r| <= pi / 4: a polynomial of r, by the lowest bits of n.

    The library is asked where an angle is so large that n pi / 2 is not exact enough.
    """
    size = Num(code, op.operand).apply(math.AbsFOp)
    beyond = size.compare("ogt", MOST_ANGLE).value
    some = code(reduction(beyond, CombiningKindFlag.OR))
    near, far = Block(), Block()
    of_library = type(op)(op.operand, fastmath=OF_LIBRARY)
    far.add_ops([of_library, scf.YieldOp(of_library.result)])
    (x,) = free(Code(near.add_op), op.operand)
    near.add_op(scf.YieldOp(_sine(x, isinstance(op, math.CosOp)).value))
    return code(scf.IfOp(some, [op.result.type], Region(far), Region(near)))


def _sine(x: Num, is_cosine: bool) -> Num:
    """Return the sine or cosine of an angle of at most `MOST_ANGLE`."""
    wide = x.cast(arith.ExtFOp, f64)
    shifted = wide * (2 / pi) + WHOLE_F64
    n, r = shifted - WHOLE_F64, wide
    for part in HALF_PI:  # each product is exact
        r = r - n * part
    r = r.cast(arith.TruncFOp, f32)
    turns = shifted.bits(i64).cast(arith.TruncIOp, i32) + int(is_cosine)
    square = r * r
    of_sine = r * square * polynomial(square, SIN) + r
    of_cosine = square * square * polynomial(square, COS) + (square * -0.5 + 1.0)
    found = (turns & 1).compare("ne", 0).select(of_cosine, of_sine)
    found = (found.bits(i32) ^ ((turns & 2) << 30)).bits(f32)
    # The sum loses the sign of -0.
    return found if is_cosine else x.compare("oeq", 0.0).select(x, found)


@table.on(math.PowFOp, when=is_of_vectors)
def power_of_magnitude(code: Code, op: math.PowFOp) -> Num:
    """2^(y log2(x)) in f64, for the magnitude of a number.

    With x = m 2^e and t = (m - 1) / (m + 1), log2(x) is e plus t times a polynomial of
    t^2.
    """
    x, y = free(code, op.lhs, op.rhs)
    bits = x.cast(arith.ExtFOp, f64).bits(i64)
    root = bits.like(0x3FE6A09E667F3BCD)  # as in `logarithm`
    above = bits - root
    e = above.apply(arith.ShRSIOp, SIGNIFICAND_F64)
    m = ((above & (1 << SIGNIFICAND_F64) - 1) + root).bits(f64)
    t = (m - 1.0) / (m + 1.0)
    logarithm = t * polynomial(t * t, LOG2_F64) + e.cast(arith.SIToFPOp, f64)
    z = logarithm * y.cast(arith.ExtFOp, f64)
    z = z.compare("olt", -200.0).select(z.like(-200.0), z)  # below is 0
    z = z.compare("ogt", 200.0).select(z.like(200.0), z)  # beyond is infinity
    shifted = z + WHOLE_F64
    scale = (shifted.bits(i64) << SIGNIFICAND_F64) + (BIAS_F64 << SIGNIFICAND_F64)
    found = polynomial(z - (shifted - WHOLE_F64), EXP2_F64) * scale.bits(f64)
    found = found.cast(arith.TruncFOp, f32)
    is_endless = x.compare("oeq", inf)
    end = y.compare("ogt", 0.0).select(x, is_endless.select(x.like(0.0), inf))
    end = y.compare("oeq", 0.0).select(x.like(1.0), end)
    found = (is_endless | x.compare("oeq", 0.0)).select(end, found)
    return unless_nan(x, found)


@table.on(math.TanhOp, when=is_of_vectors)
def tanh(code: Code, op: math.TanhOp) -> Num:
    """By g = exp(2 |x|) - 1: g / (g + 2), to 2.6 units in the last place.

    With 2 |x| = n log(2) + r, g is 2^n (exp(r) - 1) + (2^n - 1).
    """
    (signed,) = free(code, op.operand)
    x = signed.apply(math.AbsFOp) * 2.0
    x = x.compare("ogt", 20.0).select(x.like(20.0), x)  # beyond is 1
    shifted = x * LOG2_E + WHOLE
    r = reduced(x, shifted)
    growth = r * r * polynomial(r, EXP) + r
    power = ((shifted.bits(i32) << SIGNIFICAND) + (BIAS << SIGNIFICAND)).bits(f32)
    growth = growth * power + (power - 1.0)
    return (growth / (growth + 2.0)).apply(math.CopySignOp, signed)


class ExpandMathPass(ExpandPass):
    name = "expand-math"
    table = table
