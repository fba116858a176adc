"""Elements of numbers and vectors, as both emitters see them."""

from __future__ import annotations

import struct

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float64Type
from xdsl.ir import Attribute

from coopc.dialects.narrow import is_vector


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
