"""Elements of numbers and vectors, as both emitters see them."""

from __future__ import annotations

import struct

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float64Type,
    IndexType,
    IntegerType,
)
from xdsl.ir import Attribute

from coopc.dialects.narrow import is_vector
from coopc.emit.structured import Refusal


def element_of(type: Attribute) -> Attribute:
    """The type of one component of a number or a vector of them."""
    return type.element_type if is_vector(type) else type


def count_of(type: Attribute) -> int:
    """How many components a number or a vector of them has."""
    return type.element_count() if is_vector(type) else 1


def float_bytes(type: Attribute, value: float) -> bytes:
    """The bits of a float of a type, little-endian; too great a number is infinite."""
    if isinstance(type, Float64Type):
        return struct.pack("<d", value)
    from coopc.rounding import FORMATS

    rounded = FORMATS[str(type)].round(value)
    if isinstance(type, BFloat16Type):
        return struct.pack("<f", rounded)[2:]
    return struct.pack("<e" if isinstance(type, Float16Type) else "<f", rounded)


NUMBERS = "integers, index, f16, bf16, f32 or f64"
"""What numbers are, for messages: there are narrower floats."""


def check_combining(kind: str, element: Attribute) -> None:
    """Check that elements can be combined into one.

    Args:
        kind: of `vector.reduction` or `memref.atomic_rmw`.
        element: the type of what is combined.

    Raises:
        Refusal: it is of integers, and they are floats, or the other way round.
    """
    is_whole = isinstance(element, IndexType | IntegerType)
    if kind in ("add", "mul", "assign") or kind.endswith("f") != is_whole:
        return
    wanted = "floats" if is_whole else "integers"
    raise Refusal(f"expected {wanted} for {kind}, got {element}")
