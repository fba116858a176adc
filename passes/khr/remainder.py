"""The remainder of floats, exact, by operations that round nothing here.

    t = |y|; while t <= |x| / 2: t = 2 t          t is |y| times a power of two
    r = |x|; while t >= |y|: { if r >= t: r = r - t; t = t / 2 }
    the result is r with the sign of x

Each difference is exact, since t <= r < 2 t where it is taken.  It is what `fmod` of C
is: NaN for an infinite x, for a y of 0 and for NaN; x for an infinite y.
"""

from collections.abc import Callable

from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from coopc.dialects.coopmatrix import FloatElement
from coopc.passes.khr.code import Code

Insert = Callable[[Operation], SSAValue]
"""Inserts an operation and gives its result."""


def remainder(x: SSAValue, y: SSAValue, insert: Insert) -> SSAValue:
    """Insert x - trunc(x / y) * y of floats of one type."""
    size, by = insert(math.AbsFOp(x)), insert(math.AbsFOp(y))
    infinity = _number(x.type, float("inf"), insert)
    finite = _compare("olt", size, infinity, insert)
    nonzero = _compare("ogt", by, _number(x.type, 0.0, insert), insert)
    found = insert(arith.AndIOp(finite, nonzero))
    bounded = _compare("olt", by, infinity, insert)
    # What is finite is left over by an infinite y; infinity less itself is NaN.
    nan = insert(arith.SubfOp(infinity, infinity))
    otherwise = insert(arith.SelectOp(found, x, nan))
    loops = insert(arith.AndIOp(found, bounded))
    left = _region(lambda code: _left_over(code, x, size, by))
    return insert(scf.IfOp(loops, [x.type], left, _region(lambda _: otherwise)))


def _left_over(code: Code, x: SSAValue, size: SSAValue, by: SSAValue) -> SSAValue:
    """What is left over of |x| by |y|, both finite and y not 0, with the sign of x."""

    def grows(code: Code, t: SSAValue) -> SSAValue:
        return _compare("ole", t, _times(size, 0.5, code.get), code.get)

    def grow(code: Code, t: SSAValue) -> list[SSAValue]:
        return [_times(t, 2.0, code.get)]

    (top,) = _while(code, [by], lambda c, v: grows(c, v[0]), lambda c, v: grow(c, v[0]))

    def goes_on(code: Code, values: list[SSAValue]) -> SSAValue:
        return _compare("oge", values[1], by, code.get)

    def step(code: Code, values: list[SSAValue]) -> list[SSAValue]:
        r, t = values
        less = code.get(arith.SubfOp(r, t))
        fits = _compare("oge", r, t, code.get)
        rest = code.get(arith.SelectOp(fits, less, r))
        return [rest, _times(t, 0.5, code.get)]

    rest, _ = _while(code, [size, top], goes_on, step)
    return code.get(math.CopySignOp(rest, x))


Values = list[SSAValue]


def _while(
    code: Code,
    first: Values,
    condition: Callable[[Code, Values], SSAValue],
    step: Callable[[Code, Values], Values],
) -> Values:
    """Insert a loop, and return what it carries in the end."""
    types = [value.type for value in first]
    before, after = Block(arg_types=types), Block(arg_types=types)
    inner = Code(InsertPoint.at_end(before))
    holds = condition(inner, [*before.args])
    inner.do(scf.ConditionOp(holds, *before.args))
    inner = Code(InsertPoint.at_end(after))
    inner.do(scf.YieldOp(*step(inner, [*after.args])))
    loop = scf.WhileOp(first, types, Region(before), Region(after))
    code.do(loop)
    return [*loop.results]


def _region(body: Callable[[Code], SSAValue]) -> Region:
    """A region that yields one value."""
    block = Block()
    code = Code(InsertPoint.at_end(block))
    code.do(scf.YieldOp(body(code)))
    return Region(block)


def _number(type: Attribute, value: float, insert: Insert) -> SSAValue:
    """A constant of a type of floats."""
    assert isinstance(type, FloatElement), type
    return insert(arith.ConstantOp(FloatAttr(value, type)))


def _times(x: SSAValue, factor: float, insert: Insert) -> SSAValue:
    """A multiple by a power of two."""
    return insert(arith.MulfOp(x, _number(x.type, factor, insert)))


def _compare(how: str, x: SSAValue, y: SSAValue, insert: Insert) -> SSAValue:
    """Whether two numbers compare so; never where one is NaN."""
    return insert(arith.CmpfOp(x, y, how))
