"""Arithmetic of lanes on what they hold: vectors, each operation once a vector.

Padding takes part, as nothing reads it later; only integer division must not, since a
padding zero would divide: where a component is padding, or belongs to no component, the
divisor is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    IndexType,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import (
    coopmatrix,
    shaped_arith,  # which lets xDSL's casts take vectors
)
from coopc.dialects.coopmatrix import Reduction
from coopc.dialects.narrow import is_integer, is_vector
from coopc.ir.builder import BoundedIndex, Builder, Values
from coopc.passes.lanes.distribute_coopmatrix.fragments import (
    LaneFragment,
    digits,
    element,
    get,
    inside,
    made,
)

Make = Callable[..., Operation]

_FLOATS: dict[type[Operation], Make] = {
    coopmatrix.AddOp: arith.AddfOp,
    coopmatrix.SubOp: arith.SubfOp,
    coopmatrix.MulOp: arith.MulfOp,
    coopmatrix.DivOp: arith.DivfOp,
    coopmatrix.MinOp: arith.MinnumfOp,
    coopmatrix.MaxOp: arith.MaxnumfOp,
}

_INTEGERS: dict[tuple[type[Operation], bool], Make] = {
    (coopmatrix.AddOp, False): arith.AddiOp,
    (coopmatrix.SubOp, False): arith.SubiOp,
    (coopmatrix.MulOp, False): arith.MuliOp,
    (coopmatrix.DivOp, False): arith.DivUIOp,
    (coopmatrix.DivOp, True): arith.DivSIOp,
    (coopmatrix.RemOp, False): arith.RemUIOp,
    (coopmatrix.RemOp, True): arith.RemSIOp,
    (coopmatrix.MinOp, False): arith.MinUIOp,
    (coopmatrix.MinOp, True): arith.MinSIOp,
    (coopmatrix.MaxOp, False): arith.MaxUIOp,
    (coopmatrix.MaxOp, True): arith.MaxSIOp,
    (coopmatrix.AndOp, False): arith.AndIOp,
    (coopmatrix.OrOp, False): arith.OrIOp,
    (coopmatrix.XorOp, False): arith.XOrIOp,
    (coopmatrix.ShlOp, False): arith.ShLIOp,
    (coopmatrix.ShrOp, False): arith.ShRUIOp,
    (coopmatrix.ShrOp, True): arith.ShRSIOp,
}


def of_two(type: type[Operation], element: Attribute, signed: bool) -> Make:
    """Return what does to numbers what an operation does to matrices."""
    if is_integer(element):
        return _INTEGERS[type, signed]
    if type is coopmatrix.RemOp:
        # `arith.remf` is not in xDSL 0.74.  Imported where it is needed: it is large.
        from xdsl.dialects.llvm import FRemOp

        return FRemOp
    return _FLOATS[type]


def reduction(kind: Reduction, element: Attribute, signed: bool) -> Make:
    """Return the operation that makes two elements one."""
    by_kind: dict[Reduction, type[Operation]] = {
        Reduction.ADD: coopmatrix.AddOp,
        Reduction.MAX: coopmatrix.MaxOp,
        Reduction.MIN: coopmatrix.MinOp,
    }
    return of_two(by_kind[kind], element, signed)


def neutral(kind: Reduction, element: Attribute, signed: bool) -> float:
    """Return the number that changes no other one in a reduction."""
    if not is_integer(element):
        # -0 + -0 is -0; of a number and a NaN, the extremes take the number.
        return -0.0 if kind == Reduction.ADD else float("nan")
    bits = element.width.data
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, -1)
    return {Reduction.ADD: 0, Reduction.MAX: low, Reduction.MIN: high}[kind]


def binary(
    b: Builder,
    op: coopmatrix.BinaryOp | coopmatrix.SignedBinaryOp,
    held: LaneFragment,
    lhs: Values,
    rhs: Values,
) -> Values:
    """Return the operation on two matrices."""
    signed = isinstance(op, coopmatrix.SignedBinaryOp) and op.signed is not None
    if isinstance(op, coopmatrix.DivOp | coopmatrix.RemOp) and is_integer(held.element):
        rhs = _divisors(b, held, rhs)
    make = of_two(type(op), held.element, signed)
    return tuple(b.pure(make, x, y) for x, y in zip(lhs, rhs, strict=True))


def _divisors(b: Builder, held: LaneFragment, values: Values) -> Values:
    """Return divisors that are 1 where they are no elements."""
    x = held.layout
    is_full = x.components == held.width * held.count
    if is_full and not (x.needs_mask or x.needs_row_mask):
        return values
    one = b.constant(held.element, 1)

    def divisor(at: BoundedIndex) -> SSAValue:
        place = element(b, x, digits(b, x, at))
        return b.select(inside(b, x, place), get(b, held, values, at), one)

    ones = (b.constant(held.type, 1),) * held.count
    return made(b, held, divisor, ones)


def unary(
    b: Builder, op: coopmatrix.UnaryOp, held: LaneFragment, values: Values
) -> Values:
    """Return the operation on one matrix."""
    whole = is_integer(held.element)
    match op:
        case coopmatrix.NegOp() if whole:
            zero = b.constant(held.type, 0)
            return tuple(b.pure(arith.SubiOp, zero, x) for x in values)
        case coopmatrix.NegOp():
            return tuple(b.pure(arith.NegfOp, x) for x in values)
        case coopmatrix.AbsOp():
            make: Make = math.AbsIOp if whole else math.AbsFOp
            return tuple(b.pure(make, x) for x in values)
        case _:
            assert isinstance(op, coopmatrix.NotOp), op
            ones = b.constant(held.type, -1)
            return tuple(b.pure(arith.XOrIOp, x, ones) for x in values)


def scale(b: Builder, held: LaneFragment, values: Values, scalar: SSAValue) -> Values:
    """Return a matrix times a number."""
    make: Make = arith.MuliOp if is_integer(held.element) else arith.MulfOp
    factor = splat(b, held, scalar)
    return tuple(b.pure(make, x, factor) for x in values)


def splat(b: Builder, held: LaneFragment, scalar: SSAValue) -> SSAValue:
    """Return a vector of one number."""
    from xdsl.dialects import vector

    return b.pure(vector.BroadcastOp, scalar, held.type)


def converted(b: Builder, value: SSAValue, target: Attribute, signed: bool) -> SSAValue:
    """Return a number, or a vector of numbers, as one of another type.

    Args:
        b: the builder.
        value: numbers; an index counts as i64.
        target: the type of one of them.
        signed: whether integers are, those of the value or else of the target.
    """
    source = element_of(value.type)
    if isinstance(source, IndexType):
        value = b.pure(_as, value, i64, arith.IndexCastOp)
        source = i64
    if source == target:
        return value
    for to, make in _steps(source, target, signed):
        value = b.pure(_as, value, _like(value.type, to), make)
    return value


def _steps(
    source: Attribute, target: Attribute, signed: bool
) -> list[tuple[Attribute, Any]]:
    """Return the conversions on the way from a type to another."""
    match is_integer(source), is_integer(target):
        case True, True:
            return _resized(source, target, signed)
        case True, False:
            return [(target, arith.SIToFPOp if signed else arith.UIToFPOp)]
        case False, True:
            return [(target, arith.FPToSIOp if signed else arith.FPToUIOp)]
        case _:
            return _resized_float(source, target)


def _resized(
    source: Attribute, target: Attribute, signed: bool
) -> list[tuple[Attribute, Any]]:
    assert is_integer(source)
    assert is_integer(target)
    if target.width.data < source.width.data:
        return [(target, arith.TruncIOp)]
    return [(target, arith.ExtSIOp if signed else arith.ExtUIOp)]


def _resized_float(source: Any, target: Any) -> list[tuple[Attribute, Any]]:
    halves = Float16Type | BFloat16Type
    if isinstance(source, halves) and isinstance(target, halves):
        return [(Float32Type(), arith.ExtFOp), (target, arith.TruncFOp)]
    is_wider = target.bitwidth > source.bitwidth
    return [(target, arith.ExtFOp if is_wider else arith.TruncFOp)]


def _as(value: SSAValue, to: Attribute, make: Callable[..., Operation]) -> Operation:
    return make(value, to)


def element_of(type: Attribute) -> Attribute:
    """Return the type of a number, or of the numbers in a vector."""
    return shaped_arith.element_of(type)


def _like(type: Attribute, element: Any) -> Attribute:
    return VectorType(element, type.get_shape()) if is_vector(type) else element


def bits_as(b: Builder, values: Sequence[SSAValue], target: Attribute) -> Values:
    """Return the bits of vectors as numbers of another type of the same width."""
    return tuple(
        x
        if element_of(x.type) == target
        else b.pure(_as, x, _like(x.type, target), arith.BitcastOp)
        for x in values
    )
