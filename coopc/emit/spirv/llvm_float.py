"""`llvm.frem`: the remainder of floats, for which `arith` of xDSL has no operation.

OpFRem is exact under OpenCL.  Under Vulkan it is x - y trunc(x / y), of a quotient that
is rounded, so that a function of the module computes it, which rounds nothing:

    t = |y|; while t <= |x| / 2: t = 2 t          t is |y| times a power of two
    r = |x|; while t >= |y|: { if r >= t: r = r - t; t = t / 2 }
    the result is r with the sign of x

Each difference is exact, since t <= r < 2 t where it is taken.  It is what `fmod` of C
is: NaN for an infinite x, for a y of 0 and for NaN; x for an infinite y.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import llvm

from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.floats import each_float
from coopc.emit.spirv.handlers import Handlers, emit
from coopc.emit.spirv.math_glsl import copysign
from coopc.spirv.instruction import Id
from coopc.spirv.module import Function

handlers = Handlers()


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
