"""What a value of a program is in the simulator: numpy arrays with three leading axes.

    axis 0  work-group  the work-groups that are simulated together
    axis 1  subgroup    the subgroups of a work-group
    axis 2  lane        the lanes of a subgroup

A value that is the same along an axis has size 1 there: what is uniform is computed
once.  Behind the three axes stand those of the value itself:

    value                 shape          of a uniform one
    number                (G, T, L)      (1, 1, 1)
    vector<4xf16>         (G, T, L, 4)   (1, 1, 1, 4)
    matrix, subgroup's    (G, T, 1, M, N)
    matrix, work-group's  (G, 1, 1, M, N)
    tensor of Triton      (G, 1, 1, M, N)

Arrays are never changed once they are the value of something.  Numbers are kept as

    type             in an array      in memory
    i1               bool             bool
    i2 ... i64       int8 ... int64   the same; the least that fits, sign extended
    index            int64            int64
    f16, f32, f64    the same         the same
    bf16             float32, exact   uint16, the bits
    f8E4M3FN, f8E5M2 float32, exact   uint8, the bits; f8E8M0FNU, too
    f4E2M1FN         float32, exact   uint8, the bits

so that a number of 4 bits takes a byte of memory here.  In arrays of arguments two
share a byte, see `coopc.dialects.narrow.in_bytes`.  `coopc.sim.numerics` makes arrays
of bits from numbers and back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    BFloat16Type,
    FixedBitwidthType,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute

from coopc.sim.errors import SimulationError

Array: TypeAlias = npt.NDArray[Any]
DType: TypeAlias = np.dtype[Any]
CodedType: TypeAlias = (
    BFloat16Type
    | Float4E2M1FNType
    | Float8E4M3FNType
    | Float8E5M2Type
    | Float8E8M0FNUType
)
"""Floats that numpy lacks, so that memory has their bits."""
FloatType: TypeAlias = CodedType | Float16Type | Float32Type | Float64Type

GROUP_AXIS, SUBGROUP_AXIS, LANE_AXIS = 0, 1, 2
AXES = 3
"""The leading axes of every array."""

INDEX_BITS = 64
CODED: dict[str, CodedType] = {
    type.name: type
    for type in (
        *(BFloat16Type(), Float8E4M3FNType(), Float8E5M2Type()),
        *(Float8E8M0FNUType(), Float4E2M1FNType()),
    )
}

_FLOATS: dict[type[Attribute], DType] = {
    Float16Type: np.dtype(np.float16),
    BFloat16Type: np.dtype(np.float32),
    Float4E2M1FNType: np.dtype(np.float32),
    Float8E4M3FNType: np.dtype(np.float32),
    Float8E5M2Type: np.dtype(np.float32),
    Float8E8M0FNUType: np.dtype(np.float32),
    Float32Type: np.dtype(np.float32),
    Float64Type: np.dtype(np.float64),
}


def bits_of(type: Attribute) -> int:
    """Return the width of an integer type; an index has 64 bits."""
    return type.bitwidth if isinstance(type, FixedBitwidthType) else INDEX_BITS


def bounds(type: Attribute, is_signed: bool) -> tuple[int, int]:
    """Return the least and the greatest integer of a type."""
    low = -(1 << (bits_of(type) - 1)) if is_signed else 0
    return low, low + (1 << bits_of(type)) - 1


def is_float(type: Attribute) -> bool:
    """Whether numbers of a type are floats that the simulator knows."""
    return isinstance(type, FloatType)


def is_integer(type: Attribute) -> bool:
    """Whether numbers of a type are integers: an index is one."""
    return isinstance(type, IndexType | IntegerType)


def shape_of(type: Attribute) -> tuple[int, ...]:
    """Return the shape of a vector or a tensor; that of a number is empty."""
    return type.get_shape() if isinstance(type, VectorType | TensorType) else ()


def value_dtype(type: Attribute) -> DType:
    """Return how numbers of a type are kept in an array.

    Raises:
        SimulationError: the simulator has no numbers of this type.
    """
    if (found := _FLOATS.get(type.__class__)) is not None:
        return found
    if is_integer(type):
        bits = bits_of(type)
        if bits == 1:
            return np.dtype(np.bool_)
        for bytes in (1, 2, 4, 8):
            if bits <= 8 * bytes:
                return np.dtype(f"i{bytes}")
    raise SimulationError(f"the simulator has no values of type {type}")


def memory_dtype(type: Attribute) -> DType:
    """Return how numbers of a type are kept in memory."""
    if isinstance(type, CodedType):
        return np.dtype(f"u{type.size}")
    return value_dtype(type)


def trailing(array: Array, axes: int) -> Array:
    """Return an array with that many axes of size 1 behind its own."""
    return array.reshape(array.shape + (1,) * axes) if axes else array


def leading(array: Array, axes: int = 0) -> tuple[Array, ...]:
    """Return indices along the three leading axes, with so many axes behind them."""
    indices = np.indices(array.shape[:AXES], dtype=np.int64, sparse=True)
    return tuple(trailing(index, axes) for index in indices)


def components(shape: Sequence[int]) -> list[Array]:
    """Return the indices of the elements of values of a shape, along each axis of it.

    >>> [index.shape for index in components((2, 4))]
    [(1, 1, 1, 2, 1), (1, 1, 1, 1, 4)]
    """
    indices = np.indices(tuple(shape), dtype=np.int64, sparse=True)
    return [index.reshape((1,) * AXES + index.shape) for index in indices]


def with_steps(starts: Sequence[Array], shape: Sequence[int]) -> list[Array]:
    """Return coordinates of the elements of a block that begins somewhere."""
    axes = len(shape)
    found = [trailing(start, axes) for start in starts]
    for axis, step in enumerate(components(shape), len(starts) - axes):
        found[axis] = found[axis] + step
    return found


def number(value: int, axes: int = AXES) -> Array:
    """Return an index that is the same everywhere."""
    return np.full((1,) * axes, value, dtype=np.int64)


def wrapped(array: Array, type: Attribute) -> Array:
    """Return integers of any width as the values of a type that they wrap around to."""
    bits, dtype = bits_of(type), value_dtype(type)
    if bits == 1:
        return (array & 1).astype(np.bool_) if array.dtype != np.bool_ else array
    narrow = array.astype(dtype)
    if bits == 8 * dtype.itemsize:
        return narrow
    spare = dtype.type(8 * dtype.itemsize - bits)
    return (narrow << spare) >> spare


def signed(array: Array) -> Array:
    """Return integers as signed numbers: i1 is 0 or -1."""
    return -array.astype(np.int8) if array.dtype == np.bool_ else array


def unsigned(array: Array, type: Attribute) -> Array:
    """Return the integers of a type as unsigned numbers."""
    if array.dtype == np.bool_:
        return array.astype(np.uint8)
    found = array.view(np.dtype(f"u{array.dtype.itemsize}"))
    if (bits := bits_of(type)) == 8 * array.dtype.itemsize:
        return found
    return found & found.dtype.type((1 << bits) - 1)


def as_integers(array: Array, type: Attribute, is_signed: bool) -> Array:
    """Return the integers of a type by their sign."""
    return signed(array) if is_signed else unsigned(array, type)


def nibbles(bytes: Array, axis: int, is_signed: bool) -> Array:
    """Return the two numbers of each byte as neighbours along an axis, low bits first.

    The axis is -1 or -2.

    >>> nibbles(np.array([[0x1F]], np.uint8), -1, is_signed=True)
    array([[-1,  1]], dtype=int8)
    """
    bytes = bytes.view(np.uint8)
    halves = np.stack([bytes & 15, bytes >> 4], bytes.ndim + axis + 1)
    shape = list(bytes.shape)
    shape[axis] *= 2
    found = halves.reshape(shape).astype(np.int8)
    return found - ((found & 8) << 1) if is_signed else found
