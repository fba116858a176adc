"""Type guards for types of xDSL that have parameters.

`isinstance(attr, IntegerType)` tells a type checker nothing of the width; these do.
"""

from typing_extensions import TypeIs
from xdsl.dialects.builtin import IntegerType, MemRefType, TensorType, VectorType
from xdsl.ir import Attribute, SSAValue


def is_integer(attr: Attribute) -> TypeIs[IntegerType]:
    """Whether a type is an integer's; `index` is not."""
    return isinstance(attr, IntegerType)


def is_memref(attr: Attribute) -> TypeIs[MemRefType]:
    """Whether a type is a memref's, of a known rank."""
    return isinstance(attr, MemRefType)


def is_tensor(attr: Attribute) -> TypeIs[TensorType]:
    """Whether a type is a tensor's, of a known rank."""
    return isinstance(attr, TensorType)


def is_vector(attr: Attribute) -> TypeIs[VectorType]:
    return isinstance(attr, VectorType)


def memref_type(value: SSAValue) -> MemRefType:
    """Return the type of a value that is a memref, in IR that verifies."""
    assert is_memref(value.type), value
    return value.type


def tensor_type(value: SSAValue) -> TensorType:
    """Return the type of a value that is a tensor, in IR that verifies."""
    assert is_tensor(value.type), value
    return value.type


def vector_type(value: SSAValue) -> VectorType:
    """Return the type of a value that is a vector, in IR that verifies."""
    assert is_vector(value.type), value
    return value.type


def length_of(value: SSAValue) -> int:
    """Return the number of components of a vector."""
    return vector_type(value).element_count()


def as_tensor(attr: Attribute) -> TensorType:
    """Return the type of a tensor like a memref; a tensor's is its own."""
    if is_memref(attr):
        return TensorType(attr.element_type, attr.shape)
    assert is_tensor(attr), attr
    return attr
