"""What the fields of a kernel's interface hold for some arguments: numbers, and bytes.

A field is a size, a stride, an offset or an address of a memref, or a number that is
an argument itself: see `coopc.interface`.
"""

import struct
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from coopc.interface import Buffer, Field, Interface, What

Array: TypeAlias = npt.NDArray[Any]
Given: TypeAlias = "Array | np.generic | float | int | bool"
"""An argument as the caller gives it."""

DTYPES: dict[str, tuple[str, ...]] = {
    "i1": ("bool", "uint8", "int8"),
    "i8": ("int8", "uint8"),
    "i16": ("int16", "uint16"),
    "i32": ("int32", "uint32"),
    "i64": ("int64", "uint64"),
    "f16": ("float16",),
    "bf16": ("uint16", "int16", "bfloat16"),
    "f32": ("float32",),
    "f64": ("float64",),
}
"""Element type to the numpy types that hold it; bf16 as its bits."""

_FORMATS = {
    "i1": "<?",
    "i8": "<b",
    "i16": "<h",
    "i32": "<i",
    "i64": "<q",
    "f16": "<e",
    "f32": "<f",
    "f64": "<d",
}


def element_strides(array: Array) -> tuple[int, ...] | None:
    """The strides of an array in elements; None if they are no whole numbers."""
    if any(stride % array.itemsize for stride in array.strides):
        return None
    return tuple(stride // array.itemsize for stride in array.strides)


def value_of(interface: Interface, given: Sequence[Given], field: Field) -> Any:
    """The number that a field holds."""
    argument, each = interface.arguments[field.argument], given[field.argument]
    if field.what == What.VALUE:
        return each
    if field.what == What.ADDRESS:
        return 0  # the run-time writes it: see `Interface.addresses`
    if field.what == What.OFFSET:
        return argument.offset or 0 if isinstance(argument, Buffer) else 0
    array = np.asarray(each)
    if field.what == What.SIZE:
        return array.shape[field.dimension]
    strides = element_strides(array)
    assert strides is not None, array.strides
    return strides[field.dimension]


def bytes_of(interface: Interface, given: Sequence[Given], field: Field) -> bytes:
    """The bytes of a field.

    Raises:
        ValueError: the number does not fit.
    """
    value = value_of(interface, given, field)
    name = interface.arguments[field.argument].name
    if field.type == "bf16":
        return _bf16(value)
    number = np.asarray(value).item()
    try:
        if field.type.startswith("i") and field.type != "i1":
            bits = 8 * struct.calcsize(_FORMATS[field.type])
            if number != int(number):
                raise ValueError("it is no whole number")
            if not -(1 << (bits - 1)) <= number < 1 << bits:
                raise ValueError(f"it has more than {bits} bits")
            return int(number % (1 << bits)).to_bytes(bits // 8, "little")
        return struct.pack(_FORMATS[field.type], number)
    except (ValueError, TypeError, OverflowError, struct.error) as error:
        raise ValueError(
            f"expected {field.what} of {name} to be an {field.type}, "
            f"got {number!r}: {error}"
        ) from error


def _bf16(value: Any) -> bytes:
    """A float rounded to bf16, to nearest even; or the bits, given as an int."""
    number = np.asarray(value).item()
    if isinstance(number, int):
        return number.to_bytes(2, "little")
    from coopc.rounding import FORMATS

    rounded = FORMATS["bf16"].round(float(number))
    return struct.pack("<f", rounded)[2:]


def dtype_of(type: str) -> str:
    """The numpy type of elements of a type, the first of those that hold it."""
    return DTYPES[type][0]
