"""What the elementwise operations of `coopmatrix` make of numbers that are known.

None stands for what is undefined, and for floats that would have to be rounded.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import isfinite, isnan
from typing import Any

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from coopc.dialects.coopmatrix.bitwise import AndOp, NotOp, OrOp, ShlOp, ShrOp, XorOp
from coopc.dialects.coopmatrix.elementwise import (
    AbsOp,
    AddOp,
    DivOp,
    MaxOp,
    MinOp,
    MulOp,
    NegOp,
    RemOp,
    ScaleOp,
    SubOp,
)
from coopc.dialects.coopmatrix.numbers import Number
from coopc.dialects.coopmatrix.types import FloatElement
from coopc.dialects.narrow import is_integer
from coopc.rounding import FORMATS, wrap


def folded(op: Operation, numbers: tuple[Number, ...]) -> Number | None:
    """Return what the elementwise `op` makes of numbers of one element type."""
    element_type: Attribute = numbers[0].type
    if is_integer(element_type):
        bits = element_type.width.data
        signed = "signed" in op.properties or isinstance(op, AbsOp)
        values = tuple(wrap(int(n.value.data), bits, signed) for n in numbers)
        result = integer_result(type(op), values, bits)
        if result is None:
            return None
        return IntegerAttr(wrap(result, bits, signed=True), element_type)
    assert isinstance(element_type, FloatElement), element_type
    values = tuple(float(n.value.data) for n in numbers)
    result = float_result(type(op), values, element_type.name)
    return None if result is None else FloatAttr(result, element_type)


INTEGER_UNARY: Mapping[type[Operation], Callable[[int], int]] = {
    AbsOp: abs,
    NegOp: int.__neg__,
    NotOp: int.__invert__,
}
INTEGER_BINARY: Mapping[type[Operation], Callable[[int, int], int]] = {
    AddOp: int.__add__,
    SubOp: int.__sub__,
    MulOp: int.__mul__,
    ScaleOp: int.__mul__,
    AndOp: int.__and__,
    OrOp: int.__or__,
    XorOp: int.__xor__,
    MinOp: min,
    MaxOp: max,
}


def integer_result(
    kind: type[Operation], values: tuple[int, ...], bits: int
) -> int | None:
    """Return the result before it wraps around; None where it is undefined.

    Args:
        kind: The operation.
        values: Its operands, as it takes them: signed, or not.
        bits: Their width.
    """
    if len(values) == 1:
        return INTEGER_UNARY[kind](values[0])
    x, y = values
    if kind in (DivOp, RemOp):
        return divided(kind, x, y, bits)
    if kind in (ShlOp, ShrOp):
        if not 0 <= y < bits:
            return None
        return x << y if kind is ShlOp else x >> y
    return INTEGER_BINARY[kind](x, y)


def divided(kind: type[Operation], x: int, y: int, bits: int) -> int | None:
    """Return x / y rounded towards 0, or its remainder; None where it is undefined."""
    if y == 0 or (y == -1 and x == -(1 << bits - 1)):
        return None
    quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return quotient if kind is DivOp else x - quotient * y


FLOAT_BINARY: Mapping[type[Operation], Callable[[Any, Any], Any]] = {
    AddOp: lambda x, y: x + y,
    SubOp: lambda x, y: x - y,
    MulOp: lambda x, y: x * y,
    ScaleOp: lambda x, y: x * y,
}
"""Of floats, which round and keep the sign of 0, and of fractions, which are exact."""


def float_result(
    kind: type[Operation], values: tuple[float, ...], format: str
) -> float | None:
    """Return the result where it is exact in `format`; None elsewhere, as for NaN."""
    if any(isnan(value) for value in values):
        return None
    if kind is NegOp:
        return -values[0]
    if kind is AbsOp:
        return abs(values[0])
    if kind not in FLOAT_BINARY or not all(isfinite(value) for value in values):
        return None
    x, y = values
    result = FLOAT_BINARY[kind](x, y)
    if not isfinite(result) or FORMATS[format].round(result) != result:
        return None
    exact = FLOAT_BINARY[kind](Fraction(x), Fraction(y))
    return result if exact == Fraction(result) else None
