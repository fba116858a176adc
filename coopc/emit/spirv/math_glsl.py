"""Functions that GLSL.std.450 lacks, computed from those that it has.

Each takes the emission, the type of the result and its operands, of scalars or vectors.

- expm1 and log1p: a series where x is small.  Vulkan's log may be off by 2^-21 there,
  whatever its value, so that nothing can be made of it.
- Bits of integers: Vulkan's instructions take 32 bits; less is widened, 64 is halved.
"""

from __future__ import annotations

from collections.abc import Callable

from coopc.emit.spirv.emission import Emission
from coopc.spirv.instruction import Id

LOG10_2 = 0.3010299956639812
"""The decimal logarithm of 2."""

SMALL = 0.35
"""Below it the series are used."""
EXPM1_TERMS = 9
"""The next term is below SMALL**9 / 10!, 2e-11 of the first."""
LOG1P_TERM = 13
"""The last exponent; the next term is below 0.22**14 / 15, 5e-11 of the first."""


def copysign(e: Emission, to: Id, x: Id, sign: Id) -> Id:
    """The magnitude of one with the sign of the other."""
    width = e.types.component_bits(to)
    bits = e.like(to, e.types.int(width))
    top = 1 << (width - 1)
    magnitude = e.emit("OpBitcast", x, type=bits)
    magnitude = e.emit("OpBitwiseAnd", magnitude, e.number(bits, top - 1), type=bits)
    other = e.emit("OpBitcast", sign, type=bits)
    other = e.emit("OpBitwiseAnd", other, e.number(bits, top), type=bits)
    both = e.emit("OpBitwiseOr", magnitude, other, type=bits)
    return e.emit("OpBitcast", both, type=to)


def cbrt(e: Emission, to: Id, x: Id) -> Id:
    """The cube root: a power of the magnitude, and a Newton step."""
    magnitude = e.ext("FAbs", x, type=to)
    root = e.ext("Pow", magnitude, e.number(to, 1 / 3), type=to)
    square = e.emit("OpFMul", root, root, type=to)
    rest = e.emit("OpFDiv", magnitude, square, type=to)
    rest = e.emit("OpFSub", rest, root, type=to)
    rest = e.emit("OpFMul", rest, e.number(to, 1 / 3), type=to)
    better = e.emit("OpFAdd", root, rest, type=to)
    # Of 0 and of infinities the step is no number.
    usable = e.emit("OpFOrdGreaterThan", magnitude, e.number(to, 0.0), type=e.bools(to))
    finite = e.emit(
        "OpLogicalNot", e.emit("OpIsInf", x, type=e.bools(to)), type=e.bools(to)
    )
    steps = e.emit("OpLogicalAnd", usable, finite, type=e.bools(to))
    return copysign(e, to, e.emit("OpSelect", steps, better, magnitude, type=to), x)


def expm1(e: Emission, to: Id, x: Id) -> Id:
    """`exp(x) - 1`: where x is small x (1 + x/2 (1 + x/3 (1 + ...)))."""
    series = e.number(to, 1.0)
    for term in range(EXPM1_TERMS, 1, -1):
        step = e.emit("OpFMul", x, e.number(to, 1 / term), type=to)
        step = e.emit("OpFMul", step, series, type=to)
        series = e.emit("OpFAdd", step, e.number(to, 1.0), type=to)
    series = e.emit("OpFMul", x, series, type=to)
    direct = e.emit("OpFSub", e.ext("Exp", x, type=to), e.number(to, 1.0), type=to)
    return e.emit("OpSelect", _is_small(e, to, x), series, direct, type=to)


def log1p(e: Emission, to: Id, x: Id) -> Id:
    """`log(1 + x)`: where x is small 2 (s + s^3/3 + s^5/5 + ...), s = x / (2 + x)."""
    s = e.emit("OpFAdd", x, e.number(to, 2.0), type=to)
    s = e.emit("OpFDiv", x, s, type=to)
    square = e.emit("OpFMul", s, s, type=to)
    series = e.number(to, 2 / LOG1P_TERM)
    for term in range(LOG1P_TERM - 2, 0, -2):
        series = e.emit("OpFMul", series, square, type=to)
        series = e.emit("OpFAdd", series, e.number(to, 2 / term), type=to)
    series = e.emit("OpFMul", s, series, type=to)
    direct = e.ext("Log", e.emit("OpFAdd", x, e.number(to, 1.0), type=to), type=to)
    return e.emit("OpSelect", _is_small(e, to, x), series, direct, type=to)


def _is_small(e: Emission, to: Id, x: Id) -> Id:
    magnitude = e.ext("FAbs", x, type=to)
    return e.emit("OpFOrdLessThan", magnitude, e.number(to, SMALL), type=e.bools(to))


def log10(e: Emission, to: Id, x: Id) -> Id:
    """The decimal logarithm."""
    log = e.ext("Log2", x, type=to)
    return e.emit("OpFMul", log, e.number(to, LOG10_2), type=to)


def round_away(e: Emission, to: Id, x: Id) -> Id:
    """The nearest whole number, halves away from zero."""
    whole = e.ext("Trunc", x, type=to)
    rest = e.ext("FAbs", e.emit("OpFSub", x, whole, type=to), type=to)
    bools = e.bools(to)
    up = e.emit("OpFOrdGreaterThanEqual", rest, e.number(to, 0.5), type=bools)
    step = e.emit("OpSelect", up, e.number(to, 1.0), e.number(to, 0.0), type=to)
    moved = e.emit("OpFAdd", whole, copysign(e, to, step, x), type=to)
    return copysign(e, to, moved, x)


def pown(e: Emission, to: Id, x: Id, n: Id) -> Id:
    """A float to the power of an integer: of the magnitude, negative if n is odd."""
    bools = e.bools(to)
    exponent = e.emit("OpConvertSToF", n, type=to)
    magnitude = e.ext("FAbs", x, type=to)
    power = e.ext("Pow", magnitude, exponent, type=to)
    low = e.emit("OpBitwiseAnd", n, e.number(n.type, 1), type=n.type)
    odd = e.emit("OpINotEqual", low, e.number(n.type, 0), type=bools)
    signed = e.emit("OpSelect", odd, copysign(e, to, power, x), power, type=to)
    none = e.emit("OpIEqual", n, e.number(n.type, 0), type=bools)
    return e.emit("OpSelect", none, e.number(to, 1.0), signed, type=to)


def _in_32(
    e: Emission, to: Id, x: Id, count: Callable[[Id, Id], Id]
) -> tuple[Id, Id | None]:
    """Counts in 32 bits of the low half and, of 64 bits, of the high half."""
    word = e.like(to, e.types.u32)
    bits = e.types.component_bits(to)
    if bits < 32:
        return count(word, e.emit("OpUConvert", x, type=word)), None
    if bits == 32:
        return count(word, x), None
    high = e.emit("OpShiftRightLogical", x, e.number(to, 32), type=to)
    low, high = (e.emit("OpUConvert", each, type=word) for each in (x, high))
    return count(word, low), count(word, high)


def _back(e: Emission, to: Id, x: Id) -> Id:
    return x if x.type is to else e.emit("OpUConvert", x, type=to)


def ones(e: Emission, to: Id, x: Id) -> Id:
    """How many bits are 1."""
    low, high = _in_32(e, to, x, lambda word, y: e.emit("OpBitCount", y, type=word))
    if high is not None:
        low = e.emit("OpIAdd", low, high, type=low.type)
    return _back(e, to, low)


def leading_zeros(e: Emission, to: Id, x: Id) -> Id:
    """How many bits above the highest 1; all of them for 0, of which FindUMsb is -1."""

    def count(word: Id, y: Id) -> Id:
        highest = e.ext("FindUMsb", y, type=word)
        return e.emit("OpISub", e.number(word, 31), highest, type=word)

    low, high = _in_32(e, to, x, count)
    word, bits = low.type, e.types.component_bits(to)
    if high is not None:
        empty = e.emit("OpIEqual", high, e.number(word, 32), type=e.bools(word))
        below = e.emit("OpIAdd", low, e.number(word, 32), type=word)
        low = e.emit("OpSelect", empty, below, high, type=word)
    elif bits < 32:
        low = e.emit("OpISub", low, e.number(word, 32 - bits), type=word)
    return _back(e, to, low)


def trailing_zeros(e: Emission, to: Id, x: Id) -> Id:
    """How many bits below the lowest 1; all of them for 0."""

    def count(word: Id, y: Id) -> Id:
        lowest = e.ext("FindILsb", y, type=word)
        # -1, which is the greatest of unsigned numbers, for 0.
        return e.ext("UMin", lowest, e.number(word, 32), type=word)

    low, high = _in_32(e, to, x, count)
    word, bits = low.type, e.types.component_bits(to)
    if high is not None:
        empty = e.emit("OpIEqual", low, e.number(word, 32), type=e.bools(word))
        above = e.emit("OpIAdd", high, e.number(word, 32), type=word)
        low = e.emit("OpSelect", empty, above, low, type=word)
    elif bits < 32:
        low = e.ext("UMin", low, e.number(word, bits), type=word)
    return _back(e, to, low)
