"""Type guards for types of xDSL that have parameters.

`isinstance(attr, IntegerType)` tells a type checker nothing of the width; these do.
"""

from typing_extensions import TypeIs
from xdsl.dialects.builtin import IntegerType, MemRefType, VectorType
from xdsl.ir import Attribute


def is_integer(attr: Attribute) -> TypeIs[IntegerType]:
    """Whether a type is an integer's; `index` is not."""
    return isinstance(attr, IntegerType)


def is_memref(attr: Attribute) -> TypeIs[MemRefType]:
    """Whether a type is a memref's, of a known rank."""
    return isinstance(attr, MemRefType)


def is_vector(attr: Attribute) -> TypeIs[VectorType]:
    return isinstance(attr, VectorType)
