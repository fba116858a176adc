"""`math`: OpenCL.std has it all; what GLSL.std.450 lacks is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import llvm, math
from xdsl.dialects.builtin import Float64Type
from xdsl.ir import Operation, SSAValue

from coopc.emit.spirv.arith import each_float, is_i1, no_i1
from coopc.emit.spirv.emission import Emission, Handlers, emit
from coopc.emit.walker import Refusal, element_of
from coopc.spirv.instruction import Id
from coopc.spirv.module import Function

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


# `math`: OpenCL.std has it all; GLSL.std.450 has some, and some is computed from it.
#
# GLSL's functions take f16 and f32; those that only look at bits take f64 too.  What
# GLSL
# lacks is computed to the same accuracy where that is known how, else refused: erf,
# and powers of integers.

handlers = Handlers()

Formula: TypeAlias = Callable[..., Id]
"""`formula(e, type, *operands)`: a part of the result."""

_FLOAT: dict[type[Operation], tuple[str, str | Formula | None]] = {
    math.AbsFOp: ("fabs", "FAbs"),
    math.AcosOp: ("acos", "Acos"),
    math.AcoshOp: ("acosh", "Acosh"),
    math.AsinOp: ("asin", "Asin"),
    math.AsinhOp: ("asinh", "Asinh"),
    math.AtanOp: ("atan", "Atan"),
    math.Atan2Op: ("atan2", "Atan2"),
    math.AtanhOp: ("atanh", "Atanh"),
    math.CbrtOp: ("cbrt", cbrt),
    math.CeilOp: ("ceil", "Ceil"),
    math.CopySignOp: ("copysign", copysign),
    math.CosOp: ("cos", "Cos"),
    math.CoshOp: ("cosh", "Cosh"),
    math.ErfOp: ("erf", None),
    math.ExpOp: ("exp", "Exp"),
    math.Exp2Op: ("exp2", "Exp2"),
    math.ExpM1Op: ("expm1", expm1),
    math.FloorOp: ("floor", "Floor"),
    math.FmaOp: ("fma", "Fma"),
    math.LogOp: ("log", "Log"),
    math.Log10Op: ("log10", log10),
    math.Log1pOp: ("log1p", log1p),
    math.Log2Op: ("log2", "Log2"),
    math.PowFOp: ("pow", "Pow"),
    math.RoundOp: ("round", round_away),
    math.RoundEvenOp: ("rint", "RoundEven"),
    math.RsqrtOp: ("rsqrt", "InverseSqrt"),
    math.SinOp: ("sin", "Sin"),
    math.SinhOp: ("sinh", "Sinh"),
    math.SqrtOp: ("sqrt", "Sqrt"),
    math.TanOp: ("tan", "Tan"),
    math.TanhOp: ("tanh", "Tanh"),
    math.TruncOp: ("trunc", "Trunc"),
}
"""In OpenCL.std; and in GLSL.std.450, or how it is computed there."""

_GLSL_F64 = (
    math.AbsFOp,
    math.CeilOp,
    math.CopySignOp,
    math.FloorOp,
    math.FmaOp,
    math.RoundEvenOp,
    math.RoundOp,
    math.RsqrtOp,
    math.SqrtOp,
    math.TruncOp,
)
"""What GLSL.std.450 has of f64."""


def _float(e: Emission, op: Operation) -> None:
    apply(e, op, op.results[0], op.operands)


def apply(
    e: Emission, op: Operation, result: SSAValue, operands: Sequence[SSAValue]
) -> None:
    """Set a result to a function of floats."""
    opencl, glsl = _FLOAT[type(op)]
    form = glsl if e.facts.vulkan else opencl
    if form is None:
        raise Refusal(f"GLSL.std.450 has no {opencl}, and Vulkan no other")
    wide = isinstance(element_of(result.type), Float64Type)
    if wide and e.facts.vulkan and not isinstance(op, _GLSL_F64):
        raise Refusal(f"GLSL.std.450 has {opencl} of f16 and f32, got f64")

    def make(to: Id, *ids: Id) -> Id:
        return _called(e, form, to, *ids)

    each_float(e, result, operands, make)


def _called(e: Emission, form: str | Formula, to: Id, *ids: Id) -> Id:
    if isinstance(form, str):
        return e.ext(form, *ids, type=to)
    return form(e, to, *ids)


for _op in _FLOAT:
    handlers.add(_op, _float)


def fused(e: Emission, result: SSAValue, operands: Sequence[SSAValue]) -> None:
    """A product and a sum, rounded once."""
    name = "Fma" if e.facts.vulkan else "fma"

    def make(to: Id, *ids: Id) -> Id:
        return e.ext(name, *ids, type=to)

    each_float(e, result, operands, make)


@handlers.on(math.FPowIOp)
def power(e: Emission, op: math.FPowIOp) -> None:
    """A float to the power of an integer."""
    if is_i1(op.rhs.type):
        raise Refusal("expected an exponent of 8 bits or more, got i1")
    if not e.facts.vulkan:
        if e.types.bits(element_of(op.rhs.type)) != 32:
            raise Refusal(f"expected an exponent of 32 bits, got {op.rhs.type}")
        form: str | Formula = "pown"
    else:
        form = pown
        if isinstance(element_of(op.result.type), Float64Type):
            raise Refusal("GLSL.std.450 has pow of f16 and f32, got f64")
    each_float_and_integer(e, op, form)


def each_float_and_integer(e: Emission, op: math.FPowIOp, form: str | Formula) -> None:
    """Set the result of a function of a float and an integer, part by part."""
    exponents = iter(e.parts(op.rhs))
    each_float(
        e,
        op.result,
        (op.lhs,),
        lambda to, x: _called(e, form, to, x, next(exponents)),
    )


@handlers.on(math.AbsIOp)
def abs_integer(e: Emission, op: math.AbsIOp) -> None:
    """The magnitude of a signed integer; the least one stays as it is."""
    no_i1(op)
    name = "SAbs" if e.facts.vulkan else "s_abs"
    e.each(op.result, (op.operand,), lambda to, x: e.ext(name, x, type=to))


_COUNTS: dict[type[Operation], tuple[str, Formula]] = {
    math.CountLeadingZerosOp: ("clz", leading_zeros),
    math.CountTrailingZerosOp: ("ctz", trailing_zeros),
    math.CtPopOp: ("popcount", ones),
}


def _count(e: Emission, op: math.CtPopOp) -> None:
    """How many bits: leading zeros, trailing zeros or ones."""
    no_i1(op)
    opencl, glsl = _COUNTS[type(op)]
    form = glsl if e.facts.vulkan else opencl
    e.each(op.result, (op.operand,), lambda to, x: _called(e, form, to, x))


for _op in _COUNTS:
    handlers.add(_op, _count)


# `llvm.frem`: the remainder of floats, for which `arith` of xDSL has no operation.
#
# OpFRem is exact under OpenCL.  Under Vulkan it is x - y trunc(x / y), of a quotient
# that
# is rounded, so that a function of the module computes it, which rounds nothing:
#
#     t = |y|; while t <= |x| / 2: t = 2 t          t is |y| times a power of two
#     r = |x|; while t >= |y|: { if r >= t: r = r - t; t = t / 2 }
#     the result is r with the sign of x
#
# Each difference is exact, since t <= r < 2 t where it is taken.  It is what `fmod` of
# C
# is: NaN for an infinite x, for a y of 0 and for NaN; x for an infinite y.


@handlers.on(llvm.FRemOp)
def remainder(e: Emission, op: llvm.FRemOp) -> None:
    """The remainder with the sign of the dividend, which is exact."""
    e.whole.strict = True

    def make(to: Id, x: Id, y: Id) -> Id:
        if not e.facts.vulkan:
            return e.emit("OpFRem", x, y, type=to)
        pairs = zip(e.components(x), e.components(y), strict=True)
        found = [_exact(e, *pair) for pair in pairs]
        if len(found) == 1:
            return found[0]
        return e.emit("OpCompositeConstruct", *found, type=to)

    each_float(e, op.res, (op.lhs, op.rhs), make)


def _exact(e: Emission, x: Id, y: Id) -> Id:
    """Call the function of the module; for f16 that of f32, which holds twice its x."""
    type = x.type
    wide = e.types.f32 if e.types.component_bits(type) == 16 else type
    if wide is type:
        return e.emit("OpFunctionCall", _function(e, type).id, x, y, type=type)
    pair = (e.emit("OpFConvert", each, type=wide) for each in (x, y))
    found = e.emit("OpFunctionCall", _function(e, wide).id, *pair, type=wide)
    return e.emit("OpFConvert", found, type=type)


def _function(e: Emission, type: Id) -> Function:
    """The function for floats of a type, which is emitted once."""
    name = f"remainder.f{e.types.component_bits(type)}"
    if (found := e.whole.emitted.get(name)) is None:
        of_type = e.module.type("OpTypeFunction", type, type, type)
        found = e.whole.emitted[name] = e.module.function(type, of_type, name=name)
        _emit_body(Emission(e.whole, found, emit))
    return found


def _emit_body(e: Emission) -> None:
    """Emit x for an infinite y, NaN where there is no remainder, else the loops."""
    x, y = e.function.parameters
    type, bool, flow = x.type, e.types.bool, e.flow
    size, by = (e.ext("FAbs", each, type=type) for each in (x, y))
    infinity = e.number(type, float("inf"))
    finite = e.emit("OpFOrdLessThan", size, infinity, type=bool)
    nonzero = e.emit("OpFOrdGreaterThan", by, e.number(type, 0.0), type=bool)
    exists = e.emit("OpLogicalAnd", finite, nonzero, type=bool)
    bounded = e.emit("OpFOrdLessThan", by, infinity, type=bool)
    otherwise = e.emit("OpSelect", exists, x, e.number(type, float("nan")), type=type)
    loops = e.emit("OpLogicalAnd", exists, bounded, type=bool)
    before, divide, done = flow.here(), flow.label("divide"), flow.label("done")
    flow.open_selection(done)
    flow.branch((loops,), divide, done)
    flow.begin(divide)
    found = copysign(e, type, _left_over(e, size, by), x)
    after = flow.here()
    flow.jump(done)
    flow.begin(done)
    result = e.emit("OpPhi", otherwise, before, found, after, type=type)
    e.do("OpReturnValue", result)
    e.finish()


def _left_over(e: Emission, size: Id, by: Id) -> Id:
    """What is left over of numbers that are finite and not negative, `by` not 0."""
    half, bool = _times(e, size, 0.5), e.types.bool

    def is_small(top: Id) -> Id:
        return e.emit("OpFOrdLessThanEqual", top, half, type=bool)

    def grown(top: Id) -> tuple[Id, ...]:
        return (_times(e, top, 2.0),)

    def goes_on(rest: Id, top: Id) -> Id:
        return e.emit("OpFOrdGreaterThanEqual", top, by, type=bool)

    def step(rest: Id, top: Id) -> tuple[Id, ...]:
        less = e.emit("OpFSub", rest, top, type=rest.type)
        e.module.decorate(less, "NoContraction")
        fits = e.emit("OpFOrdGreaterThanEqual", rest, top, type=bool)
        return e.emit("OpSelect", fits, less, rest, type=rest.type), _times(e, top, 0.5)

    (top,) = _while(e, (by,), is_small, grown)
    rest, _ = _while(e, (size, top), goes_on, step)
    return rest


def _while(
    e: Emission,
    first: tuple[Id, ...],
    condition: Callable[..., Id],
    step: Callable[..., tuple[Id, ...]],
) -> tuple[Id, ...]:
    """Emit a loop, and return what it carries in the end."""
    flow = e.flow
    before, header, again, done = (
        flow.here(),
        *map(flow.label, ("while", "again", "done")),
    )
    flow.jump(header)
    flow.begin(header)
    carried = tuple(e.emit("OpPhi", id, before, type=id.type) for id in first)
    more = condition(*carried)
    flow.open_loop(done, again)
    flow.branch((more,), again, done)
    flow.begin(again)
    flow.arrive(carried, step(*carried), again)
    flow.jump(header)
    flow.begin(done)
    return carried


def _times(e: Emission, x: Id, factor: float) -> Id:
    """A multiple by a power of two."""
    return e.emit("OpFMul", x, e.number(x.type, factor), type=x.type)
