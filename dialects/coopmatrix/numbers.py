"""Numbers that are known when a matrix program is compiled, and their conversion.

Everything is exact, or rounds once as the operation does; None stands for what is not
known or undefined.
"""

from math import isfinite, isnan
from typing import TypeAlias

from typing_extensions import TypeIs
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, SSAValue

from coopc.dialects.coopmatrix.fill import FillOp
from coopc.dialects.coopmatrix.types import FloatElement, matrix_type
from coopc.dialects.narrow import is_integer
from coopc.rounding import FORMATS, wrap

Number: TypeAlias = FloatAttr | IntegerAttr

INDEX_BITS = 64
"""An index is converted as an integer of this width, in bits."""


def is_number(attr: Attribute) -> TypeIs[Number]:
    """Whether an attribute is a number."""
    return isinstance(attr, FloatAttr | IntegerAttr)


def constant(value: SSAValue) -> Number | None:
    """Return the number that `arith.constant` gives `value`; None for another value."""
    if isinstance(op := value.owner, ConstantOp) and is_number(op.value):
        return op.value
    return None


def fill_constant(matrix: SSAValue) -> Number | None:
    """Return the number that every element of a matrix is, where that is known.

    It is of the matrix's element type.
    """
    if not isinstance(fill := matrix.owner, FillOp) or fill.is_pointer:
        return None
    if (number := constant(fill.value)) is None:
        return None
    return converted(number, matrix_type(matrix).element_type)


def converted(number: Number, type: Attribute, signed: bool = True) -> Number | None:
    """Return `number` as a `fill` or a `convert` makes it a `type`.

    Args:
        number: An integer, an index or a float.
        type: An element type.
        signed: Whether integers are signed, those of the number or else of `type`.
    """
    source: Attribute = number.type
    value = number.value.data
    if isinstance(value, int):
        bits = source.width.data if is_integer(source) else INDEX_BITS
        value = wrap(value, bits, signed)
    if isinstance(type, FloatElement):
        return FloatAttr(FORMATS[type.name].round(value), type)
    if not is_integer(type):
        return None
    bits = type.width.data
    if isinstance(value, float):
        if not isfinite(value) or wrap(int(value), bits, signed) != int(value):
            return None
        value = int(value)
    return IntegerAttr(wrap(value, bits, signed=True), type)


def bitcast(number: Number, type: Attribute) -> Number | None:
    """Return the number whose bits as a `type` are those of `number`; None for NaN."""
    if isinstance(number, FloatAttr):
        if isnan(number.value.data):
            return None
        pattern = int.from_bytes(number.type.pack((number.value.data,)), "little")
    else:
        pattern = number.value.data
    if is_integer(type):
        return IntegerAttr(wrap(pattern, type.width.data, signed=True), type)
    if not isinstance(type, AnyFloat):
        return None
    size_bytes = type.compile_time_size
    pattern = wrap(pattern, 8 * size_bytes, signed=False)
    value = type.unpack(pattern.to_bytes(size_bytes, "little"), 1)[0]
    return None if isnan(value) else FloatAttr(value, type)
