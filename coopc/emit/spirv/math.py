"""`math`: OpenCL.std has it all, GLSL.std.450 some: `expand-math` computes the others.

GLSL's functions take f16 and f32; those that only look at bits take f64 too.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import llvm, math
from xdsl.dialects.builtin import Float64Type
from xdsl.ir import Operation

from coopc.emit.arith import is_i1, no_i1
from coopc.emit.spirv.emission import Emission, Handlers, emit
from coopc.emit.walker import Refusal, element_of
from coopc.spirv.instruction import Id
from coopc.spirv.module import Function

handlers = Handlers()

_FLOAT: dict[type[Operation], tuple[str, str | None]] = {
    math.AbsFOp: ("fabs", "FAbs"),
    math.AcosOp: ("acos", "Acos"),
    math.AcoshOp: ("acosh", "Acosh"),
    math.AsinOp: ("asin", "Asin"),
    math.AsinhOp: ("asinh", "Asinh"),
    math.AtanOp: ("atan", "Atan"),
    math.Atan2Op: ("atan2", "Atan2"),
    math.AtanhOp: ("atanh", "Atanh"),
    math.CbrtOp: ("cbrt", None),
    math.CeilOp: ("ceil", "Ceil"),
    math.CopySignOp: ("copysign", None),
    math.CosOp: ("cos", "Cos"),
    math.CoshOp: ("cosh", "Cosh"),
    math.ErfOp: ("erf", None),
    math.ExpOp: ("exp", "Exp"),
    math.Exp2Op: ("exp2", "Exp2"),
    math.ExpM1Op: ("expm1", None),
    math.FloorOp: ("floor", "Floor"),
    math.FmaOp: ("fma", "Fma"),
    math.LogOp: ("log", "Log"),
    math.Log10Op: ("log10", None),
    math.Log1pOp: ("log1p", None),
    math.Log2Op: ("log2", "Log2"),
    math.PowFOp: ("pow", "Pow"),
    math.RoundOp: ("round", None),
    math.RoundEvenOp: ("rint", "RoundEven"),
    math.RsqrtOp: ("rsqrt", "InverseSqrt"),
    math.SinOp: ("sin", "Sin"),
    math.SinhOp: ("sinh", "Sinh"),
    math.SqrtOp: ("sqrt", "Sqrt"),
    math.TanOp: ("tan", "Tan"),
    math.TanhOp: ("tanh", "Tanh"),
    math.TruncOp: ("trunc", "Trunc"),
}
"""In OpenCL.std; and in GLSL.std.450, where it has it."""

_GLSL_F64 = (
    math.AbsFOp,
    math.CeilOp,
    math.FloorOp,
    math.FmaOp,
    math.RoundEvenOp,
    math.RsqrtOp,
    math.SqrtOp,
    math.TruncOp,
)
"""What GLSL.std.450 has of f64."""


def _float(e: Emission, op: Operation) -> None:
    opencl, glsl = _FLOAT[type(op)]
    name = glsl if e.facts.vulkan else opencl
    if name is None:
        raise Refusal(f"GLSL.std.450 has no {opencl}, and Vulkan no other")
    wide = isinstance(element_of(op.results[0].type), Float64Type)
    if wide and e.facts.vulkan and not isinstance(op, _GLSL_F64):
        raise Refusal(f"GLSL.std.450 has {opencl} of f16 and f32, got f64")

    def make(to: Id, *ids: Id) -> Id:
        return e.ext(name, *ids, type=to)

    e.each(op.results[0], op.operands, make)


for _op in _FLOAT:
    handlers.add(_op, _float)


@handlers.on(math.FPowIOp)
def power(e: Emission, op: math.FPowIOp) -> None:
    if is_i1(op.rhs.type):
        raise Refusal("expected an exponent of 8 bits or more, got i1")
    if e.facts.vulkan:
        raise Refusal("GLSL.std.450 has pow of f16 and f32, got f64")
    if e.types.bits(element_of(op.rhs.type)) != 32:
        raise Refusal(f"expected an exponent of 32 bits, got {op.rhs.type}")
    operands = op.lhs, op.rhs
    e.each(op.result, operands, lambda to, x, n: e.ext("pown", x, n, type=to))


@handlers.on(math.AbsIOp)
def abs_integer(e: Emission, op: math.AbsIOp) -> None:
    """The magnitude of a signed integer; the least one stays as it is."""
    no_i1(op)
    name = "SAbs" if e.facts.vulkan else "s_abs"
    e.each(op.result, (op.operand,), lambda to, x: e.ext(name, x, type=to))


_COUNTS: dict[type[Operation], str] = {
    math.CountLeadingZerosOp: "clz",
    math.CountTrailingZerosOp: "ctz",
    math.CtPopOp: "popcount",
}


def _count(e: Emission, op: Operation) -> None:
    no_i1(op)
    (x,), (result,) = op.operands, op.results

    def glsl(to: Id, x: Id) -> Id:
        """Of 32 bits, of which it gives -1 for 0."""
        match op:
            case math.CountLeadingZerosOp():
                highest = e.ext("FindUMsb", x, type=to)
                return e.emit("OpISub", e.number(to, 31), highest, type=to)
            case math.CountTrailingZerosOp():
                # -1 is the greatest of unsigned numbers.
                lowest = e.ext("FindILsb", x, type=to)
                return e.ext("UMin", lowest, e.number(to, 32), type=to)
            case _:
                return e.emit("OpBitCount", x, type=to)

    def opencl(to: Id, x: Id) -> Id:
        return e.ext(_COUNTS[type(op)], x, type=to)

    e.each(result, (x,), glsl if e.facts.vulkan else opencl)


for _op in _COUNTS:
    handlers.add(_op, _count)


# `llvm.frem`: the remainder of floats, for which `arith` of xDSL has no operation.
#
# OpFRem is exact under OpenCL.  Under Vulkan it is x - y trunc(x / y), of a quotient
# that is rounded, so that a function of the module computes it, which rounds nothing:
#
#     t = |y|; while t <= |x| / 2: t = 2 t          t is |y| times a power of two
#     r = |x|; while t >= |y|: { if r >= t: r = r - t; t = t / 2 }
#     the result is r with the sign of x
#
# Each difference is exact, since t <= r < 2 t where it is taken.  It is what `fmod`
# of C is: NaN for an infinite x, for a y of 0 and for NaN; x for an infinite y.


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

    e.each(op.res, (op.lhs, op.rhs), make)


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
    found = _signed(e, _left_over(e, size, by), x)
    after = flow.here()
    flow.jump(done)
    flow.begin(done)
    result = e.emit("OpPhi", otherwise, before, found, after, type=type)
    e.do("OpReturnValue", result)
    e.finish()


def _signed(e: Emission, size: Id, sign: Id) -> Id:
    type = size.type
    bits = e.types.int(e.types.component_bits(type))
    top = e.number(bits, 1 << (e.types.component_bits(type) - 1))
    x, y = (e.emit("OpBitcast", each, type=bits) for each in (size, sign))
    y = e.emit("OpBitwiseAnd", y, top, type=bits)
    both = e.emit("OpBitwiseOr", x, y, type=bits)
    return e.emit("OpBitcast", both, type=type)


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
    return e.emit("OpFMul", x, e.number(x.type, factor), type=x.type)
