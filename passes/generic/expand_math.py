"""expand-math: expands functions that GLSL.std.450 or x86-64 does not have.

Before:  operations of `math`, `arith.remf`.
After:   operations of `math` and `arith` that the target has.
Fails:   never; an operation without an expansion stays.

GLSL's functions take f16 and f32, its counts of bits 32 bits.  What it lacks is
computed to the same accuracy where that is known how.  On x86-64 f16 is computed in
f32, and a power of an integer in f64; exp, log, tanh and erf of vectors of f32 are
polynomials, as a library has them of single numbers only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
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
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from coopc.dialects.narrow import is_vector
from coopc.dialects.shaped_arith import RemfOp
from coopc.emit.walker import element_of
from coopc.passes.coopmatrix.elementwise import converted
from coopc.passes.generic.expand_arith import FREE, is_i1, refuse_i1
from coopc.passes.generic.expand_narrow_floats import (
    MATH,
    NARROW,
    computed_in_f32,
    is_narrow,
)
from coopc.passes.generic.expansion import (
    Code,
    ExpandPass,
    Expansions,
    Target,
    bits_of,
)

table = Expansions()

LOG10_2 = 0.3010299956639812
"""The decimal logarithm of 2."""
SMALL = 0.35
"""Below it the series are used."""
EXPM1_TERMS = 9
"""The next term is below SMALL**9 / 10!, 2e-11 of the first."""
LOG1P_TERM = 13
"""The last exponent; the next term is below 0.22**14 / 15, 5e-11 of the first."""


ERF = (
    1.1283791065216064,
    -0.3761262595653534,
    0.11283597350120544,
    -0.02685432881116867,
    0.005189312156289816,
    -0.0008018855005502701,
    7.882497448008507e-05,
)
"""erf(x) / x for x^2 in [0, 1], by powers of x^2: to 1.4e-9 of it."""
ERFC = (
    0.00060641,
    0.27361815,
    0.33084068,
    0.10126824,
    0.40383836,
    -0.05733874,
    -0.05354062,
)
"""exp(x^2) erfc(x) for x > 1, by powers of 1 / (1 + x / 2): erfc(x) to 2.5e-9."""

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
TANH = (
    -0.33333271741867065,
    0.13331152498722076,
    -0.05371410772204399,
    0.020551716908812523,
    -0.0056039122864604,
)
"""(tanh(x) / x - 1) / x^2 for |x| <= 0.64, by powers of x^2: to 5.4e-9 of tanh(x)."""
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.693359375, -0.00021219444005469057
"""The natural logarithm of 2, in two parts: the first times 2^8 at most is exact."""
SIGNIFICAND, BIAS = 23, 127
"""Bits of the significand of an f32, and the bias of its exponent."""


# Vulkan: functions of floats.


class Floats:
    """Arithmetic on floats like one of them, which a driver may fuse."""

    def __init__(self, code: Code, x: SSAValue) -> None:
        self.code = code
        self.x = x

    def number(self, value: float) -> SSAValue:
        return self.code.like(self.x, value)

    def _operand(self, x: SSAValue | float) -> SSAValue:
        return x if isinstance(x, SSAValue) else self.number(x)

    def add(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self.code(arith.AddfOp(a, self._operand(b), FREE))

    def sub(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self.code(arith.SubfOp(a, self._operand(b), FREE))

    def mul(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self.code(arith.MulfOp(a, self._operand(b), FREE))

    def div(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.code(arith.DivfOp(a, b, FREE))

    def unless_nan(self, value: SSAValue) -> SSAValue:
        """A value, or the number itself where it is NaN."""
        is_nan = self.code(arith.CmpfOp(self.x, self.x, "uno"))
        return self.code.select(is_nan, self.x, value)

    def size(self, x: SSAValue) -> SSAValue:
        return self.code(math.AbsFOp(x))

    def polynomial(self, x: SSAValue, factors: Sequence[float]) -> SSAValue:
        """Factors of the powers of a number, from the 0th on, summed up."""
        found = self.number(factors[-1])
        for factor in factors[-2::-1]:
            found = self.add(self.mul(found, x), factor)
        return found

    def compare(self, a: SSAValue, predicate: str, b: float) -> SSAValue:
        return self.code(arith.CmpfOp(a, self.number(b), predicate))

    def signed(self, x: SSAValue, sign: SSAValue) -> SSAValue:
        """The magnitude of one with the sign of the other."""
        return self.code(math.CopySignOp(x, sign))


def lacks(op: Operation, target: Target) -> bool:
    """Whether GLSL lacks a function; narrow floats are computed in f32 first."""
    return target.language == "vulkan" and not is_narrow(op, target)


def lacks_of_short(op: Operation, target: Target) -> bool:
    """Whether GLSL lacks a function of f16 and f32; of f64 it has few others."""
    wide = isinstance(element_of(op.results[0].type), Float64Type)
    return lacks(op, target) and not wide


@table.on(math.CopySignOp, when=lacks)
def copysign(code: Code, op: math.CopySignOp) -> SSAValue:
    element = element_of(op.lhs.type)
    width = bits_of(element)
    x, sign = (
        code.cast(arith.BitcastOp, each, IntegerType(width))
        for each in (op.lhs, op.rhs)
    )
    top = 1 << (width - 1)
    magnitude = code(arith.AndIOp(x, code.like(x, top - 1)))
    other = code(arith.AndIOp(sign, code.like(x, -top)))
    return code.cast(arith.BitcastOp, code(arith.OrIOp(magnitude, other)), element)


@table.on(math.CbrtOp, when=lacks_of_short)
def cbrt(code: Code, op: math.CbrtOp) -> SSAValue:
    """The cube root: a power of the magnitude, and a Newton step."""
    f = Floats(code, op.operand)
    magnitude = f.size(op.operand)
    root = code(math.PowFOp(magnitude, f.number(1 / 3)))
    rest = f.sub(f.div(magnitude, f.mul(root, root)), root)
    better = f.add(root, f.mul(rest, 1 / 3))
    # Of 0 and of infinities the step is no number.
    positive = f.compare(magnitude, "ogt", 0.0)
    finite = f.compare(magnitude, "olt", float("inf"))
    steps = code(arith.AndIOp(positive, finite))
    return f.signed(code.select(steps, better, magnitude), op.operand)


@table.on(math.ExpM1Op, when=lacks_of_short)
def expm1(code: Code, op: math.ExpM1Op) -> SSAValue:
    """`exp(x) - 1`: where x is small x (1 + x/2 (1 + x/3 (1 + ...)))."""
    f, x = Floats(code, op.operand), op.operand
    series = f.number(1.0)
    for term in range(EXPM1_TERMS, 1, -1):
        series = f.add(f.mul(f.mul(x, 1 / term), series), 1.0)
    direct = f.sub(code(math.ExpOp(x)), 1.0)
    is_small = f.compare(f.size(x), "olt", SMALL)
    return code.select(is_small, f.mul(x, series), direct)


@table.on(math.Log1pOp, when=lacks_of_short)
def log1p(code: Code, op: math.Log1pOp) -> SSAValue:
    """`log(1 + x)`: where x is small 2 (s + s^3/3 + s^5/5 + ...), s = x / (2 + x)."""
    f, x = Floats(code, op.operand), op.operand
    s = f.div(x, f.add(x, 2.0))
    square = f.mul(s, s)
    series = f.number(2 / LOG1P_TERM)
    for term in range(LOG1P_TERM - 2, 0, -2):
        series = f.add(f.mul(series, square), 2 / term)
    direct = code(math.LogOp(f.add(x, 1.0)))
    is_small = f.compare(f.size(x), "olt", SMALL)
    return code.select(is_small, f.mul(s, series), direct)


def is_of_vectors(op: Operation, target: Target) -> bool:
    """Whether a function on x86-64 is of a vector of f32."""
    type = op.results[0].type
    return target.language == "x86" and is_vector(type) and element_of(type) == f32


@table.on(math.ErfOp, when=is_of_vectors)
@table.on(math.ErfOp, when=lacks_of_short)
def erf(code: Code, op: math.ErfOp) -> SSAValue:
    """Two polynomials, of f16 in f32; with an exact `exp` to 1.8e-7 of the result."""
    if isinstance(element_of(op.operand.type), Float16Type):
        return computed_in_f32(code, op, Float16Type)
    f, x = Floats(code, op.operand), code(math.AbsFOp(op.operand))
    square = f.mul(x, x)
    near = f.mul(x, f.polynomial(square, ERF))
    part = f.div(f.number(1.0), f.add(f.mul(x, 0.5), 1.0))
    rest = f.mul(code(math.ExpOp(code(arith.NegfOp(square)))), f.polynomial(part, ERFC))
    is_near = f.compare(x, "olt", 1.0)
    far = f.sub(f.number(1.0), rest)
    return f.signed(code.select(is_near, near, far), op.operand)


@table.on(math.Log10Op, when=lacks_of_short)
def log10(code: Code, op: math.Log10Op) -> SSAValue:
    return Floats(code, op.operand).mul(code(math.Log2Op(op.operand)), LOG10_2)


@table.on(math.RoundOp, when=lacks)
def round_away(code: Code, op: math.RoundOp) -> SSAValue:
    """The nearest whole number, halves away from zero."""
    f, x = Floats(code, op.operand), op.operand
    whole = code(math.TruncOp(x))
    up = f.compare(f.size(f.sub(x, whole)), "oge", 0.5)
    step = code.select(up, f.number(1.0), f.number(0.0))
    return f.signed(f.add(whole, f.signed(step, x)), x)


@table.on(
    math.FPowIOp, when=lambda op, to: lacks_of_short(op, to) and not is_i1(op.rhs)
)
def power(code: Code, op: math.FPowIOp) -> SSAValue:
    """A float to the power of an integer: of the magnitude, negative if n is odd."""
    f, x, n = Floats(code, op.lhs), op.lhs, op.rhs
    exponent = code.cast(arith.SIToFPOp, n, element_of(x.type))
    power = code(math.PowFOp(f.size(x), exponent))
    low, zero = code(arith.AndIOp(n, code.like(n, 1))), code.like(n, 0)
    odd = code(arith.CmpiOp(low, zero, "ne"))
    signed = code.select(odd, f.signed(power, x), power)
    none = code(arith.CmpiOp(n, zero, "eq"))
    return code.select(none, f.number(1.0), signed)


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
def remainder(code: Code, op: RemfOp) -> SSAValue:
    """The remainder with the sign of the dividend; of f16 in f32, which holds 2 x."""
    f, x = Floats(code, op.lhs), op.lhs
    if isinstance(element_of(x.type), Float16Type):
        return computed_in_f32(code, op, Float16Type)
    size, by, infinity = f.size(x), f.size(op.rhs), float("inf")
    finite = f.compare(size, "olt", infinity)
    exists = code(arith.AndIOp(finite, f.compare(by, "ogt", 0.0)))
    divides = code(arith.AndIOp(exists, f.compare(by, "olt", infinity)))
    rest = code.select(divides, size, f.number(0.0))
    by = code.select(divides, by, f.number(1.0))
    half = f.mul(rest, 0.5)

    def is_small(code: Code, top: SSAValue) -> SSAValue:
        return code(arith.CmpfOp(top, half, "ole"))

    def grown(code: Code, goes_on: SSAValue, top: SSAValue) -> list[SSAValue]:
        return [code.select(goes_on, Floats(code, top).mul(top, 2.0), top)]

    def is_left(code: Code, top: SSAValue, rest: SSAValue) -> SSAValue:
        return code(arith.CmpfOp(top, by, "oge"))

    def less(
        code: Code, goes_on: SSAValue, top: SSAValue, rest: SSAValue
    ) -> list[SSAValue]:
        fits = code(arith.AndIOp(goes_on, code(arith.CmpfOp(rest, top, "oge"))))
        lower = code.select(fits, code(arith.SubfOp(rest, top)), rest)
        shorter = Floats(code, top).mul(top, 0.5)
        return [code.select(goes_on, shorter, top), lower]

    (top,) = _while(code, [by], is_small, grown)
    _, rest = _while(code, [top, rest], is_left, less)
    otherwise = code.select(exists, size, f.number(float("nan")))
    # The sign comes last: lavapipe is wrong about a choice of what copysign makes.
    return f.signed(code.select(divides, rest, otherwise), x)


def _while(
    code: Code,
    first: list[SSAValue],
    condition: Callable[..., SSAValue],
    step: Callable[..., list[SSAValue]],
) -> Sequence[SSAValue]:
    """A loop while a condition holds of any component.

    Args:
        code: to insert into.
        first: what the loop starts with.
        condition: from code and the values to an i1, or a vector of them.
        step: from code, the condition and the values to the next ones.
    """
    types = [value.type for value in first]
    before = Block(arg_types=types)
    inner = Code(before.add_op)
    goes_on = condition(inner, *before.args)
    after = Block(arg_types=[goes_on.type, *types])
    some = goes_on
    if is_vector(goes_on.type):
        positions = product(*map(range, goes_on.type.get_shape()))
        each = (inner(vector.ExtractOp(goes_on, at, i1)) for at in positions)
        some = reduce(lambda a, b: inner(arith.OrIOp(a, b)), each)
    before.add_op(scf.ConditionOp(some, goes_on, *before.args))
    after.add_op(scf.YieldOp(*step(Code(after.add_op), *after.args)))
    loop = scf.WhileOp(first, [goes_on.type, *types], Region(before), Region(after))
    code(loop)
    return loop.results[1:]


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
def count_of_bits(code: Code, op: Count) -> SSAValue:
    """Ones, or zeros above or below all ones: of 32 bits, or of two halves of them."""
    refuse_i1(op)
    x, width = op.operand, width_of(op)

    def count(word: SSAValue) -> SSAValue:
        return code(type(op)(word))

    if width < 32:
        found = count(code.cast(arith.ExtUIOp, x, i32))
        # What is counted in the bits that were added, or where no bit is 1.
        if isinstance(op, math.CountLeadingZerosOp):
            found = code(arith.SubiOp(found, code.like(found, 32 - width)))
        elif isinstance(op, math.CountTrailingZerosOp):
            found = code(arith.MinUIOp(found, code.like(found, width)))
        return code.cast(arith.TruncIOp, found, element_of(x.type))
    high = code(arith.ShRUIOp(x, code.like(x, 32)))
    halves = [code.cast(arith.TruncIOp, each, i32) for each in (x, high)]
    first, second = map(count, halves)
    if isinstance(op, math.CtPopOp):
        found = code(arith.AddiOp(first, second))
    else:
        if isinstance(op, math.CountLeadingZerosOp):
            first, second = second, first
        # Where a half is empty, those of the other half, too.
        empty = code(arith.CmpiOp(first, code.like(first, 32), "eq"))
        beyond = code(arith.AddiOp(second, code.like(second, 32)))
        found = code.select(empty, beyond, first)
    return code.cast(arith.ExtUIOp, found, element_of(x.type))


# x86-64: f16 in f32, and what is exact in f64.


def is_short(op: Operation, target: Target, *more: type[Attribute]) -> bool:
    """Whether a function on x86-64 is of f16, or of some others."""
    element = element_of(op.results[0].type)
    return target.language == "x86" and isinstance(element, (Float16Type, *more))


@table.on(*(math.FmaOp, vector.FMAOp), when=lambda op, to: is_short(op, to, *NARROW))
def fma(code: Code, op: math.FmaOp | vector.FMAOp) -> SSAValue:
    """In f64 a product is exact, and the sum rounds at a bit that never decides."""
    a, b, c = (converted(code, x, f64) for x in op.operands)
    wide = code(arith.AddfOp(code(arith.MulfOp(a, b)), c))
    return code.cast(arith.TruncFOp, wide, element_of(op.results[0].type))


@table.on(*(op for op in MATH if op is not math.FmaOp), when=is_short)
def in_f32(code: Code, op: Operation) -> SSAValue:
    """A function of f16, rounded from f32."""
    return computed_in_f32(code, op, Float16Type)


@table.on(
    math.RsqrtOp, when=lambda op, to: to.language == "x86" and not is_narrow(op, to)
)
def rsqrt(code: Code, op: math.RsqrtOp) -> SSAValue:
    """One by the root."""
    root = code(math.SqrtOp(op.operand))
    return code(arith.DivfOp(code.like(root, 1.0), root))


@table.on(
    math.FPowIOp,
    when=lambda op, to: to.language == "x86" and element_of(op.rhs.type) == i32,
)
def power_in_f64(code: Code, op: math.FPowIOp) -> SSAValue:
    """A power of floats in f64, which holds an exponent of 32 bits exactly."""
    exponent = code.cast(arith.SIToFPOp, op.rhs, f64)
    found = code(math.PowFOp(converted(code, op.lhs, f64), exponent))
    return code.cast(arith.TruncFOp, found, element_of(op.result.type))


# x86-64: functions of vectors of f32.


def power_of_two(code: Code, n: SSAValue) -> SSAValue:
    """2^n as floats, of integers from -126 to 127."""
    biased = code(arith.AddiOp(n, code.like(n, BIAS)))
    bits = code(arith.ShLIOp(biased, code.like(n, SIGNIFICAND)))
    return code.cast(arith.BitcastOp, bits, f32)


@table.on(math.ExpOp, when=is_of_vectors)
def exponential(code: Code, op: math.ExpOp) -> SSAValue:
    """Of n log(2) + r, with |r| <= log(2) / 2: 2^n, in two factors, times exp(r)."""
    f = Floats(code, op.operand)
    x = code(arith.MinnumfOp(op.operand, f.number(89.0)))  # beyond is infinity
    x = code(arith.MaxnumfOp(x, f.number(-104.0)))  # below is 0
    n = code(math.RoundEvenOp(f.mul(x, LOG2_E)))
    r = f.sub(f.sub(x, f.mul(n, LN2_HIGH)), f.mul(n, LN2_LOW))
    found = f.add(f.add(f.mul(f.mul(r, r), f.polynomial(r, EXP)), r), 1.0)
    number = code.cast(arith.FPToSIOp, n, i32)
    half = code(arith.ShRSIOp(number, code.like(number, 1)))
    other = code(arith.SubiOp(number, half))
    for part in (half, other):
        found = f.mul(found, power_of_two(code, part))
    return f.unless_nan(found)


@table.on(math.LogOp, when=is_of_vectors)
def logarithm(code: Code, op: math.LogOp) -> SSAValue:
    """Of m 2^e, with m from the root of a half to that of 2: e log(2) + log(m)."""
    f, x = Floats(code, op.operand), op.operand
    is_small = f.compare(x, "olt", 2.0**-126)
    scaled = code.select(is_small, f.mul(x, 2.0**SIGNIFICAND), x)
    bits = code.cast(arith.BitcastOp, scaled, i32)
    # Counted from the root of a half on, the exponent is e, and the rest makes m.
    root = code.like(bits, 0x3F3504F3)
    above = code(arith.SubiOp(bits, root))
    e = code(arith.ShRSIOp(above, code.like(bits, SIGNIFICAND)))
    low = code(arith.AndIOp(above, code.like(bits, (1 << SIGNIFICAND) - 1)))
    m = code.cast(arith.BitcastOp, code(arith.AddiOp(low, root)), f32)
    exponent = code.cast(arith.SIToFPOp, e, f32)
    less = f.sub(exponent, float(SIGNIFICAND))
    exponent = code.select(is_small, less, exponent)
    y = f.sub(m, 1.0)
    square = f.mul(y, y)
    rest = f.mul(f.mul(square, y), f.polynomial(y, LOG))
    rest = f.add(f.mul(exponent, LN2_LOW), rest)
    rest = f.sub(rest, f.mul(square, 0.5))
    found = f.add(f.mul(exponent, LN2_HIGH), f.add(y, rest))
    infinity = float("inf")
    found = code.select(f.compare(x, "oeq", infinity), x, found)
    found = code.select(f.compare(x, "oeq", 0.0), f.number(-infinity), found)
    nan = f.number(float("nan"))
    return f.unless_nan(code.select(f.compare(x, "olt", 0.0), nan, found))


@table.on(math.TanhOp, when=is_of_vectors)
def tanh(code: Code, op: math.TanhOp) -> SSAValue:
    """A polynomial where x is small, else 1 - 2 / (exp(2 |x|) + 1)."""
    f, x = Floats(code, op.operand), code(math.AbsFOp(op.operand))
    square = f.mul(x, x)
    near = f.add(f.mul(f.mul(x, square), f.polynomial(square, TANH)), x)
    growth = f.add(code(math.ExpOp(f.mul(x, 2.0))), 1.0)
    far = f.sub(f.number(1.0), f.div(f.number(2.0), growth))
    is_near = f.compare(x, "olt", 0.625)
    return f.signed(code.select(is_near, near, far), op.operand)


class ExpandMathPass(ExpandPass):
    name = "expand-math"
    table = table
