"""Type guards for types of xDSL that have parameters.

`isinstance(attr, IntegerType)` tells a type checker nothing of the width; these do.
"""

from collections.abc import Sequence

from typing_extensions import TypeIs
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    Float4E2M1FNType,
    IntegerType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    TensorType,
    VectorType,
    i8,
)
from xdsl.ir import Attribute, SSAValue


def is_integer(attr: Attribute) -> TypeIs[IntegerType]:
    """Whether a type is an integer's; `index` is not."""
    return isinstance(attr, IntegerType)


def is_memref(attr: Attribute) -> TypeIs[MemRefType]:
    """Whether a type is a memref's, of a known rank."""
    return isinstance(attr, MemRefType)


def is_tensor(attr: Attribute | None) -> TypeIs[TensorType]:
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


def kept_dimensions(sizes: Sequence[object], shape: Sequence[int]) -> list[int]:
    """Return which dimensions of a slice its type keeps: it may drop those of size 1.

    They are fewer or more than those of the shape if it is not that of the slice.

    >>> kept_dimensions([1, 4, 1], [4, 1]), kept_dimensions([2, 1, 3], [2, 3])
    ([1, 2], [0, 2])
    """
    kept: list[int] = []
    to_drop = len(sizes) - len(shape)
    for dimension, size in enumerate(sizes):
        expected = shape[len(kept)] if len(kept) < len(shape) else None
        if to_drop and size == 1 and expected != 1:
            to_drop -= 1
        else:
            kept.append(dimension)
    return kept


# Memory of numbers of 4 bits: two share a byte, the one of the lower index in its low
# bits.


I4 = IntegerType(4)


def is_nibble(attr: Attribute) -> TypeIs[IntegerType | Float4E2M1FNType]:
    """Whether a type is i4 or f4E2M1FN."""
    return attr == I4 or isinstance(attr, Float4E2M1FNType)


def packed_dimension(type: MemRefType) -> int:
    """Return the dimension along which neighbours share a byte: the last of stride 1.

    Raises:
        ValueError: there is none.
    """
    strides = type.get_strides()
    if strides is None or 1 not in strides:
        raise ValueError(
            f"expected a dimension of stride 1, along which two {type.element_type} "
            f"share a byte, got {type}"
        )
    return max(n for n, stride in enumerate(strides) if stride == 1)


def in_bytes(type: MemRefType) -> MemRefType:
    """Return the bytes that memory of i4 or f4E2M1FN is.

    Dynamic sizes, strides and offsets are those of whole bytes.

    >>> str(in_bytes(MemRefType(I4, (8, 6))))
    'memref<8x3xi8>'

    Raises:
        ValueError: rows do not begin at whole bytes.
    """
    packed = packed_dimension(type)
    strides = type.get_strides()
    assert strides is not None, type
    shape = list(type.get_shape())
    layout = type.layout
    others = [stride for n, stride in enumerate(strides) if n != packed]
    sizes = (size for n, size in enumerate(shape) if n != packed)
    # Where there is one row, nothing begins after it.
    if all(size == 1 for size in sizes):
        others = [0 for _ in others]
    offset = type.get_offset()
    if any(number is not None and number % 2 for number in (*others, offset)):
        raise ValueError(
            f"expected rows that begin at whole bytes, with two {type.element_type} "
            f"in each, got {type}: give rows a stride that is even"
        )
    if shape[packed] != DYNAMIC_INDEX:
        shape[packed] = -(-shape[packed] // 2)
    if not isinstance(layout, NoneAttr):
        halved = [
            stride and (1 if n == packed else stride // 2)
            for n, stride in enumerate(strides)
        ]
        layout = StridedLayoutAttr(halved, offset and offset // 2)
    return MemRefType(i8, shape, layout, type.memory_space)


def as_bytes(type: Attribute) -> Attribute:
    """Return memory of numbers of 4 bits as its bytes, another type as it is.

    Raises:
        ValueError: see `in_bytes`.
    """
    return in_bytes(type) if is_memref(type) and is_nibble(type.element_type) else type
