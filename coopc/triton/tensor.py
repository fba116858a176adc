"""Arrays of numpy, or of what shares its memory by DLPack, as tensors of Triton."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coopc.interface_call import Addresses
from coopc.run.arrays import BITS, Array, to_argument

NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)
"""Of the types of numpy that Triton has."""


@dataclass(frozen=True, slots=True)
class Type:
    """Of elements, as Triton asks for it."""

    name: str
    itemsize: int

    @property
    def is_floating_point(self) -> bool:
        return "float" in self.name

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class TritonArray:
    """An array that a kernel takes for a pointer, or as the base of a descriptor."""

    data: Array
    dtype: Type
    parts: tuple[Array, ...] = ()
    """The arrays whose addresses are the data, if they are some."""

    def data_ptr(self) -> int:
        return self.data.ctypes.data

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    def stride(self, dimension: int | None = None) -> Any:
        """Return strides in elements: all, or that of one dimension."""
        strides = tuple(each // self.data.itemsize for each in self.data.strides)
        return strides if dimension is None else strides[dimension]

    def numel(self) -> int:
        return self.data.size

    def numpy(self) -> Array:
        return self.data

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.data.__array_interface__

    # What an autotuner asks for where it restores arguments.

    def clone(self) -> TritonArray:
        return TritonArray(self.data.copy(), self.dtype)

    def copy_(self, other: TritonArray) -> None:
        self.data[...] = other.data

    def zero_(self) -> None:
        self.data[...] = 0


def array(given: object, dtype: str | None = None) -> TritonArray:
    """Return an array for `kernel[grid]`; the memory is shared.

    Args:
        given: An array of numpy, or what has `__array_interface__` or `__dlpack__`; or
            a list of them, of which the kernel gets an array of the addresses.
        dtype: What its bits are, where numpy has no such type: bfloat16 of uint16,
            float8_e4m3fn or float8_e5m2 of uint8.

    Raises:
        ValueError: it is no array in this processor's memory, or not of such bits.
    """
    found = to_argument(given)
    if isinstance(found, Addresses):
        return TritonArray(np.asarray(found), Type("int64", 8), found.arrays)
    if not isinstance(found, np.ndarray):
        raise ValueError(f"expected an array, got {type(given).__name__}")
    name = str(found.dtype)
    if dtype is not None:
        if dtype not in (*BITS, name):
            raise ValueError(f"expected a dtype of {', '.join(BITS)}, got {dtype}")
        if BITS.get(dtype, name) != name:
            raise ValueError(f"expected {BITS[dtype]} for {dtype}, got {name}")
        name = dtype
    elif name not in NAMES:
        raise ValueError(f"expected {', '.join(NAMES)}, got an array of {name}")
    return TritonArray(found, Type(name, found.itemsize))
